/* See driver_work.h. */
#include "prof/spark/driver_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pyspark_class.h"
#include "dict/python_thread.h"
#include "base/saturate.h"
#include "prof/model/frame_name.h"
#include "prof/model/tasks.h"
#include "prof/spark/area.h"

#define SQL   "org/apache/spark/sql/"
#define EXEC  SQL "execution/"
#define QUERY EXEC "QueryExecution"
#define AQE   EXEC "adaptive/AdaptiveSparkPlanExec"

static const struct {
	const char *key, *name;
} words[SP_WORKS] = {
	[SP_DRIVER_WORK_NONE] = {"other", "other"},
	[SP_DRIVER_WORK_PARSING] = {"parsing", "parsing"},
	[SP_DRIVER_WORK_ANALYSIS] = {"analysis", "analysis"},
	[SP_DRIVER_WORK_OPTIMISATION] = {"optimisation", "optimisation"},
	[SP_DRIVER_WORK_PLANNING] = {"planning", "planning"},
	[SP_DRIVER_WORK_CODEGEN] = {"codegen", "codegen"},
	[SP_DRIVER_WORK_LISTING] = {"listing", "file listing"},
	[SP_DRIVER_WORK_JOB] = {"job", "waiting for jobs"},
	[SP_DRIVER_WORK_LIST_JOB] = {"listing_job", "waiting for jobs that list files"},
	[SP_DRIVER_WORK_COLLECT] = {"collect", "collecting results"},
	[SP_DRIVER_WORK_BROADCAST] = {"broadcast", "broadcast"},
	[SP_DRIVER_WORK_QUERY] = {"query", "other work of a query"},
	[SP_DRIVER_WORK_APPLICATION] = {"application", "application code"},
	[SP_DRIVER_WORK_PY4J] = {"py4j", "py4j"},
	[SP_DRIVER_WORK_CONNECT] = {"connect", "Connect"},
	[SP_DRIVER_WORK_SCHEDULER] = {"scheduler", "scheduler"},
	[SP_DRIVER_WORK_LISTENERS] = {"listeners", "listener bus"},
	[SP_DRIVER_WORK_EVENT_LOG] = {"event_log", "event log"},
	[SP_DRIVER_WORK_UI] = {"ui", "web UI"},
	[SP_DRIVER_WORK_GC] = {"gc", "GC"},
	[SP_DRIVER_WORK_JIT] = {"jit", "JIT compiler"},
	[SP_DRIVER_WORK_PYTHON] = {"python", "Python computes"},
	[SP_DRIVER_WORK_PYTHON_DECODE] = {"python_decode", "Python decodes data"},
	[SP_DRIVER_WORK_PYTHON_WAIT] = {"python_wait", "Python waits"},
	[SP_DRIVER_WORK_OTHER] = {"other", "other"},
	[SP_DRIVER_WORK_IDLE] = {"idle", "idle"},
};

/* Class by its start, method by a part. Lazy values of a query are computed inside of each other,
 * so the frame nearest to the leaf decides; Spark 4 calls them lazyAnalyzed and so on. */
struct rule {
	const char *cls, *method;
	enum sp_driver_work work;
};

