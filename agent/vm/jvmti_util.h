/* Small things that every user of JVMTI needs. Context: a thread that is attached to the JVM. */
#ifndef SP_AGENT_VM_JVMTI_UTIL_H
#define SP_AGENT_VM_JVMTI_UTIL_H

#include <jvmti.h>
#include <stddef.h>

/* Gives back what GetThreadInfo has filled in. */
void sp_jvmti_dispose_info(jvmtiEnv *ti, JNIEnv *env, jvmtiThreadInfo *info);

/* The name of a thread group, cut to @size; "" where there is none. */
void sp_jvmti_group_name(jvmtiEnv *ti, JNIEnv *env, jthreadGroup group, char *buf, size_t size);

#endif
