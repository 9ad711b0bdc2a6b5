/* The rules of findings: see finding_rules.h. A line of the table at the end is a rule: what must
 * be the case, how much of it, the words, where to look next, and what to try.
 * tests/unit/findings.c has for each a profile in which it speaks and one, just below its bound, in
 * which it is silent. */
#include "out/finding_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/number.h"
#include "prof/model/tasks.h"
#include "prof/model/throttle.h"

static void free_spent(struct sp_time_class_of **s)
{
	sp_time_class_free(*s);
}

static uint64_t of_kind(
	const struct sp_facts *f, const struct sp_finding_rule *rule, const struct sp_stage_row *r)
{
	(void)f;
	return r->spent[rule->spent];
}

/* Spinning for a monitor is what it costs as well. */
static uint64_t of_locks(
	const struct sp_facts *f, const struct sp_finding_rule *rule, const struct sp_stage_row *r)
{
	(void)f;
	(void)rule;
	return r->spent[SP_TIME_CLASS_LOCK] + r->spent[SP_TIME_CLASS_SPIN];
}

static uint64_t of_python(
	const struct sp_facts *f, const struct sp_finding_rule *rule, const struct sp_stage_row *r)
{
	(void)f;
	(void)rule;
	return r->spent[SP_TIME_CLASS_WORKER] + r->spent[SP_TIME_CLASS_WORKER_SERIAL];
}

/* "; most of it in stage 8.0 (SQL 4: count at x.py:7), 44 % of that stage" */
static void say_where(struct sp_facts *f, struct sp_finding *x, const struct sp_stage_row *r,
	uint64_t amount, bool several)
{
	SP_AUTO_BUF struct sp_buf title = {0};

	x->stage = r->stage;
	x->attempt = r->attempt;
	sp_stage_table_title(f->p, r, &title);
	sp_buf_addf(&x->says, several ? "; most of it in stage %d.%d" : ", in stage %d.%d",
		r->stage, r->attempt);
	if (title.len)
		sp_buf_addf(&x->says, " (%s)", sp_buf_str(&title));
	if (several)
		sp_buf_addf(&x->says, ", %.0f %% of that stage", sp_percent(amount, r->weight));
}

void sp_finding_next(struct sp_finding *x, const struct sp_finding_rule *rule)
{
	if (!rule->next)
		return;
	sp_buf_adds(&x->next, rule->next);
	if (x->stage >= 0 && strncmp(rule->next, "report", 6) == 0)
		sp_buf_addf(&x->next, " --stage %d.%d", x->stage, x->attempt);
}

struct sp_finding *sp_finding_sum(
	struct sp_facts *f, const struct sp_finding_rule *rule, sp_finding_amount_fn *amount)
{
	const struct sp_stage_row *most = NULL;
	uint64_t sum = 0, best = 0;
	struct sp_finding *x;
	char n[SP_NUMBER_SIZE];
	bool several = false;

	for (size_t i = 0; i < f->stages.count; i++) {
		const struct sp_stage_row *r = &f->stages.rows[i];
		uint64_t a = amount(f, rule, r);

		if (!a || (double)a < rule->share * (double)r->weight)
			continue;
		several |= most != NULL;
		sum += a;
		if (a > best) {
			best = a;
			most = r;
		}
	}
	if (sum < SP_FINDING_NS || (double)sum < SP_FINDING_SHARE * (double)f->weight)
		return NULL;
	x = sp_finding_add(f, rule, sum);
	if (!x)
		return NULL;
	sp_buf_addf(&x->says, "%s for %s, %.0f %% of all task time", rule->words,
		sp_duration_format(sum, n, sizeof(n)), sp_percent(sum, f->weight));
	say_where(f, x, most, best, several);
	return x;
}

static void look_kind(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	struct sp_finding *x = f->stages.waiting ? sp_finding_sum(f, rule, of_kind) : NULL;

	if (x)
		sp_finding_next(x, rule);
}

