/* See spark_ugi.h. Subject.doAs puts its user into an AccessControlContext, and every thread keeps
 * the one in which it was made. Threads of Spark's RPC are made with SparkEnv, by the thread that
 * makes it, and it is they who receive new tokens. JEP 486 (JDK 24) did away with all of that:
 * there only what is called within a doAs is its user, and Spark's threads are the process's. */
#include "spark_ugi.h"

#include "vm/jni_util.h"

#include <stdbool.h>
#include <string.h>

#define RPC_THREADS "dispatcher-" /* and the endpoint, or event-loop-N */
#define ROOM	    64		  /* for threads that begin meanwhile */

/* All threads of our group and below, which is where Spark's are; NULL where something failed. */
static jobjectArray all_threads(JNIEnv *env, jclass c, jobject self, jint *ret_n)
{
	jobject group = sp_jni_call(env, self, "getThreadGroup", "()Ljava/lang/ThreadGroup;");
	jclass g = group ? (*env)->GetObjectClass(env, group) : NULL;
	jmethodID count = g ? (*env)->GetMethodID(env, g, "activeCount", "()I") : NULL;
	jmethodID list =
		count ? (*env)->GetMethodID(env, g, "enumerate", "([Ljava/lang/Thread;)I") : NULL;
	jint n = list ? (*env)->CallIntMethod(env, group, count) + ROOM : 0;
	jobjectArray all = NULL;

	if (n > 0 && !(*env)->ExceptionCheck(env))
		all = (*env)->NewObjectArray(env, n, c, NULL);
	*ret_n = all ? (*env)->CallIntMethod(env, group, list, all) : 0;
	return (*env)->ExceptionCheck(env) ? NULL : all;
}

static bool is_of_rpc(JNIEnv *env, jmethodID get_name, jobject thread)
{
	jstring name = (*env)->CallObjectMethod(env, thread, get_name);
	char text[3 * sizeof(RPC_THREADS)];

	if (sp_jni_failed(env))
		return false;
	sp_jni_text(env, name, text, sizeof(text));
	(*env)->DeleteLocalRef(env, name);
	return strncmp(text, RPC_THREADS, strlen(RPC_THREADS)) == 0;
}

/* What the first of them inherited; NULL: nothing, or there is none. */
static jobject of_rpc(JNIEnv *env, jclass c, jobject self, jfieldID inherited)
{
	jmethodID get_name = (*env)->GetMethodID(env, c, "getName", "()Ljava/lang/String;");
	jint n = 0;
	jobjectArray all = get_name ? all_threads(env, c, self, &n) : NULL;

	for (jint i = 0; all && i < n; i++) {
		jobject thread = (*env)->GetObjectArrayElement(env, all, i);

		if (thread && is_of_rpc(env, get_name, thread))
			return (*env)->GetObjectField(env, thread, inherited);
		(*env)->DeleteLocalRef(env, thread);
	}
	return NULL;
}

void sp_spark_ugi_become(JNIEnv *env)
{
	jclass c = (*env)->FindClass(env, "java/lang/Thread");
	jfieldID inherited = c ? (*env)->GetFieldID(env, c, "inheritedAccessControlContext",
					 "Ljava/security/AccessControlContext;")
			       : NULL;
	jobject self = inherited ? sp_jni_call_static(env, "java/lang/Thread", "currentThread",
					   "()Ljava/lang/Thread;")
				 : NULL;
	jobject context = self ? of_rpc(env, c, self, inherited) : NULL;

	if (!sp_jni_failed(env) && context)
		(*env)->SetObjectField(env, self, inherited, context);
}
