/* See task_context.h. */
#include "task_context.h"

#include "vm/jni_util.h"

#include <stdlib.h>
#include <string.h>

#define ACC_STATIC 8
#define CLASSES	   16 /* of threads that work for tasks: Spark has three or four */

/* What was looked up, once; all of it belongs to the JVM's one jvmside thread. */
static struct {
	bool looked, usable;
	jfieldID locals, table, value; /* Thread, ThreadLocalMap, its Entry */
	jfieldID target, holder, task; /* Thread: to JDK 18, and since */
	jclass worker;		       /* global: ThreadPoolExecutor.Worker */
	jfieldID state;		       /* AbstractQueuedSynchronizer: a worker holds itself */
	jmethodID property;
	jweak context; /* TaskContextImpl */
	jfieldID stage, stage_attempt, partition, attempt, task_id, properties;
	/* The field of a class's objects that holds a context: asking JVMTI for all its fields
	 * again for each thread cost more than all the rest. */
	struct {
		jweak cls;
		jfieldID field; /* NULL: it has none */
	} classes[CLASSES];
	uint32_t next_class;
} tc;

static jfieldID field(JNIEnv *env, const char *cls, const char *name, const char *sig)
{
	jclass c = (*env)->FindClass(env, cls);
	jfieldID id = c ? (*env)->GetFieldID(env, c, name, sig) : NULL;

	return sp_jni_failed(env) ? NULL : id;
}

static void look_up(JNIEnv *env)
{
	static const char map[] = "java/lang/ThreadLocal$ThreadLocalMap";
	jclass c;

	tc.looked = true;
	tc.locals = field(
		env, "java/lang/Thread", "threadLocals", "Ljava/lang/ThreadLocal$ThreadLocalMap;");
	tc.table = field(env, map, "table", "[Ljava/lang/ThreadLocal$ThreadLocalMap$Entry;");
	tc.value = field(
		env, "java/lang/ThreadLocal$ThreadLocalMap$Entry", "value", "Ljava/lang/Object;");
	tc.target = field(env, "java/lang/Thread", "target", "Ljava/lang/Runnable;");
	tc.holder = field(env, "java/lang/Thread", "holder", "Ljava/lang/Thread$FieldHolder;");
	tc.task = tc.holder ? field(env, "java/lang/Thread$FieldHolder", "task",
				      "Ljava/lang/Runnable;")
			    : NULL;
	tc.state =
		field(env, "java/util/concurrent/locks/AbstractQueuedSynchronizer", "state", "I");
	c = (*env)->FindClass(env, "java/util/concurrent/ThreadPoolExecutor$Worker");
	if (!sp_jni_failed(env) && c)
		tc.worker = (*env)->NewGlobalRef(env, c);
	c = (*env)->FindClass(env, "java/util/Properties");
	if (!sp_jni_failed(env) && c)
		tc.property = (*env)->GetMethodID(
			env, c, "getProperty", "(Ljava/lang/String;)Ljava/lang/String;");
	tc.usable = !sp_jni_failed(env) && tc.locals && tc.table && tc.value && tc.property;
}

static int busy(JNIEnv *env, jobject thread)
{
	jobject run = NULL, holder;

	if (!tc.worker || !tc.state)
		return -1;
	if (tc.target) {
		run = (*env)->GetObjectField(env, thread, tc.target);
	} else if (tc.task) {
		holder = (*env)->GetObjectField(env, thread, tc.holder);
		run = holder ? (*env)->GetObjectField(env, holder, tc.task) : NULL;
	}
	if (!run || !(*env)->IsInstanceOf(env, run, tc.worker))
		return -1;
	return (*env)->GetIntField(env, run, tc.state) == 1;
}

int sp_task_context_busy(JNIEnv *env, jobject thread)
{
	int r;

	if ((*env)->PushLocalFrame(env, 16) < 0) {
		sp_jni_failed(env);
		return -1;
	}
	if (!tc.looked)
		look_up(env);
	r = busy(env, thread);
	(*env)->PopLocalFrame(env, NULL);
	return r;
}