/* The frame of a stack that a rule names; NULL: none. */
typedef const struct sp_frame_ref *pick_fn(struct sp_facts *f, const struct sp_stack *s);

/* Who waits: the nearest method to the leaf that does work of its own. */
static const struct sp_frame_ref *pick_owner(struct sp_facts *f, const struct sp_stack *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->frames[i].type < SP_FRAME_NATIVE &&
			sp_area_of_ref(f->areas, f->p->dict, &s->frames[i]) >= 0)
			return &s->frames[i];
	return NULL;
}

/* The user's function: what PySpark's own code calls. */
static const struct sp_frame_ref *pick_udf(struct sp_facts *f, const struct sp_stack *s)
{
	const struct sp_frame_ref *called = NULL;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct sp_method *m = sp_dict_get_method(f->p->dict, s->frames[i].method);
		const char *file = m ? sp_dict_get_string(f->p->dict, m->class_id, NULL) : "";

		if (s->frames[i].type != SP_FRAME_PYTHON)
			continue;
		if (strncmp(file, "pyspark/", 8) == 0)
			return called;
		called = &s->frames[i];
	}
	return NULL;
}

/* Weights of picked methods, and the line where each was found last. */
struct picks {
	uint64_t *weights; /* owned: by method */
	int32_t *lines;	   /* owned */
	uint64_t *line_weights;
	uint32_t best;
};

static void picks_done(struct picks *k)
{
	free(k->weights);
	free(k->lines);
	free(k->line_weights);
}

/* The line that leads stays: one that has more than all others together cannot be missed. */
static void add_pick(struct picks *k, const struct sp_frame_ref *frame, uint64_t weight)
{
	uint32_t m = frame->method;

	k->weights[m] += weight;
	if (k->lines[m] == frame->line) {
		k->line_weights[m] += weight;
	} else if (k->line_weights[m] > weight) {
		k->line_weights[m] -= weight;
	} else {
		k->lines[m] = frame->line;
		k->line_weights[m] = weight - k->line_weights[m];
	}
	if (!k->best || k->weights[m] > k->weights[k->best])
		k->best = m;
}

static bool kind_matches(enum sp_time_class spent, const struct sp_finding_rule *rule)
{
	return spent == rule->spent ||
	       (rule->spent == SP_TIME_CLASS_WORKER && spent == SP_TIME_CLASS_WORKER_SERIAL) ||
	       (rule->spent == SP_TIME_CLASS_LOCK && spent == SP_TIME_CLASS_SPIN);
}

static int pick_all(
	struct sp_facts *f, const struct sp_finding_rule *rule, pick_fn *pick, struct picks *k)
{
	__attribute__((cleanup(free_spent))) struct sp_time_class_of *spent = NULL;
	size_t n = sp_dict_methods(f->p->dict) + 1ul;

	k->weights = calloc(n, sizeof(*k->weights));
	k->lines = calloc(n, sizeof(*k->lines));
	k->line_weights = calloc(n, sizeof(*k->line_weights));
	if (!k->weights || !k->lines || !k->line_weights || sp_time_class_new(&spent, f->p) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < f->p->row_count; i++) {
		const struct sp_sample *row = &f->p->rows[i];
		const struct sp_task_run *t = sp_profile_task(f->p, row);
		const struct sp_frame_ref *frame;
		const struct sp_stack *s;

		if (row->event != f->event || !t || t->name.stage < 0 ||
			!kind_matches(sp_time_class_of_row(spent, row), rule))
			continue;
		s = sp_dict_get_stack(f->p->dict, row->stack);
		frame = s ? pick(f, s) : NULL;
		if (frame && frame->method)
			add_pick(k, frame, row->weight);
	}
	return 0;
}

/* ". com.acme.Cache.get has 80 % of it, most of that at line 12"; nothing where no method has half,
 * or where it is the one that was @said. Returns the method, 0: none. */
