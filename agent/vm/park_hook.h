/* Puts a function of ours in the place of jdk.internal.misc.Unsafe.park, the one native method that
 * every LockSupport.park ends in, and takes it out again.
 * Context: the JVM's side only. */
#ifndef SP_AGENT_VM_PARK_HOOK_H
#define SP_AGENT_VM_PARK_HOOK_H

#include "base/err.h"

#include <jvmti.h>

typedef void JNICALL sp_park_fn(JNIEnv *env, jobject unsafe, jboolean absolute, jlong time);

/* @ti has can_generate_monitor_events and gets a callback for MonitorWait (sp_park_callback).
 * *ret_original: what was there before; it stays callable for ever.
 * Returns 0, or -ENOTSUP with a sentence: then nothing was changed. */
int sp_park_hook(
	jvmtiEnv *ti, JNIEnv *env, sp_park_fn *hook, sp_park_fn **ret_original, struct sp_err *err);

/* Binds @original again, unless another agent took the place of @hook meanwhile. */
void sp_park_unhook(jvmtiEnv *ti, JNIEnv *env, sp_park_fn *hook, sp_park_fn *original);

/* Must be among @ti's callbacks, for MonitorWait. */
void JNICALL sp_park_callback(
	jvmtiEnv *ti, JNIEnv *env, jthread thread, jobject object, jlong timeout);

#endif