static const struct rule phases[] = {
	{"org/codehaus/janino/", "", SP_DRIVER_WORK_CODEGEN},
	{SQL "catalyst/expressions/codegen/CodeGenerator", "", SP_DRIVER_WORK_CODEGEN},
	{EXEC "WholeStageCodegenExec", "doCodeGen", SP_DRIVER_WORK_CODEGEN},
	{SQL "catalyst/parser/", "", SP_DRIVER_WORK_PARSING},
	{EXEC "datasources/InMemoryFileIndex", "", SP_DRIVER_WORK_LISTING},
	{EXEC "datasources/PartitioningAwareFileIndex", "", SP_DRIVER_WORK_LISTING},
	{EXEC "datasources/DataSource", "checkAndGlobPath", SP_DRIVER_WORK_LISTING},
	{"org/apache/spark/util/HadoopFSUtils", "", SP_DRIVER_WORK_LISTING},
	{"org/apache/hadoop/mapred/FileInputFormat", "", SP_DRIVER_WORK_LISTING},
	{"org/apache/hadoop/mapreduce/lib/input/FileInputFormat", "", SP_DRIVER_WORK_LISTING},
	{"org/apache/spark/scheduler/DAGScheduler", "runJob", SP_DRIVER_WORK_JOB},
	{"org/apache/spark/scheduler/EventLoggingListener", "", SP_DRIVER_WORK_EVENT_LOG},
	{"org/apache/spark/scheduler/JobWaiter", "taskSucceeded", SP_DRIVER_WORK_COLLECT},
	{"org/apache/spark/scheduler/TaskResultGetter", "", SP_DRIVER_WORK_COLLECT},
	{EXEC "SparkPlan", "executeCollect", SP_DRIVER_WORK_COLLECT},
	{EXEC "SparkPlan", "executeTake", SP_DRIVER_WORK_COLLECT},
	{EXEC "SparkPlan", "decodeUnsafeRows", SP_DRIVER_WORK_COLLECT},
	{SP_PYSPARK_SQL "EvaluatePython", "", SP_DRIVER_WORK_COLLECT},
	{SP_PYSPARK_RDD "PythonRDD", "", SP_DRIVER_WORK_COLLECT},
	{SP_PYSPARK_RDD "SerDeUtil", "", SP_DRIVER_WORK_COLLECT},
	{"org/apache/spark/security/SocketAuth", "", SP_DRIVER_WORK_COLLECT},
	{EXEC "exchange/BroadcastExchangeExec", "", SP_DRIVER_WORK_BROADCAST},
	{EXEC "joins/HashedRelation", "", SP_DRIVER_WORK_BROADCAST},
	{EXEC "joins/LongHashedRelation", "", SP_DRIVER_WORK_BROADCAST},
	{EXEC "joins/UnsafeHashedRelation", "", SP_DRIVER_WORK_BROADCAST},
	{EXEC "joins/LongToUnsafeRowMap", "", SP_DRIVER_WORK_BROADCAST},
	{"org/apache/spark/broadcast/", "", SP_DRIVER_WORK_BROADCAST},
	{QUERY, "nalyzed", SP_DRIVER_WORK_ANALYSIS},
	{QUERY, "ptimizedPlan", SP_DRIVER_WORK_OPTIMISATION},
	{QUERY, "parkPlan", SP_DRIVER_WORK_PLANNING},
	{QUERY, "xecutedPlan", SP_DRIVER_WORK_PLANNING},
	{QUERY, "prepareForExecution", SP_DRIVER_WORK_PLANNING},
	{AQE, "ptimize", SP_DRIVER_WORK_PLANNING},
	{AQE, "createQueryStages", SP_DRIVER_WORK_PLANNING},
};

/* Where no phase is named; the frame nearest to the leaf decides here too. */
static const struct rule others[] = {
	{SQL "connect/", "", SP_DRIVER_WORK_CONNECT},
	{SQL, "", SP_DRIVER_WORK_QUERY},
	{"org/apache/spark/rdd/", "", SP_DRIVER_WORK_QUERY},
	{"org/apache/spark/SparkContext", "runJob", SP_DRIVER_WORK_QUERY},
	{"org/sparkproject/jetty/", "", SP_DRIVER_WORK_UI},
	{"org/apache/spark/ui/", "", SP_DRIVER_WORK_UI},
	{"org/apache/spark/deploy/PythonRunner", "", SP_DRIVER_WORK_IDLE},
	{SP_PYSPARK_RDD "PythonGatewayServer", "", SP_DRIVER_WORK_IDLE},
	{"py4j/", "", SP_DRIVER_WORK_PY4J},
	{"org/apache/spark/deploy/JavaMainApplication", "", SP_DRIVER_WORK_APPLICATION},
	{"org/apache/spark/deploy/yarn/ApplicationMaster$$anon", "run", SP_DRIVER_WORK_APPLICATION},
	{"org/apache/spark/deploy/worker/DriverWrapper", "main", SP_DRIVER_WORK_APPLICATION},
};

/* Methods in which a thread waits for work: whatever its state, or where it does not run (it works
 * in what they call). */
static const struct rule waits[] = {
	{"java/util/concurrent/ThreadPoolExecutor", "getTask", SP_DRIVER_WORK_IDLE},
	{"java/util/concurrent/ForkJoinPool", "awaitWork", SP_DRIVER_WORK_IDLE},
	{"java/util/concurrent/LinkedBlocking", "take", SP_DRIVER_WORK_IDLE},
	{"java/util/concurrent/LinkedBlocking", "poll", SP_DRIVER_WORK_IDLE},
	{"java/lang/ref/", "", SP_DRIVER_WORK_IDLE},
	{"org/sparkproject/jetty/util/BlockingArrayQueue", "", SP_DRIVER_WORK_IDLE},
	{"java/util/TimerThread", "", SP_DRIVER_WORK_OTHER},
	{"org/apache/spark/util/EventLoop$$anon", "run", SP_DRIVER_WORK_OTHER},
	{"org/apache/spark/rpc/netty/MessageLoop", "receiveLoop", SP_DRIVER_WORK_OTHER},
	{"org/apache/spark/ContextCleaner", "keepCleaning", SP_DRIVER_WORK_OTHER},
	{"io/netty/channel/", "", SP_DRIVER_WORK_OTHER},
	{"py4j/", "", SP_DRIVER_WORK_OTHER},
};

