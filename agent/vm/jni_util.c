/* See jni_util.h. */
#include "jni_util.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define STARTING_MS 8000
#define LOOK_MS	    10
#define JNI_19	    0x00130000
#define JNI_21	    0x00150000

int sp_jni_tools(JavaVM *vm, jvmtiEnv **ret)
{
	static const struct timespec pause = {0, LOOK_MS * 1000000};

	for (unsigned ms = 0; ms < STARTING_MS; ms += LOOK_MS) {
		void *ti;

		if ((*vm)->GetEnv(vm, &ti, JVMTI_VERSION_1_2) == JNI_OK) {
			*ret = ti;
			return 0;
		}
		nanosleep(&pause, NULL);
	}
	return -ENOTSUP;
}

/* JDK 22 and 23 still say 21. */
bool sp_jni_doubles_states(JNIEnv *env)
{
	jint version = (*env)->GetVersion(env);

	return version >= JNI_19 && version <= JNI_21;
}

bool sp_jni_failed(JNIEnv *env)
{
	if (!(*env)->ExceptionCheck(env))
		return false;
	(*env)->ExceptionClear(env);
	return true;
}

const char *sp_jni_text(JNIEnv *env, jstring s, char *ret, size_t size)
{
	jsize n = s ? (*env)->GetStringLength(env, s) : 0;

	ret[0] = 0;
	if ((size_t)n > (size - 1) / 3) /* in modified UTF-8 a character takes up to three */
		n = (jsize)((size - 1) / 3);
	if (n > 0) {
		memset(ret, 0, size);
		(*env)->GetStringUTFRegion(env, s, 0, n, ret);
		if (sp_jni_failed(env))
			ret[0] = 0;
	}
	return ret;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

static int code_of(const char *class_name, const char *message)
{
	/* HDFS has no class of its own for a file that is being written. */
	if (ends_with(class_name, ".FileAlreadyExistsException") ||
		strstr(message, "lease is currently owned by"))
		return -EEXIST;
	if (ends_with(class_name, ".FileNotFoundException"))
		return -ENOENT;
	if (ends_with(class_name, ".UnsupportedOperationException") ||
		strstr(message, "not support"))
		return -EOPNOTSUPP;
	if (ends_with(class_name, ".AccessControlException") ||
		ends_with(class_name, ".AccessDeniedException"))
		return -EACCES;
	if (ends_with(class_name, "QuotaExceededException"))
		return -EDQUOT;
	/* So say HDFS and S3A, which have no class for it either. */
	if (strstr(message, "Filesystem closed") || strstr(message, "FileSystem is closed"))
		return -ESHUTDOWN;
	return -EIO;
}

int sp_jni_error(JNIEnv *env, struct sp_err *err)
{
	jthrowable t = (*env)->ExceptionOccurred(env);
	char class_name[256] = "", message[1024] = "";
	jclass c;

	if (!t)
		return 0;
	(*env)->ExceptionClear(env);
	c = (*env)->GetObjectClass(env, t);
	sp_jni_text(env, sp_jni_call(env, c, "getName", "()Ljava/lang/String;"), class_name,
		sizeof(class_name));
	sp_jni_text(env, sp_jni_call(env, t, "getMessage", "()Ljava/lang/String;"), message,
		sizeof(message));
	sp_jni_failed(env);
	message[strcspn(message, "\n")] = 0;
	return sp_err_set(err, code_of(class_name, message), "%s%s%.400s", class_name,
		message[0] ? ": " : "", message);
}

jclass sp_jni_loaded_class(JNIEnv *env, const char *name)
{
	jclass c = (*env)->FindClass(env, "java/lang/ClassLoader");
	jobject loader = c ? sp_jni_call_static(env, "java/lang/ClassLoader",
				     "getSystemClassLoader", "()Ljava/lang/ClassLoader;")
			   : NULL;
	jstring text = loader ? (*env)->NewStringUTF(env, name) : NULL;
	/* Of ClassLoader itself. Its method is protected: JNI calls it all the same. */
	jmethodID find = text ? (*env)->GetMethodID(env, c, "findLoadedClass",
					"(Ljava/lang/String;)Ljava/lang/Class;")
			      : NULL;
	jclass found = find ? (*env)->CallObjectMethod(env, loader, find, text) : NULL;

	return sp_jni_failed(env) ? NULL : found;
}

jobject sp_jni_spark_env(JNIEnv *env)
{
	jclass c = sp_jni_loaded_class(env, "org.apache.spark.SparkEnv");
	jmethodID get =
		c ? (*env)->GetStaticMethodID(env, c, "get", "()Lorg/apache/spark/SparkEnv;")
		  : NULL;
	jobject spark = get ? (*env)->CallStaticObjectMethod(env, c, get) : NULL;

	return (*env)->ExceptionCheck(env) ? NULL : spark;
}

/* Calls @m of @c, on @on, or a static one where that is NULL. */
static jobject call_method(JNIEnv *env, jclass c, jobject on, jmethodID m, va_list args)
{
	jobject ret = on ? (*env)->CallObjectMethodV(env, on, m, args)
			 : (*env)->CallStaticObjectMethodV(env, c, m, args);

	return (*env)->ExceptionCheck(env) ? NULL : ret;
}

jobject sp_jni_call(JNIEnv *env, jobject on, const char *name, const char *sig, ...)
{
	jclass c = on ? (*env)->GetObjectClass(env, on) : NULL;
	jmethodID m = c ? (*env)->GetMethodID(env, c, name, sig) : NULL;
	jobject ret = NULL;
	va_list args;

	va_start(args, sig);
	if (m)
		ret = call_method(env, c, on, m, args);
	va_end(args);
	return ret;
}

jobject sp_jni_call_static(
	JNIEnv *env, const char *class_name, const char *name, const char *sig, ...)
{
	jclass c = (*env)->FindClass(env, class_name);
	jmethodID m = c ? (*env)->GetStaticMethodID(env, c, name, sig) : NULL;
	jobject ret = NULL;
	va_list args;

	va_start(args, sig);
	if (m)
		ret = call_method(env, c, NULL, m, args);
	va_end(args);
	return ret;
}
