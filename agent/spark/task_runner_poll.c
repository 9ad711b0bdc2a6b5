/* See task_runner_poll.h. */
#include "task_runner_poll.h"

#include "base/clock.h"
#include "vm/jni_util.h"

#include <string.h>

#define AGAIN_NS 1000000000ull /* an executor registers some time after its JVM has started */
#define KEPT	 64
#define TIMES	 3

/* All of it belongs to the jvmside thread. */
static struct {
	uint64_t looked_ns;
	jweak map;    /* of the executor: task id → runner */
	jclass boxed; /* global: Long */
	jmethodID get, value_of;
	jclass runner; /* global */
	jfieldID finished;
	jfieldID task, metrics, times[TIMES], sum; /* NULL: not looked up, or not there */
	/* Runners that were found, by task id modulo KEPT: asking the map means calls into Java. */
	struct {
		int64_t task_id;
		jweak runner; /* NULL: none */
	} kept[KEPT];
} rs;

/* SparkEnv.get.executorBackend.get.executor.runningTasks; NULL where one of them is not there. */
static jobject find_map(JNIEnv *env)
{
	jobject o = sp_jni_spark_env(env);

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

/* The object that @id, looked up where it is not known yet, has in @o; NULL: none. */
static jobject follow(JNIEnv *env, jobject o, jfieldID *id, const char *name, const char *sig)
{
	jclass c = o ? (*env)->GetObjectClass(env, o) : NULL;

	if (c && !*id)
		*id = (*env)->GetFieldID(env, c, name, sig);
	return c && !sp_jni_failed(env) && *id ? (*env)->GetObjectField(env, o, *id) : NULL;
}

static int64_t milliseconds(JNIEnv *env, jobject accumulator)
{
	if (!rs.sum)
		rs.sum = (*env)->GetFieldID(
			env, (*env)->GetObjectClass(env, accumulator), "_sum", "J");
	return sp_jni_failed(env) || !rs.sum ? -1 : (*env)->GetLongField(env, accumulator, rs.sum);
}

/* Spark's own measure of an attempt that has finished: the times to read the task, to run it and to
 * write its result, each cut to milliseconds. */
static uint64_t ran_ns(JNIEnv *env, jobject runner)
{
	static const char *const names[TIMES] = {
		"_executorDeserializeTime", "_executorRunTime", "_resultSerializationTime"};
	jobject m = follow(env, runner, &rs.task, "task", "Lorg/apache/spark/scheduler/Task;");
	int64_t sum = 0, ms;

	m = follow(env, m, &rs.metrics, "metrics", "Lorg/apache/spark/executor/TaskMetrics;");
	for (int i = 0; i < TIMES; i++) {
		jobject a = follow(
			env, m, &rs.times[i], names[i], "Lorg/apache/spark/util/LongAccumulator;");

		ms = a ? milliseconds(env, a) : -1;
		if (ms < 0 || ms > INT32_MAX)
			return 0;
		sum += ms;
	}
	return sum ? (uint64_t)(sum + TIMES) * 1000000 : 0;
}

static void drop(JNIEnv *env, uint32_t i)
{
	if (rs.kept[i].runner)
		(*env)->DeleteWeakGlobalRef(env, rs.kept[i].runner);
	rs.kept[i].runner = NULL;
}

static int ask(JNIEnv *env, int64_t task_id, uint64_t *ret_ran_ns)
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
	if (finished) {
		*ret_ran_ns = ran_ns(env, runner);
		drop(env, i);
	}
	return finished;
}

int sp_task_runner_poll_finished(JNIEnv *env, int64_t task_id, uint64_t *ret_ran_ns)
{
	int r;

	*ret_ran_ns = 0;
	if ((*env)->PushLocalFrame(env, 32) < 0) {
		sp_jni_failed(env);
		return -1;
	}
	r = ask(env, task_id, ret_ran_ns);
	sp_jni_failed(env);
	(*env)->PopLocalFrame(env, NULL);
	return r;
}

void sp_task_runner_poll_done(JNIEnv *env)
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
