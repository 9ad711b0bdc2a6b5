/* Small things that every user of JVMTI needs. Context: a thread that is attached to the JVM. */
#ifndef SP_AGENT_VM_JVMTI_UTIL_H
#define SP_AGENT_VM_JVMTI_UTIL_H

#include "base/buf.h"

#include <jvmti.h>
#include <stdbool.h>
#include <stddef.h>

/* Gives back what GetThreadInfo has filled in. */
void sp_jvmti_dispose_info(jvmtiEnv *ti, JNIEnv *env, jvmtiThreadInfo *info);

/* The name of a thread group, cut to @size; "" where there is none. */
void sp_jvmti_group_name(jvmtiEnv *ti, JNIEnv *env, jthreadGroup group, char *buf, size_t size);

/* The system properties that the JVM had when it began: names and values, a zero behind each.
 * @redact: what looks secret is taken out, see base/redact.h. */
void sp_jvmti_properties(jvmtiEnv *ti, bool redact, struct sp_buf *ret);

#endif