static uint32_t say_frame(struct sp_facts *f, const struct sp_finding_rule *rule, pick_fn *pick,
	const char *before, uint32_t said, struct sp_finding *x)
{
	static const struct sp_style style = {.dotted = true, .stable = true};
	__attribute__((cleanup(picks_done))) struct picks k = {0};
	struct sp_frame_ref frame;

	if (pick_all(f, rule, pick, &k) < 0) {
		f->error = -ENOMEM;
		return 0;
	}
	if (!k.best || k.best == said || k.weights[k.best] * 2 < x->time_ns)
		return 0;
	frame = (struct sp_frame_ref){k.best, k.lines[k.best], -1,
		sp_dict_get_method(f->p->dict, k.best)->native ? SP_FRAME_PYTHON : SP_FRAME_C2};
	sp_buf_adds(&x->says, before);
	sp_frame_name(f->p->dict, &frame, &style, &x->says);
	sp_buf_addf(&x->says, " has %.0f %% of it", sp_percent(k.weights[k.best], x->time_ns));
	/* votes for the line are 20 % ahead: it has 60 % or more */
	if (frame.line > 0 && k.line_weights[k.best] * 5 >= k.weights[k.best])
		sp_buf_addf(&x->says, ", most of that at line %d", frame.line);
	return k.best;
}

static void look_lock(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	struct sp_finding *x = f->stages.waiting ? sp_finding_sum(f, rule, of_locks) : NULL;

	if (!x)
		return;
	say_frame(f, rule, pick_owner, ". ", 0, x);
	sp_finding_next(x, rule);
}

/* Where a worker is: the function itself, or one that it calls. */
static const struct sp_frame_ref *pick_python_leaf(struct sp_facts *f, const struct sp_stack *s)
{
	if (!pick_udf(f, s))
		return NULL;
	for (uint32_t i = 0; i < s->count; i++)
		if (s->frames[i].type == SP_FRAME_PYTHON)
			return &s->frames[i];
	return NULL;
}

static void look_python(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	struct sp_finding *x =
		sp_finding_sum(f, rule, rule->spent == SP_TIME_CLASS_WORKER ? of_python : of_kind);
	uint32_t function;

	if (!x)
		return;
	function = say_frame(f, rule, pick_udf, ". The function ", 0, x);
	if (function)
		say_frame(f, rule, pick_python_leaf, ". In there ", function, x);
	sp_finding_next(x, rule);
}

#define TINY_TASKS 200
#define TINY_NS	   50000000ull

static void look_tiny(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	for (size_t i = 0; i < f->stages.count; i++) {
		const struct sp_stage_row *r = &f->stages.rows[i];
		char n[SP_NUMBER_SIZE], median[SP_NUMBER_SIZE];
		struct sp_finding *x;

		if (r->length_count < TINY_TASKS || r->median_ns >= TINY_NS ||
			(double)r->run_ns < SP_FINDING_SHARE * (double)f->weight ||
			r->run_ns < SP_FINDING_NS)
			continue;
		x = sp_finding_add(f, rule, r->run_ns);
		if (!x)
			continue;
		sp_buf_addf(&x->says, "%s tasks of a median of %s each", sp_number(r->tasks, n),
			sp_duration_format(r->median_ns, median, sizeof(median)));
		say_where(f, x, r, 0, false);
		sp_buf_adds(&x->says, ": starting and ending a task costs several of its own");
	}
}

/* How often the container's CPU limit was used up. */
static void look_throttled(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	struct sp_throttle t;
	struct sp_finding *x;
	char n[SP_NUMBER_SIZE];

	if (!sp_throttle_of(f->p, &t) || t.ns < SP_FINDING_NS ||
		(double)t.throttled < rule->share * (double)t.periods)
		return;
	x = sp_finding_add(f, rule, t.ns);
	if (x)
		sp_buf_addf(&x->says,
			"The container's CPU limit was used up in %.0f %% of its periods: its "
			"threads had no core for %s, of all CPUs together",
			sp_percent(t.throttled, t.periods), sp_duration_format(t.ns, n, sizeof(n)));
}