/* Threads by the start of their names. @beside: a query does not run in it. */
static const struct {
	const char *start;
	enum sp_driver_work work;
	bool beside;
} threads[] = {
	{"dag-scheduler-", SP_DRIVER_WORK_SCHEDULER, true},
	{"task-scheduler-", SP_DRIVER_WORK_SCHEDULER, true},
	{"dispatcher-", SP_DRIVER_WORK_SCHEDULER, true},
	{"netty-rpc-", SP_DRIVER_WORK_SCHEDULER, true},
	{"rpc-", SP_DRIVER_WORK_SCHEDULER, true},
	{"block-manager-", SP_DRIVER_WORK_SCHEDULER, true},
	{"driver-heartbeater", SP_DRIVER_WORK_SCHEDULER, true},
	{"heartbeat-", SP_DRIVER_WORK_SCHEDULER, true},
	{"task-result-getter-", SP_DRIVER_WORK_COLLECT, true},
	{"serve-", SP_DRIVER_WORK_COLLECT, true},
	{"spark-listener-group-", SP_DRIVER_WORK_LISTENERS, true},
	{"broadcast-exchange-", SP_DRIVER_WORK_BROADCAST, true},
	{"subquery-", SP_DRIVER_WORK_QUERY, true},
	{"SparkConnectExecuteThread", SP_DRIVER_WORK_CONNECT, false},
	{"grpc-default-", SP_DRIVER_WORK_CONNECT, true},
	{"SparkUI-", SP_DRIVER_WORK_UI, true},
	{"GC Thread", SP_DRIVER_WORK_GC, true},
	{"G1 ", SP_DRIVER_WORK_GC, true},
	{"ParGC", SP_DRIVER_WORK_GC, true},
	{"ZWorker", SP_DRIVER_WORK_GC, true},
	{"Shenandoah", SP_DRIVER_WORK_GC, true},
	{"VM Thread", SP_DRIVER_WORK_GC, true},
	{"C1 Compiler", SP_DRIVER_WORK_JIT, true},
	{"C2 Compiler", SP_DRIVER_WORK_JIT, true},
};

const char *sp_driver_work_name(enum sp_driver_work work)
{
	return words[work < SP_WORKS ? work : SP_DRIVER_WORK_OTHER].name;
}

const char *sp_driver_work_key(enum sp_driver_work work)
{
	return words[work < SP_WORKS ? work : SP_DRIVER_WORK_OTHER].key;
}

bool sp_driver_work_is_query(enum sp_driver_work work)
{
	return work >= SP_DRIVER_WORK_PARSING && work <= SP_DRIVER_WORK_CONNECT;
}

static enum sp_driver_work of_thread(const char *name, bool *ret_beside)
{
	*ret_beside = false;
	for (size_t i = 0; i < SP_COUNT(threads); i++)
		if (strncmp(name, threads[i].start, strlen(threads[i].start)) == 0) {
			*ret_beside = threads[i].beside;
			return threads[i].work;
		}
	return SP_DRIVER_WORK_NONE;
}

bool sp_driver_work_is_beside(const char *thread)
{
	bool beside;

	of_thread(thread, &beside);
	return beside;
}

static enum sp_driver_work match_rule(
	const struct rule *list, size_t n, const char *cls, const char *method)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(cls, list[i].cls, strlen(list[i].cls)) == 0 &&
			strstr(method, list[i].method))
			return list[i].work;
	return SP_DRIVER_WORK_NONE;
}

/* What the rules say of a method. */
struct frame_rules {
	bool known;
	uint8_t phase, other, wait;
	bool takes, adaptive;
};

/* The same of a stack, by the frame nearest to the leaf, whatever thread and state are. */
struct stack_rules {
	bool known, python;
	uint8_t phase, other, wait;
	uint8_t python_runs, python_waits; /* the answer in both states */
	bool bridges;			   /* Python: in its half of py4j or of PySpark */
	bool takes, adaptive;
};

static struct frame_rules rules_of(const struct sp_dict *d, uint32_t method)
{
	const struct sp_method *m = sp_dict_get_method(d, method);
	struct frame_rules r = {.known = true};
	const char *cls, *name;

