/* See task_runner_poll.h. */
#include "task_runner_poll.h"

#include "base/clock.h"
#include "task_measures.h"
#include "vm/jni_util.h"

#include <stdbool.h>
#include <string.h>

#define AGAIN_NS 1000000000ull /* an executor registers some time after its JVM has started */
#define KEPT	 256	       /* more than an executor runs at once */
#define MS	 1000000ull
#define REFS	 64
#define CUT	 3 /* times of a sum, cut to milliseconds */

/* Accumulators of an attempt that has finished, each in milliseconds or nanoseconds. */
enum { READ_MS, READ_CPU_NS, RUN_MS, CPU_NS, RESULT_MS, GC_MS, FETCH_MS, WRITE_NS, TIMES };
static const struct {
	const char *name;
	int part; /* of the metrics; -1: they have it themselves */
} times[TIMES] = {
	[READ_MS] = {"_executorDeserializeTime", -1},
	[READ_CPU_NS] = {"_executorDeserializeCpuTime", -1},
	[RUN_MS] = {"_executorRunTime", -1},
	[CPU_NS] = {"_executorCpuTime", -1},
	[RESULT_MS] = {"_resultSerializationTime", -1},
	[GC_MS] = {"_jvmGCTime", -1},
	[FETCH_MS] = {"_fetchWaitTime", 0},
	[WRITE_NS] = {"_writeTime", 1},
};
static const struct {
	const char *name, *sig;
} parts[] = {
	{"shuffleReadMetrics", "Lorg/apache/spark/executor/ShuffleReadMetrics;"},
	{"shuffleWriteMetrics", "Lorg/apache/spark/executor/ShuffleWriteMetrics;"},
};