/* Is @c TaskContextImpl? Remembers it, with its fields, where it is seen first. */
static bool is_context(JNIEnv *env, jvmtiEnv *ti, jclass c)
{
	char *sig = NULL;
	bool yes;

	if (tc.context && !(*env)->IsSameObject(env, tc.context, NULL))
		return (*env)->IsSameObject(env, tc.context, c);
	if ((*ti)->GetClassSignature(ti, c, &sig, NULL) != JVMTI_ERROR_NONE)
		return false;
	yes = strcmp(sig, "Lorg/apache/spark/TaskContextImpl;") == 0;
	(*ti)->Deallocate(ti, (unsigned char *)sig);
	if (!yes)
		return false;
	tc.stage = (*env)->GetFieldID(env, c, "stageId", "I");
	tc.stage_attempt = (*env)->GetFieldID(env, c, "stageAttemptNumber", "I");
	tc.partition = (*env)->GetFieldID(env, c, "partitionId", "I");
	tc.attempt = (*env)->GetFieldID(env, c, "attemptNumber", "I");
	tc.task_id = (*env)->GetFieldID(env, c, "taskAttemptId", "J");
	tc.properties = (*env)->GetFieldID(env, c, "localProperties", "Ljava/util/Properties;");
	if (sp_jni_failed(env))
		return false;
	if (tc.context)
		(*env)->DeleteWeakGlobalRef(env, tc.context);
	tc.context = (*env)->NewWeakGlobalRef(env, c);
	return tc.context != NULL;
}

/* The context among a thread's locals: BarrierTaskContext is looked into by nobody here, for its
 * thread has a name that says all but the properties. */
static jobject find_context(JNIEnv *env, jvmtiEnv *ti, jobject thread)
{
	jobject map = (*env)->GetObjectField(env, thread, tc.locals);
	jobjectArray table = map ? (*env)->GetObjectField(env, map, tc.table) : NULL;
	jsize n = table ? (*env)->GetArrayLength(env, table) : 0;

	for (jsize i = 0; i < n; i++) {
		jobject e = (*env)->GetObjectArrayElement(env, table, i), v = NULL;
		jclass c = NULL;

		if (e) {
			v = (*env)->GetObjectField(env, e, tc.value);
			c = v ? (*env)->GetObjectClass(env, v) : NULL;
			(*env)->DeleteLocalRef(env, e);
		}
		if (c && is_context(env, ti, c))
			return v;
		if (c)
			(*env)->DeleteLocalRef(env, c);
		if (v)
			(*env)->DeleteLocalRef(env, v);
	}
	return NULL;
}

/* A property as text, "" where there is none; cut at a character where it is too long. */
static void property(JNIEnv *env, jobject props, const char *key, char *buf, size_t size)
{
	jstring k = (*env)->NewStringUTF(env, key);
	jstring v = k ? (*env)->CallObjectMethod(env, props, tc.property, k) : NULL;
	jsize n;

	buf[0] = 0;
	if (sp_jni_failed(env) || !v)
		return;
	n = (*env)->GetStringLength(env, v);
	if ((size_t)(*env)->GetStringUTFLength(env, v) >= size && (size_t)n * 3 >= size)
		n = (jsize)(size / 3) - 1;
	(*env)->GetStringUTFRegion(env, v, 0, n, buf);
	if (sp_jni_failed(env))
		buf[0] = 0;
	(*env)->DeleteLocalRef(env, k);
	(*env)->DeleteLocalRef(env, v);
}

static void read_properties(JNIEnv *env, jobject context, struct sp_stage_about *a)
{
	jobject props = (*env)->GetObjectField(env, context, tc.properties);
	char sql[24];

	a->sql = -1;
	if (!props)
		return;
	property(env, props, "spark.jobGroup.id", a->group, sizeof(a->group));
	property(env, props, "spark.job.description", a->description, sizeof(a->description));
	property(env, props, "callSite.short", a->call_site, sizeof(a->call_site));
	property(env, props, "spark.scheduler.pool", a->pool, sizeof(a->pool));
	property(env, props, "streaming.sql.batchId", a->batch, sizeof(a->batch));
	property(env, props, "sql.streaming.queryId", a->query, sizeof(a->query));
	property(env, props, "spark.sql.execution.id", sql, sizeof(sql));
	if (sql[0] >= '0' && sql[0] <= '9')
		a->sql = strtoll(sql, NULL, 10);
}

static bool read_context(
	JNIEnv *env, jobject c, struct sp_task_name *name, struct sp_stage_about *about)
{
	if (!c)
		return false;
	name->stage = (*env)->GetIntField(env, c, tc.stage);
	name->stage_attempt = (*env)->GetIntField(env, c, tc.stage_attempt);
	name->index = (*env)->GetIntField(env, c, tc.partition);
	name->attempt = (*env)->GetIntField(env, c, tc.attempt);
	name->task_id = (*env)->GetLongField(env, c, tc.task_id);
	memset(about, 0, sizeof(*about));
	about->stage = name->stage;
	about->attempt = name->stage_attempt;
	about->job = -1;
	read_properties(env, c, about);
	return true;
}

