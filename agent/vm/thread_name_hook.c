/* See thread_name_hook.h. Since JDK 15 HotSpot warns on the target's standard output when a native
 * of a platform class is bound by code that is not of the same class loader (JDK-8238460); it looks
 * at the class that calls. So the binding is done from inside a method of a class of the boot
 * loader: sparkprof.Hook, 191 bytes, defined once and the same for all builds of the agent:
 *
 *     package sparkprof;
 *     public class Hook {
 *         public static void call() { bind(); }
 *         private static native void bind();
 *     }
 */
#include "thread_name_hook.h"

#include "bootclass.h"
#include "jni_util.h"
#include "sig/memory_read.h"
#include "vm_statics.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const uint8_t hook_class[] = {0xca, 0xfe, 0xba, 0xbe, 0x00, 0x00, 0x00, 0x34, 0x00, 0x0e,
	0x0a, 0x00, 0x02, 0x00, 0x03, 0x07, 0x00, 0x04, 0x0c, 0x00, 0x05, 0x00, 0x06, 0x01, 0x00,
	0x10, 0x6a, 0x61, 0x76, 0x61, 0x2f, 0x6c, 0x61, 0x6e, 0x67, 0x2f, 0x4f, 0x62, 0x6a, 0x65,
	0x63, 0x74, 0x01, 0x00, 0x06, 0x3c, 0x69, 0x6e, 0x69, 0x74, 0x3e, 0x01, 0x00, 0x03, 0x28,
	0x29, 0x56, 0x0a, 0x00, 0x08, 0x00, 0x09, 0x07, 0x00, 0x0a, 0x0c, 0x00, 0x0b, 0x00, 0x06,
	0x01, 0x00, 0x0e, 0x73, 0x70, 0x61, 0x72, 0x6b, 0x70, 0x72, 0x6f, 0x66, 0x2f, 0x48, 0x6f,
	0x6f, 0x6b, 0x01, 0x00, 0x04, 0x62, 0x69, 0x6e, 0x64, 0x01, 0x00, 0x04, 0x43, 0x6f, 0x64,
	0x65, 0x01, 0x00, 0x04, 0x63, 0x61, 0x6c, 0x6c, 0x00, 0x21, 0x00, 0x08, 0x00, 0x02, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x01, 0x00, 0x05, 0x00, 0x06, 0x00, 0x01, 0x00, 0x0c,
	0x00, 0x00, 0x00, 0x11, 0x00, 0x01, 0x00, 0x01, 0x00, 0x00, 0x00, 0x05, 0x2a, 0xb7, 0x00,
	0x01, 0xb1, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09, 0x00, 0x0d, 0x00, 0x06, 0x00, 0x01, 0x00,
	0x0c, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0xb8, 0x00,
	0x07, 0xb1, 0x00, 0x00, 0x00, 0x00, 0x01, 0x0a, 0x00, 0x0b, 0x00, 0x06, 0x00, 0x00, 0x00,
	0x00};

typedef void JNICALL native_fn(JNIEnv *env, jobject thread, jstring name);

static struct {
	_Atomic(sp_thread_name_fn *) fn;
	_Atomic(native_fn *) before; /* what was bound, and is called by ours */
	native_fn *wanted;	     /* to be bound by the next call of bind() */
	jint bound;		     /* what it returned */
	bool hooked, readable;	     /* readable: bound_now() is right here */
} rn;

static void JNICALL set_native_name(JNIEnv *env, jobject thread, jstring name)
{
	sp_thread_name_fn *fn = atomic_load_explicit(&rn.fn, memory_order_acquire);
	native_fn *before = atomic_load_explicit(&rn.before, memory_order_relaxed);
	char text[256];
	jsize n = name ? (*env)->GetStringLength(env, name) : 0;

	if (fn && name && !(*env)->ExceptionCheck(env)) {
		/* A character is at most three bytes of modified UTF-8. */
		n = n < 84 || (*env)->GetStringUTFLength(env, name) < 256 ? n : 84;
		(*env)->GetStringUTFRegion(env, name, 0, n, text);
		text[(*env)->ExceptionCheck(env) ? 0 : strnlen(text, sizeof(text) - 1)] = 0;
		fn(env, thread, text);
	}
	if (before)
		before(env, thread, name);
}

static void JNICALL bind(JNIEnv *env, jclass self)
{
	JNINativeMethod m = {"setNativeName", "(Ljava/lang/String;)V", (void *)rn.wanted};
	jclass c = (*env)->FindClass(env, "java/lang/Thread");

	rn.bound = c ? (*env)->RegisterNatives(env, c, &m, 1) : JNI_ERR;
}

static int bind_to(JNIEnv *env, native_fn *fn)
{
	JNINativeMethod m = {"bind", "()V", (void *)bind};
	jclass c = sp_bootclass(env, "sparkprof/Hook", hook_class, sizeof(hook_class));
	jmethodID call = c ? (*env)->GetStaticMethodID(env, c, "call", "()V") : NULL;

	rn.bound = JNI_ERR;
	rn.wanted = fn;
	if (!sp_jni_failed(env) && call && (*env)->RegisterNatives(env, c, &m, 1) == JNI_OK)
		(*env)->CallStaticVoidMethod(env, c, call);
	if (sp_jni_failed(env))
		rn.bound = JNI_ERR;
	if (c)
		(*env)->DeleteLocalRef(env, c);
	return rn.bound == JNI_OK ? 0 : -ENOTSUP;
}

static bool read_word(uint64_t addr, uint64_t *ret)
{
	return sp_memory_read(ret, addr, 8) == 8;
}

/* What is bound now: HotSpot keeps it behind its Method, to which a jmethodID points (to JDK 24; a
 * JVM where this does not hold is recognised by the caller: it does not read what it has bound). */
static native_fn *bound_now(JNIEnv *env)
{
	uint64_t size = sp_vm_statics_size("Method"), method, fn;
	jclass c = (*env)->FindClass(env, "java/lang/Thread");
	jmethodID id =
		c ? (*env)->GetMethodID(env, c, "setNativeName", "(Ljava/lang/String;)V") : NULL;

	if (sp_jni_failed(env) || !id || !size)
		return NULL;
	(*env)->DeleteLocalRef(env, c);
	if (!read_word((uint64_t)id, &method) || !read_word(method + size, &fn))
		return NULL;
	return (native_fn *)fn;
}

int sp_thread_name_hook(JNIEnv *env, sp_thread_name_fn *fn)
{
	native_fn *own = (native_fn *)sp_vm_statics_symbol("JVM_SetNativeThreadName");
	native_fn *before = bound_now(env);
	int r;

	if (!own)
		return -ENOTSUP;
	/* Ours still bound: another agent had bound over it, and put it back since. */
	if (before != set_native_name)
		atomic_store(&rn.before, own);
	r = bind_to(env, set_native_name);
	if (r < 0)
		return r;
	/* The reading can be believed, so what was there before us can be as well. */
	rn.readable = bound_now(env) == set_native_name;
	if (rn.readable && before && before != set_native_name)
		atomic_store(&rn.before, before);
	atomic_store_explicit(&rn.fn, fn, memory_order_release);
	rn.hooked = true;
	return 0;
}

void sp_thread_name_unhook(JNIEnv *env)
{
	if (!rn.hooked)
		return;
	rn.hooked = false;
	atomic_store(&rn.fn, NULL);
	if (!rn.readable || bound_now(env) == set_native_name)
		bind_to(env, atomic_load(&rn.before));
}
