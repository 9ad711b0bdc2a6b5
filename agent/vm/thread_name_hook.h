/* Hears of every name that a Java thread gives itself, at that moment: java.lang.Thread.setName
 * ends in the private native setNativeName, and JNI lets an agent bind natives anew. JDK 11 to 18
 * also report names that another thread gives; from 19 on only those that a thread gives
 * itself, which is what Spark's tasks do. */
#ifndef SP_AGENT_VM_THREAD_NAME_HOOK_H
#define SP_AGENT_VM_THREAD_NAME_HOOK_H

#include <jni.h>

/* On the thread that calls setName; @name is cut to 255 bytes and borrowed for the call. May come
 * late, after the unhooking, from a thread that was under way. */
typedef void sp_thread_name_fn(JNIEnv *env, jobject thread, const char *name);

/* Binds. Prints nothing on the target's output. Context: a thread attached to the JVM, no lock
 * held. Returns 0, or -ENOTSUP where this JVM has no such native or refuses: then nothing has
 * changed. */
int sp_thread_name_hook(JNIEnv *env, sp_thread_name_fn *fn);

/* Binds what was bound before, unless another agent has bound over us meanwhile: then our function
 * stays in between and only passes on. */
void sp_thread_name_unhook(JNIEnv *env);

#endif
