/* See park_hook.h. From JDK 15 on HotSpot prints a warning on the host's stdout when a platform
 * class's native method is bound again from outside of the boot loader (JDK-8238460). It looks at
 * the second Java frame of the calling thread; so we bind from a callback of Object.wait(long,
 * int), which we call ourselves: both frames are Object's. */
#include "park_hook.h"

#include "vm_statics.h"

#include <dlfcn.h>
#include <errno.h>

static const char unsafe_name[] = "jdk/internal/misc/Unsafe";

/* What the callback is to bind; one at a time, on the JVM side's one thread. */
static struct {
	sp_park_fn *wanted;
	jint done;
} pk;

static void forget_exception(JNIEnv *env)
{
	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
}

void JNICALL sp_park_callback(
	jvmtiEnv *ti, JNIEnv *env, jthread thread, jobject object, jlong timeout)
{
	JNINativeMethod park = {"park", "(ZJ)V", (void *)pk.wanted};
	jclass unsafe = pk.wanted ? (*env)->FindClass(env, unsafe_name) : NULL;

	if (unsafe) {
		pk.done = (*env)->RegisterNatives(env, unsafe, &park, 1);
		(*env)->DeleteLocalRef(env, unsafe);
	}
	pk.wanted = NULL;
	forget_exception(env);
}

/* A millisecond of waiting for an object that nobody else knows. */
static void wait_once(JNIEnv *env)
{
	jclass c = (*env)->FindClass(env, "java/lang/Object");
	jmethodID wait = c ? (*env)->GetMethodID(env, c, "wait", "(JI)V") : NULL;
	jobject o = wait ? (*env)->AllocObject(env, c) : NULL;

	if (o && (*env)->MonitorEnter(env, o) == JNI_OK) {
		(*env)->CallVoidMethod(env, o, wait, (jlong)1, (jint)0);
		forget_exception(env);
		(*env)->MonitorExit(env, o);
	}
	forget_exception(env);
	(*env)->DeleteLocalRef(env, o);
	(*env)->DeleteLocalRef(env, c);
}

static int rebind(jvmtiEnv *ti, JNIEnv *env, sp_park_fn *fn)
{
	jthread self;

	if ((*ti)->GetCurrentThread(ti, &self) != JVMTI_ERROR_NONE)
		return -ENOTSUP;
	pk.wanted = fn;
	pk.done = JNI_ERR;
	(*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, JVMTI_EVENT_MONITOR_WAIT, self);
	wait_once(env);
	(*ti)->SetEventNotificationMode(ti, JVMTI_DISABLE, JVMTI_EVENT_MONITOR_WAIT, self);
	(*env)->DeleteLocalRef(env, self);
	pk.wanted = NULL;
	return pk.done == JNI_OK ? 0 : -ENOTSUP;
}

/* Where HotSpot keeps the address of a native method's function: behind its Method (method.hpp,
 * native_function_addr). A jmethodID points to the pointer to it up to JDK 25. */
static sp_park_fn **slot(JNIEnv *env)
{
	jclass unsafe = (*env)->FindClass(env, unsafe_name);
	jmethodID park = unsafe ? (*env)->GetMethodID(env, unsafe, "park", "(ZJ)V") : NULL;
	uint64_t size = sp_vm_statics_size("Method");

	forget_exception(env);
	(*env)->DeleteLocalRef(env, unsafe);
	if (!park || !size || (*env)->GetVersion(env) >= 0x001a0000)
		return NULL;
	return (sp_park_fn **)(*(char **)park + size);
}

int sp_park_hook(
	jvmtiEnv *ti, JNIEnv *env, sp_park_fn *hook, sp_park_fn **ret_original, struct sp_err *err)
{
	sp_park_fn **at = slot(env), *now = at ? *at : NULL;
	Dl_info where;

	if (!now || now == hook || !dladdr((void *)now, &where))
		return sp_err_set(err, -ENOTSUP, "this JVM's Unsafe.park was not found");
	*ret_original = now;
	if (rebind(ti, env, hook) < 0 || *at != hook)
		return sp_err_set(err, -ENOTSUP, "this JVM does not bind Unsafe.park again");
	return 0;
}

void sp_park_unhook(jvmtiEnv *ti, JNIEnv *env, sp_park_fn *hook, sp_park_fn *original)
{
	sp_park_fn **at = slot(env);

	if (at && *at == hook)
		rebind(ti, env, original);
}