	if (!m || m->native)
		return r;
	cls = sp_dict_get_string(d, m->class_id, NULL);
	name = sp_dict_get_string(d, m->name_id, NULL);
	r.phase = (uint8_t)match_rule(phases, SP_COUNT(phases), cls, name);
	r.other = (uint8_t)match_rule(others, SP_COUNT(others), cls, name);
	r.wait = (uint8_t)match_rule(waits, SP_COUNT(waits), cls, name);
	r.takes = strcmp(cls, "java/util/concurrent/LinkedBlockingQueue") == 0 &&
		  strcmp(name, "take") == 0;
	r.adaptive = strncmp(cls, AQE, strlen(AQE)) == 0;
	return r;
}

static void add_frame(struct stack_rules *s, const struct frame_rules *f)
{
	s->phase = s->phase ? s->phase : f->phase;
	/* of more than 32 directories Spark makes a job */
	if (s->phase == SP_DRIVER_WORK_JOB && f->phase == SP_DRIVER_WORK_LISTING)
		s->phase = SP_DRIVER_WORK_LIST_JOB;
	s->other = s->other ? s->other : f->other;
	s->wait = s->wait ? s->wait : f->wait;
	s->takes |= f->takes;
	s->adaptive |= f->adaptive;
}

/* Adaptive execution takes what its stages report from a queue, in the query's thread. */
static enum sp_driver_work phase_of(const struct stack_rules *s)
{
	bool may = !s->phase || s->phase == SP_DRIVER_WORK_PLANNING ||
		   s->phase == SP_DRIVER_WORK_COLLECT;

	return may && s->takes && s->adaptive ? SP_DRIVER_WORK_JOB : s->phase;
}

enum sp_driver_work sp_driver_work_phase(
	const struct sp_dict *d, const struct sp_frame_ref *frames, uint32_t count)
{
	struct stack_rules s = {0};

	for (uint32_t i = 0; i < count; i++) {
		struct frame_rules f = rules_of(d, frames[i].method);

		add_frame(&s, &f);
	}
	return phase_of(&s);
}

static bool runs(const char *state)
{
	return !state[0] || strcmp(state, "running") == 0 || strcmp(state, "runnable") == 0;
}

/* Python that waits in its half of py4j or of PySpark waits for the JVM, which says why. Threads
 * beside the main one wait there for the JVM's word, and work for no query when they look for it.
 */
static void look_at_python(struct stack_rules *s, const struct sp_dict *d,
	const struct sp_frame_ref *frames, uint32_t count)
{
	static const struct sp_style full;
	static const char *const bridge[] = {"java_gateway.py)", "clientserver.py)",
		"socketserver.py)", "selectors.py)", "accumulators.py)", "serializers.py)"};
	SP_AUTO_BUF struct sp_buf name;
	bool decodes = false, for_jvm = false;

	sp_buf_init(&name);
	for (uint32_t i = 0, seen = 0; i < count && seen < 4; i++) {
		if (frames[i].type != SP_FRAME_PYTHON)
			continue;
		seen++;
		sp_buf_clear(&name);
		sp_frame_name(d, &frames[i], &full, &name);
		decodes |= sp_area_is_pickle(sp_buf_str(&name));
		for (size_t k = 0; k < SP_COUNT(bridge); k++)
			for_jvm |= strstr(sp_buf_str(&name), bridge[k]) != NULL;
	}
	s->bridges = for_jvm;
	s->python_runs = decodes ? SP_DRIVER_WORK_PYTHON_DECODE : SP_DRIVER_WORK_PYTHON;
	s->python_waits = for_jvm || decodes ? SP_DRIVER_WORK_IDLE : SP_DRIVER_WORK_PYTHON_WAIT;
}

struct sp_driver_work_of {
	const struct sp_profile *p;
	struct stack_rules *stacks; /* by id */
	size_t stack_count;
	struct frame_rules *methods; /* by id */
	size_t method_count;
};

int sp_driver_work_new(struct sp_driver_work_of **ret, const struct sp_profile *p)
{
	struct sp_driver_work_of *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->p = p;
	w->stack_count = sp_dict_stacks(p->dict) + 1ul;
	w->method_count = sp_dict_methods(p->dict) + 1ul;
	w->stacks = calloc(w->stack_count, sizeof(*w->stacks));
	w->methods = calloc(w->method_count, sizeof(*w->methods));
	if (!w->stacks || !w->methods) {
		sp_driver_work_free(w);
		return -ENOMEM;
	}
	*ret = w;
	return 0;
}

void sp_driver_work_free(struct sp_driver_work_of *w)
{
	if (!w)
		return;
	free(w->stacks);
	free(w->methods);
	free(w);
}

