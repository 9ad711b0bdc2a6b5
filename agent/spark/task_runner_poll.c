/* See runners.h. */
#include "runners.h"

#include "base/clock.h"
#include "jnikit.h"

#include <string.h>

#define AGAIN_NS 1000000000ull /* an executor registers some time after its JVM has started */
#define KEPT	 64

/* All of it belongs to the jvmside thread. */
static struct {
	uint64_t looked_ns;
	jweak map;    /* of the executor: task id → runner */
	jclass boxed; /* global: Long */
	jmethodID get, value_of;
	jclass runner; /* global */
	jfieldID finished;
	/* Runners that were found, by task id modulo KEPT: asking the map means calls into Java. */
	struct {
		int64_t task_id;
		jweak runner; /* NULL: none */
	} kept[KEPT];
} rs;

/* SparkEnv.get.executorBackend.get.executor.runningTasks; NULL where one of them is not there. */
static jobject find_map(JNIEnv *env)
{
	jclass c = sp_jni_loaded_class(env, "org.apache.spark.SparkEnv");
	jmethodID get =
		c ? (*env)->GetStaticMethodID(env, c, "get", "()Lorg/apache/spark/SparkEnv;")
		  : NULL;
	jobject o = get ? (*env)->CallStaticObjectMethod(env, c, get) : NULL;

	if (sp_jni_failed(env))
		return NULL;
	o = sp_jni_call(env, o, "executorBackend", "()Lscala/Option;");
	o = o ? sp_jni_call(env, o, "get", "()Ljava/lang/Object;") : NULL;
	o = o ? sp_jni_call(env, o, "executor", "()Lorg/apache/spark/executor/Executor;") : NULL;
	o = o ? sp_jni_call(env, o, "runningTasks", "()Ljava/util/concurrent/ConcurrentHashMap;")
	      : NULL;
	return sp_jni_failed(env) ? NULL : o;
}

static void look_up(JNIEnv *env)
{
	jobject map = find_map(env);
	jclass c = map ? (*env)->GetObjectClass(env, map) : NULL, boxed;

	if (!c)
		return;
	rs.get = (*env)->GetMethodID(env, c, "get", "(Ljava/lang/Object;)Ljava/lang/Object;");
	boxed = (*env)->FindClass(env, "java/lang/Long");
	rs.value_of =
		boxed ? (*env)->GetStaticMethodID(env, boxed, "valueOf", "(J)Ljava/lang/Long;")
		      : NULL;
	if (sp_jni_failed(env) || !rs.get || !rs.value_of)
		return;
	rs.boxed = (*env)->NewGlobalRef(env, boxed);
	if (rs.boxed)
		rs.map = (*env)->NewWeakGlobalRef(env, map);
}

/* Remembers the class of runners, with its field, where it is seen first. */
static bool is_runner(JNIEnv *env, jobject r)
{
	jclass c = (*env)->GetObjectClass(env, r);

	if (rs.runner)
		return (*env)->IsSameObject(env, c, rs.runner);
	rs.finished = (*env)->GetFieldID(env, c, "finished", "Z");
	if (sp_jni_failed(env) || !rs.finished)
		return false;
	rs.runner = (*env)->NewGlobalRef(env, c);
	return rs.runner != NULL;
}

/* The executor's word: a local reference, or NULL. */
static jobject ask_map(JNIEnv *env, int64_t task_id)
{
	uint64_t now = sp_clock_mono_ns();
	jobject map, key, runner;

	if (!rs.map) {
		if (rs.looked_ns && now - rs.looked_ns < AGAIN_NS)
			return NULL;
		rs.looked_ns = now;
		look_up(env);
	}
	map = rs.map ? (*env)->NewLocalRef(env, rs.map) : NULL;
	key = map ? (*env)->CallStaticObjectMethod(env, rs.boxed, rs.value_of, (jlong)task_id)
		  : NULL;
	runner = key && !(*env)->ExceptionCheck(env)
			 ? (*env)->CallObjectMethod(env, map, rs.get, key)
			 : NULL;
	return sp_jni_failed(env) || !runner || !is_runner(env, runner) ? NULL : runner;
}

static void drop(JNIEnv *env, uint32_t i)
{
	if (rs.kept[i].runner)
		(*env)->DeleteWeakGlobalRef(env, rs.kept[i].runner);
	rs.kept[i].runner = NULL;
}

static int ask(JNIEnv *env, int64_t task_id)
{
	uint32_t i = (uint32_t)((uint64_t)task_id % KEPT);
	jobject runner = NULL;
	int finished;

	if (rs.kept[i].runner && rs.kept[i].task_id == task_id)
		runner = (*env)->NewLocalRef(env, rs.kept[i].runner);
	if (!runner) {
		drop(env, i);
		runner = ask_map(env, task_id);
		if (!runner)
			return -1;
		rs.kept[i].task_id = task_id;
		rs.kept[i].runner = (*env)->NewWeakGlobalRef(env, runner);
	}
	finished = (*env)->GetBooleanField(env, runner, rs.finished);
	if (finished)
		drop(env, i);
	return finished;
}

int sp_runners_finished(JNIEnv *env, int64_t task_id)
{
	int r;

	if ((*env)->PushLocalFrame(env, 16) < 0) {
		sp_jni_failed(env);
		return -1;
	}
	r = ask(env, task_id);
	sp_jni_failed(env);
	(*env)->PopLocalFrame(env, NULL);
	return r;
}

void sp_runners_done(JNIEnv *env)
{
	for (uint32_t i = 0; i < KEPT; i++)
		drop(env, i);
	if (rs.map)
		(*env)->DeleteWeakGlobalRef(env, rs.map);
	if (rs.boxed)
		(*env)->DeleteGlobalRef(env, rs.boxed);
	if (rs.runner)
		(*env)->DeleteGlobalRef(env, rs.runner);
	memset(&rs, 0, sizeof(rs));
}