/* All of it belongs to the jvmside thread. */
static struct {
	uint64_t looked_ns;
	jweak map;    /* of the executor: task id → runner */
	jclass boxed; /* global: Long */
	jmethodID get, value_of;
	jclass runner; /* global */
	jfieldID finished;
	jfieldID task, metrics, parts[2], times[TIMES], sum; /* NULL: not looked up, or not there */
	/* Runners that were found: asking the map means calls into Java. */
	struct {
		int64_t task_id;
		jweak runner; /* NULL: none, or what it says was read */
		bool read;
		uint64_t ran_ns; /* see sp_task_runner_poll_finished() */
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

static int64_t sum_of(JNIEnv *env, jobject accumulator)
{
	if (!rs.sum)
		rs.sum = (*env)->GetFieldID(
			env, (*env)->GetObjectClass(env, accumulator), "_sum", "J");
	return sp_jni_failed(env) || !rs.sum ? -1 : (*env)->GetLongField(env, accumulator, rs.sum);
}

/* Spark's own measures of an attempt that has finished; -1 for one that is missing. Returns whether
 * all are there. */
static bool read_times(JNIEnv *env, jobject runner, int64_t t[TIMES])
{
	bool all = true;
	jobject task = follow(env, runner, &rs.task, "task", "Lorg/apache/spark/scheduler/Task;");
	jobject m = follow(
		env, task, &rs.metrics, "metrics", "Lorg/apache/spark/executor/TaskMetrics;");

	for (int i = 0; i < TIMES; i++) {
		int k = times[i].part;
		jobject part =
			k < 0 ? m : follow(env, m, &rs.parts[k], parts[k].name, parts[k].sig);
		jobject a = follow(env, part, &rs.times[i], times[i].name,
			"Lorg/apache/spark/util/LongAccumulator;");

		t[i] = a ? sum_of(env, a) : -1;
		if (t[i] > INT64_MAX / 1000000)
			t[i] = -1;
		all &= t[i] >= 0;
	}
	return all;
}

/* Says what Spark measured. Returns the times to read the task, to run it and to write its result,
 * each cut to milliseconds; 0: unknown. */
static uint64_t measure(JNIEnv *env, jobject runner, int64_t task_id)
{
	int64_t t[TIMES], sum;

	/* Of an attempt that failed or was killed Spark does not set the CPU time. */
	if (read_times(env, runner, t) && t[CPU_NS])
		sp_task_measures_put(&(struct sp_task_measure){.task_id = task_id,
			.read_cpu_ns = (uint64_t)t[READ_CPU_NS],
			.cpu_ns = (uint64_t)t[CPU_NS],
			.run_ns = (uint64_t)t[RUN_MS] * MS,
			.gc_ns = (uint64_t)t[GC_MS] * MS,
			.fetch_wait_ns = (uint64_t)t[FETCH_MS] * MS,
			.shuffle_write_ns = (uint64_t)t[WRITE_NS]});
	if (t[READ_MS] < 0 || t[RUN_MS] < 0 || t[RESULT_MS] < 0)
		return 0;
	sum = t[READ_MS] + t[RUN_MS] + t[RESULT_MS];
	return sum ? (uint64_t)(sum + CUT) * MS : 0;
}

static void drop(JNIEnv *env, uint32_t i)
{
	if (rs.kept[i].runner)
		(*env)->DeleteWeakGlobalRef(env, rs.kept[i].runner);
	rs.kept[i].runner = NULL;
}

/* The runner at that place, a local reference; NULL: none, or it is collected. */
static jobject kept(JNIEnv *env, uint32_t i)
{
	return rs.kept[i].runner ? (*env)->NewLocalRef(env, rs.kept[i].runner) : NULL;
}

static void settle(JNIEnv *env, uint32_t i, jobject runner)
{
	rs.kept[i].ran_ns = measure(env, runner, rs.kept[i].task_id);
	drop(env, i);
	rs.kept[i].read = true;
}

/* Where the task is, or may be: another gives way only where all places are taken. */
static uint32_t place_of(int64_t task_id)
{
	uint32_t empty = (uint32_t)((uint64_t)task_id % KEPT);

	for (uint32_t i = 0; i < KEPT; i++)
		if (rs.kept[i].task_id == task_id && (rs.kept[i].runner || rs.kept[i].read))
			return i;
	for (uint32_t i = 0; i < KEPT && rs.kept[empty].runner; i++)
		empty = rs.kept[i].runner ? empty : i;
	return empty;
}

static int ask(JNIEnv *env, int64_t task_id, uint64_t *ret_ran_ns)
{
	uint32_t i = place_of(task_id);
	bool same = rs.kept[i].task_id == task_id;
	jobject runner = same ? kept(env, i) : NULL;

	if (!(same && rs.kept[i].read)) {
		if (!runner) {
			drop(env, i);
			runner = ask_map(env, task_id);
			if (!runner)
				return -1;
			rs.kept[i].task_id = task_id;
			rs.kept[i].read = false;
			rs.kept[i].runner = (*env)->NewWeakGlobalRef(env, runner);
		}
		if (!(*env)->GetBooleanField(env, runner, rs.finished))
			return 0;
		settle(env, i, runner);
	}
	*ret_ran_ns = rs.kept[i].ran_ns;
	return 1;
}

void sp_task_runner_poll_collect(JNIEnv *env)
{
	for (uint32_t i = 0; i < KEPT; i++) {
		jobject runner;

		if (!rs.kept[i].runner)
			continue;
		if ((*env)->PushLocalFrame(env, REFS) < 0) {
			sp_jni_failed(env);
			return;
		}
		runner = kept(env, i);
		if (!runner)
			drop(env, i);
		else if ((*env)->GetBooleanField(env, runner, rs.finished))
			settle(env, i, runner);
		sp_jni_failed(env);
		(*env)->PopLocalFrame(env, NULL);
	}
}

int sp_task_runner_poll_finished(JNIEnv *env, int64_t task_id, uint64_t *ret_ran_ns)
{
	int r;

	*ret_ran_ns = 0;
	if ((*env)->PushLocalFrame(env, REFS) < 0) {
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