/* The most that the container used, and what Python's workers had then. */
static void look_memory(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	const struct sp_series *used = &f->p->series[SP_SERIES_MEM_USED];
	const struct sp_series *limit = &f->p->series[SP_SERIES_MEM_LIMIT];
	const struct sp_series *python = &f->p->series[SP_SERIES_PY_PSS];
	char n[SP_NUMBER_SIZE], of[SP_NUMBER_SIZE], py[SP_NUMBER_SIZE];
	uint64_t most = 0, workers = 0;
	struct sp_finding *x;

	for (size_t i = 0; i < used->count; i++)
		most = used->points[i].value > most ? used->points[i].value : most;
	for (size_t i = 0; i < python->count; i++)
		workers = python->points[i].value > workers ? python->points[i].value : workers;
	if (!limit->count || !workers ||
		(double)most < rule->share * (double)limit->points[limit->count - 1].value)
		return;
	x = sp_finding_add(f, rule, f->p->duration_ns);
	if (!x)
		return;
	sp_buf_addf(&x->says,
		"The container's memory was nearly full: %s of %s, of which Python workers had up "
		"to %s",
		sp_size_format(most, n, sizeof(n)),
		sp_size_format(limit->points[limit->count - 1].value, of, sizeof(of)),
		sp_size_format(workers, py, sizeof(py)));
}