static void look_at_stack(struct sp_driver_work_of *w, struct stack_rules *s, uint32_t stack)
{
	const struct sp_stack *st = sp_dict_get_stack(w->p->dict, stack);

	s->known = true;
	for (uint32_t i = 0; st && i < st->count; i++) {
		uint32_t m = st->frames[i].method < w->method_count ? st->frames[i].method : 0;

		if (!w->methods[m].known)
			w->methods[m] = rules_of(w->p->dict, m);
		add_frame(s, &w->methods[m]);
		s->python |= st->frames[i].type == SP_FRAME_PYTHON;
	}
	if (s->python)
		look_at_python(s, w->p->dict, st->frames, st->count);
}

/* Workers and their daemon work for tasks, also where these run in the driver. Threads of Python
 * beside its main one have a number behind a slash. */
static enum sp_driver_work of_python(
	const struct stack_rules *s, enum sp_python_thread kind, const char *thread, bool on)
{
	bool main = !strchr(thread, '/');

	if (kind == SP_PYTHON_THREAD_WORKER || kind == SP_PYTHON_THREAD_DAEMON)
		return SP_DRIVER_WORK_IDLE;
	if (!on)
		return main ? s->python_waits : SP_DRIVER_WORK_IDLE;
	return !main && s->bridges ? SP_DRIVER_WORK_OTHER : s->python_runs;
}

static enum sp_driver_work decide(
	const struct stack_rules *s, enum sp_python_thread kind, const char *thread, bool on)
{
	bool beside;
	enum sp_driver_work phase = phase_of(s), by_thread = of_thread(thread, &beside);

	if (s->python)
		return of_python(s, kind, thread, on);
	if (phase)
		return phase;
	if (s->wait == SP_DRIVER_WORK_IDLE || (!on && s->wait))
		return SP_DRIVER_WORK_IDLE;
	if (by_thread && (on || s->other == SP_DRIVER_WORK_QUERY))
		return by_thread;
	if (on)
		return s->other && s->other != SP_DRIVER_WORK_IDLE ? s->other
								   : SP_DRIVER_WORK_OTHER;
	return s->other == SP_DRIVER_WORK_QUERY || s->other == SP_DRIVER_WORK_APPLICATION
		       ? s->other
		       : SP_DRIVER_WORK_IDLE;
}

enum sp_driver_work sp_driver_work_of_row(struct sp_driver_work_of *w, const struct sp_sample *row)
{
	struct stack_rules *s = &w->stacks[row->stack < w->stack_count ? row->stack : 0];
	const struct sp_thread *t = sp_dict_get_thread(w->p->dict, row->thread);

	if (!s->known)
		look_at_stack(w, s, row->stack);
	return decide(s, sp_python_thread_of(w->p->dict, row->thread),
		t ? sp_dict_get_string(w->p->dict, t->name_id, NULL) : "",
		runs(sp_dict_get_string(w->p->dict, row->state, NULL)));
}

static void free_work(struct sp_driver_work_of **w)
{
	sp_driver_work_free(*w);
}

static bool is_idle(struct sp_driver_work_of *w, const struct sp_sample *s, uint32_t event)
{
	return s->event == event && !s->task && sp_driver_work_of_row(w, s) == SP_DRIVER_WORK_IDLE;
}

static bool has_work(struct sp_driver_work_of *w, const struct sp_profile *p, uint32_t event)
{
	for (size_t i = 0; i < p->row_count; i++)
		if (p->rows[i].event == event && !is_idle(w, &p->rows[i], event))
			return true;
	return false;
}

int sp_driver_work_leave_idle(struct sp_profile *p, const char *executor)
{
	__attribute__((cleanup(free_work))) struct sp_driver_work_of *w = NULL;
	int32_t event = sp_profile_wall(p);
	struct sp_event was;
	size_t n = p->row_count;
	int r;

	if (event < 0 || !executor || strcmp(executor, "driver") != 0)
		return 0;
	was = p->events[event];
	r = sp_driver_work_new(&w, p);
	if (r == 0 && !has_work(w, p, (uint32_t)event))
		return 0;
	if (r == 0)
		sp_profile_restart(p);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct sp_sample s = p->rows[i]; /* those read are behind us */

		if (!is_idle(w, &s, (uint32_t)event))
			r = sp_profile_add(p, &s);
	}
	if (r < 0)
		return r;
	p->outside += was.samples - p->events[event].samples;
	p->outside_weight =
		sp_saturate_add(p->outside_weight, was.weight - p->events[event].weight);
	return 0;
}