/* The first field that class @c itself declares for a TaskContext; NULL: none. */
static jfieldID declared_field(jvmtiEnv *ti, jclass c)
{
	jfieldID *fields = NULL, found = NULL;
	jint n = 0;

	if ((*ti)->GetClassFields(ti, c, &n, &fields) != JVMTI_ERROR_NONE)
		return NULL;
	for (jint i = 0; i < n && !found; i++) {
		char *sig = NULL;
		jint access = 0;

		if ((*ti)->GetFieldName(ti, c, fields[i], NULL, &sig, NULL) != JVMTI_ERROR_NONE)
			continue;
		if ((*ti)->GetFieldModifiers(ti, c, fields[i], &access) == JVMTI_ERROR_NONE &&
			!(access & ACC_STATIC) &&
			strcmp(sig, "Lorg/apache/spark/TaskContext;") == 0)
			found = fields[i];
		(*ti)->Deallocate(ti, (unsigned char *)sig);
	}
	(*ti)->Deallocate(ti, (unsigned char *)fields);
	return found;
}

/* Remembers it for the class, in the place of the oldest one where all are taken. */
static void keep_field(JNIEnv *env, jclass c, jfieldID found)
{
	uint32_t i = tc.next_class++ % CLASSES;

	if (tc.classes[i].cls)
		(*env)->DeleteWeakGlobalRef(env, tc.classes[i].cls);
	tc.classes[i].cls = (*env)->NewWeakGlobalRef(env, c);
	tc.classes[i].field = found;
}

/* The field of objects of class @c, or of one of those above it; NULL: none. */
static jfieldID context_field(JNIEnv *env, jvmtiEnv *ti, jclass c)
{
	jfieldID found = NULL;
	jclass at = c;

	for (uint32_t i = 0; i < CLASSES; i++)
		if (tc.classes[i].cls && (*env)->IsSameObject(env, tc.classes[i].cls, c))
			return tc.classes[i].field;
	for (int depth = 0; at && depth < 8 && !found; depth++) {
		found = declared_field(ti, at);
		at = (*env)->GetSuperclass(env, at);
	}
	keep_field(env, c, found);
	return found;
}

/* The context that a thread's object, or that of one of its classes, holds. */
static jobject held_context(JNIEnv *env, jvmtiEnv *ti, jobject thread)
{
	jfieldID field = context_field(env, ti, (*env)->GetObjectClass(env, thread));
	jobject found = field ? (*env)->GetObjectField(env, thread, field) : NULL;

	if (!found || !is_context(env, ti, (*env)->GetObjectClass(env, found)))
		return NULL;
	return found;
}

typedef jobject find_fn(JNIEnv *env, jvmtiEnv *ti, jobject thread);

static bool read_by(JNIEnv *env, jvmtiEnv *ti, jobject thread, find_fn *find,
	struct sp_task_name *ret_name, struct sp_stage_about *ret_about)
{
	bool found;

	if ((*env)->PushLocalFrame(env, 32) < 0) {
		sp_jni_failed(env);
		return false;
	}
	if (!tc.looked)
		look_up(env);
	found = tc.usable && read_context(env, find(env, ti, thread), ret_name, ret_about);
	sp_jni_failed(env);
	(*env)->PopLocalFrame(env, NULL);
	return found;
}

bool sp_task_context_read(JNIEnv *env, jvmtiEnv *ti, jobject thread, struct sp_task_name *ret_name,
	struct sp_stage_about *ret_about)
{
	return read_by(env, ti, thread, find_context, ret_name, ret_about);
}

bool sp_task_context_held(JNIEnv *env, jvmtiEnv *ti, jobject thread, struct sp_task_name *ret_name,
	struct sp_stage_about *ret_about)
{
	return read_by(env, ti, thread, held_context, ret_name, ret_about);
}

void sp_task_context_done(JNIEnv *env)
{
	if (tc.worker)
		(*env)->DeleteGlobalRef(env, tc.worker);
	if (tc.context)
		(*env)->DeleteWeakGlobalRef(env, tc.context);
	for (uint32_t i = 0; i < CLASSES; i++)
		if (tc.classes[i].cls)
			(*env)->DeleteWeakGlobalRef(env, tc.classes[i].cls);
	memset(&tc, 0, sizeof(tc));
}