const struct sp_finding_rule sp_finding_rules[] = {
	{"straggler", .look = sp_finding_straggler,
		.advice = "compare it with the median task in the page (a click on its number); "
			  "where keys are skewed, salt them or let AQE split the partition "
			  "(spark.sql.adaptive.skewJoin.enabled)"},
	{"no-core", SP_TIME_CLASS_CORE, 0.25, look_kind,
		"Tasks are ready to run and wait for a CPU core", "report --by wait",
		"more task threads than cores: fewer spark.executor.cores, more CPU for the "
		"container, or fewer neighbours on the node",
		"more CPU for the container, or fewer neighbours on the node: one task at a time "
		"runs here, and it does not get a whole core"},
	{"throttled", .share = 0.10, .look = look_throttled,
		.advice = "raise the container's CPU limit, or lower spark.executor.cores to it",
		.single = "raise the container's CPU limit: one task at a time runs here, and "
			  "helper threads and Python workers need CPU as well"},
	{"gc", SP_TIME_CLASS_GC, 0.10, look_kind, "Garbage collection stops tasks", "-e alloc",
		"see who allocates; more memory for each task (spark.executor.memory, or fewer "
		"spark.executor.cores) makes collections rarer",
		"see who allocates; more spark.executor.memory makes collections rarer"},
	{"shuffle-read", SP_TIME_CLASS_SHUFFLE_READ, 0.20, look_kind,
		"Tasks wait for shuffle blocks of other executors", "report --by wait",
		"move fewer bytes: drop columns that nobody reads, aggregate before the exchange; "
		"look at the network and at the executors that serve the blocks"},
	{"shuffle-write", SP_TIME_CLASS_SHUFFLE_WRITE, 0.30, look_kind, "Tasks write shuffle files",
		"report --by wait", "write fewer bytes, or to a faster disk (spark.local.dir)"},
	{"storage", SP_TIME_CLASS_STORAGE, 0.20, look_kind,
		"Tasks wait for HDFS or an object store", "report --by wait",
		"read fewer and larger files, fewer columns; look at the store's own latency"},
	{"disk", SP_TIME_CLASS_DISK, 0.20, look_kind, "Tasks wait for the local disk",
		"report --by wait", "look at what else uses that disk; spills need more memory"},
	{"lock", SP_TIME_CLASS_LOCK, 0.15, look_lock, "Tasks wait for locks", "-e lock",
		"record with -e lock to see the lock's class and the thread that holds it"},
	{"codegen", SP_TIME_CLASS_COMPILE, 0.15, look_kind,
		"Tasks wait for generated code to compile", "report --by wait",
		"fewer different plans: cache the compiled query, or turn off "
		"spark.sql.codegen.wholeStage for tiny ones"},
	{"launch", SP_TIME_CLASS_LAUNCH, 0.30, look_kind,
		"Tasks are launched, and their results sent, rather than run,", "report --by wait",
		"fewer, larger tasks; fewer jobs in a loop; less in what each task carries "
		"(closures, broadcasts) and returns"},
	{"python", SP_TIME_CLASS_WORKER, 0.30, look_python, "Python workers compute", "report",
		"a built-in function of Spark SQL, or a pandas UDF that works on whole columns, is "
		"usually several times faster"},
	{"python-blocked", SP_TIME_CLASS_WORKER_WAIT, 0.30, look_python,
		"Python workers wait for something other than the JVM", "report",
		"a call that sleeps, or waits for a service or a file, once for each row: ask for "
		"many "
		"rows at once, or keep answers"},
	{"spill", .area = "spill", .share = 0.10, .look = sp_finding_area,
		.words = "Tasks spill: they write data to the disk that does not fit into their "
			 "memory, and read it back,",
		.next = "report",
		.advice = "more partitions (spark.sql.shuffle.partitions), so that each is "
			  "smaller; more spark.executor.memory, or fewer spark.executor.cores",
		.single = "more partitions (spark.sql.shuffle.partitions), so that each is "
			  "smaller; more spark.executor.memory"},
	{"opens-files", .share = 0.30, .look = sp_finding_opens,
		.words = "Tasks open files (find them, read their footers, set up readers) rather "
			 "than read rows,",
		.next = "report",
		.advice = "fewer, larger files: compact them, or repartition before they are "
			  "written; a partition column with fewer values"},
	{"regex", .area = "regular expressions", .share = 0.25, .look = sp_finding_area,
		.words = "Queries match regular expressions", .next = "report",
		.advice = "filter rows before; like, split_part, substring_index or contains where "
			  "they do; no repetition within a repetition, such as (a+)+"},
	{"parse", .area = "JSON/CSV/XML", .share = 0.30, .look = sp_finding_area,
		.words = "Tasks parse JSON, CSV or XML", .next = "report",
		.advice = "parse once and keep the result as Parquet; a schema with only the "
			  "fields that are read; one from_json instead of several "
			  "get_json_object"},
	{"state-store", .area = "state store", .share = 0.30, .look = sp_finding_area,
		.words = "Tasks work in the state store of a streaming query", .next = "report",
		.advice = "less state: a watermark, a shorter window, fewer keys; RocksDB with "
			  "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled; "
			  "larger batches"},
	{"ml", .area = "ML/BLAS", .share = 0.50, .look = sp_finding_area,
		.words = "Spark's machine learning computes", .next = "report",
		.advice = "that is the algorithm itself: fewer iterations, a lower rank or k; a "
			  "native BLAS on the executors (netlib), or --add-modules "
			  "jdk.incubator.vector"},
	{"commit", .area = "file listing and commit", .share = 0.20, .look = sp_finding_area,
		.words = "Tasks list and commit files", .next = "report",
		.advice = "fewer files to write; on an object store a committer that does not "
			  "rename"},
	{"processes", .area = "child processes", .share = 0.20, .look = sp_finding_area,
		.words = "Tasks start other programs and wait for them", .next = "report",
		.advice = "start one for many rows; where Hadoop's Shell does it, give the "
			  "executors Hadoop's native library"},
	{"tiny-tasks", .look = look_tiny,
		.advice = "fewer, larger partitions: spark.sql.files.maxPartitionBytes, coalesce, "
			  "spark.sql.adaptive.coalescePartitions"},
	{"python-memory", .share = 0.90, .look = look_memory,
		.advice =
			"raise spark.executor.memoryOverhead or set spark.executor.pyspark.memory; "
			"smaller Arrow batches (spark.sql.execution.arrow.maxRecordsPerBatch)"},
};

const size_t sp_finding_rule_count = SP_COUNT(sp_finding_rules);
