/* Small helps for code that calls into the JVM: exceptions as sentences, strings, and classes that
 * must not be loaded by a look. Context: a thread attached to the JVM. */
#ifndef SP_AGENT_VM_JNI_UTIL_H
#define SP_AGENT_VM_JNI_UTIL_H

#include "base/err.h"

#include <jvmti.h>
#include <stdbool.h>
#include <stddef.h>

/* The JVM's tool interface. One that is still starting can be attached to before it has any: waits
 * for it, for a few seconds. Context: any thread. Returns 0 or -ENOTSUP. */
int sp_jni_tools(JavaVM *vm, jvmtiEnv **ret);

/* Must an event that is kept per thread, such as the end of threads, stay enabled once one was?
 * Whenever the first such event is enabled, HotSpot gives every thread without a JVMTI state one.
 * In JDK 19 to 21 (JDK-8319935) a native thread that is just attaching, without a Thread object
 * yet, gets a state that does not count the next time, and then a second one. The first is left
 * behind when the thread ends, and HotSpot writes into the freed memory of that thread at each
 * change of an event, ours or another agent's. While one is enabled, none is the first. */
bool sp_jni_doubles_states(JNIEnv *env);

/* Takes away the exception that is there, if any; returns whether there was one. */
bool sp_jni_failed(JNIEnv *env);

/* The same with "class: message" in @err. Returns 0 where there was none, else -EEXIST, -ENOENT,
 * -EOPNOTSUPP, -EACCES or -EDQUOT where the class or the message says so, and -EIO. */
int sp_jni_error(JNIEnv *env, struct sp_err *err);

/* Copies a Java string, cut to fit; "" for null. Returns @ret. */
const char *sp_jni_text(JNIEnv *env, jstring s, char *ret, size_t size);

/* The class "org.apache.spark.SparkEnv" if the JVM has it already, else NULL: a local reference. */
jclass sp_jni_loaded_class(JNIEnv *env, const char *name);

/* SparkEnv.get of a JVM that has that class already: a local reference, NULL where there is none
 * (an exception may be there). */
jobject sp_jni_spark_env(JNIEnv *env);

/* Calls by name; the result is a local reference, NULL where something failed (an exception may be
 * there). */
jobject sp_jni_call(JNIEnv *env, jobject on, const char *name, const char *sig, ...);
jobject sp_jni_call_static(
	JNIEnv *env, const char *class_name, const char *name, const char *sig, ...);

#endif
