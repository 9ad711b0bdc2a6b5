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

uint64_t sp_finding_of_kind(
	const struct sp_facts *f, const struct sp_finding_rule *rule, const struct sp_stage_row *r)
{
	(void)f;
	return r->spent[rule->spent];
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
	if (several && amount)
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
	struct sp_finding *x =
		f->stages.waiting ? sp_finding_sum(f, rule, sp_finding_of_kind) : NULL;

	if (x)
		sp_finding_next(x, rule);
}

/* Of what the machine's CPUs did, the share of other processes than the JVM and its Python workers:
 * 0 to 1; -1: not known, or of several machines. All are measured once a second. */
static double others_share(const struct sp_profile *p)
{
	const struct sp_series *machine = &p->series[SP_SERIES_CPU_MACHINE];
	const struct sp_series *jvm = &p->series[SP_SERIES_CPU_JVM];
	const struct sp_series *python = &p->series[SP_SERIES_PY_CPU];
	const struct sp_series *cores = &p->series[SP_SERIES_CORES];
	double all = 0, own = 0;

	if (p->several || !cores->count || !cores->points[0].value)
		return -1;
	for (size_t i = 0; i < machine->count; i++)
		all += (double)machine->points[i].value;
	for (size_t i = 0; i < jvm->count; i++)
		own += (double)jvm->points[i].value;
	for (size_t i = 0; i < python->count; i++)
		own += (double)python->points[i].value / (double)cores->points[0].value;
	if (all <= 0)
		return -1;
	return own < all ? 1 - own / all : 0;
}

/* Who has the cores that tasks wait for. */
static void look_core(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	struct sp_finding *x =
		f->stages.waiting ? sp_finding_sum(f, rule, sp_finding_of_kind) : NULL;
	double others;

	if (!x)
		return;
	sp_finding_next(x, rule);
	others = others_share(f->p);
	if (others < 0)
		return;
	sp_buf_addf(&x->says,
		". Of what the machine's CPUs did meanwhile, %.0f %% was for other processes",
		others * 100);
	if (others > 0.5)
		x->advice = "the tasks are not to blame: fewer neighbours on the node, or CPU that "
			    "is this container's alone (requests, cgroup shares)";
}

#define TINY_TASKS 200
#define TINY_NS	   50000000ull

/* A task that gets no core is not larger for it: what it waits for one is left out. */
static bool is_tiny(const struct sp_stage_row *r)
{
	double core = sp_percent(r->spent[SP_TIME_CLASS_CORE], r->weight) / 100;

	return (double)r->median_ns * (1 - core) < (double)TINY_NS;
}

/* Stages of many such tasks together: a job that is run again and again has them each time. */
static void look_tiny(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	const struct sp_stage_row *most = NULL;
	uint64_t run_ns = 0, core = 0, weight = 0;
	char n[SP_NUMBER_SIZE], median[SP_NUMBER_SIZE];
	uint32_t tasks = 0, stages = 0;
	struct sp_finding *x;

	for (size_t i = 0; i < f->stages.count; i++) {
		const struct sp_stage_row *r = &f->stages.rows[i];

		if (r->length_count < TINY_TASKS || !is_tiny(r))
			continue;
		most = !most || r->run_ns > most->run_ns ? r : most;
		run_ns += r->run_ns;
		core += r->spent[SP_TIME_CLASS_CORE];
		weight += r->weight;
		tasks += r->tasks;
		stages++;
	}
	if (run_ns < SP_FINDING_NS || (double)run_ns < SP_FINDING_SHARE * (double)f->weight)
		return;
	x = sp_finding_add(f, rule, run_ns);
	if (!x)
		return;
	sp_buf_addf(&x->says, "%s tasks", sp_number(tasks, n));
	if (stages > 1)
		sp_buf_addf(&x->says, " in %u stages", stages);
	sp_buf_addf(&x->says, ", of a median of %s each",
		sp_duration_format(most->median_ns, median, sizeof(median)));
	say_where(f, x, most, 0, stages > 1);
	sp_buf_adds(&x->says, ": to start and end one costs milliseconds as well");
	if (core * 10 >= weight)
		sp_buf_addf(&x->says, "; for %.0f %% of their time they had no core",
			sp_percent(core, weight));
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
	/* what other processes and the page cache fill is not theirs */
	if (!limit->count || workers * 10 < limit->points[limit->count - 1].value ||
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
	{"executor", .look = sp_finding_executor,
		.advice = "compare it with the others in the page (a click on this sentence); "
			  "look at its host: what else runs there, its CPUs, memory and disk; "
			  "spark.speculation runs tasks that are slow once more, elsewhere"},
	{"no-core", SP_TIME_CLASS_CORE, 0.25, look_core,
		"Tasks are ready to run and wait for a CPU core", "report --by wait",
		"more task threads than cores: fewer spark.executor.cores, more CPU for the "
		"container, or fewer neighbours on the node",
		"more CPU for the container, or fewer neighbours on the node: one task at a time "
		"runs here, and it does not get a whole core",
		"more CPU for the container, fewer neighbours on the machine, or, where several "
		"tasks run at a time, a smaller N in local[N]"},
	{"throttled", .share = 0.10, .look = look_throttled,
		.advice = "raise the container's CPU limit, or lower spark.executor.cores to it",
		.single = "raise the container's CPU limit: one task at a time runs here, and "
			  "helper threads and Python workers need CPU as well",
		.local = "raise the container's CPU limit, or lower N in local[N] to less than it: "
			 "helper threads and Python workers need CPU as well"},
	{"gc", SP_TIME_CLASS_GC, 0.10, look_kind, "Garbage collection stops tasks", "-e alloc",
		"see who allocates; more memory for each task (spark.executor.memory, or fewer "
		"spark.executor.cores) makes collections rarer",
		"see who allocates; more spark.executor.memory makes collections rarer",
		"see who allocates; more memory makes collections rarer: spark.driver.memory, for "
		"the tasks run in the driver here"},
	{"shuffle-read", SP_TIME_CLASS_SHUFFLE_READ, 0.20, look_kind,
		"Tasks wait for shuffle blocks of other executors", "report --by wait",
		"move fewer bytes: drop columns that nobody reads, aggregate before the exchange; "
		"look at the network and at the executors that serve the blocks"},
	{"shuffle-write", SP_TIME_CLASS_SHUFFLE_WRITE, 0.30, look_kind, "Tasks write shuffle files",
		"report --by wait", "write fewer bytes, or to a faster disk (spark.local.dir)"},
	{"driver-wait", .share = 0.20, .look = sp_finding_driver,
		.words = "Tasks wait for the driver", .next = "-e wall -d 30 driver",
		.advice = "smaller closures and broadcasts, fewer partitions; record the driver: "
			  "its phases and threads say what keeps it from answering"},
	{"storage", SP_TIME_CLASS_STORAGE, 0.20, look_kind,
		"Tasks wait for HDFS or an object store", "report --by wait",
		"read fewer and larger files, fewer columns; look at the store's own latency"},
	{"disk", SP_TIME_CLASS_DISK, 0.20, look_kind, "Tasks wait for the local disk",
		"report --by wait", "look at what else uses that disk; spills need more memory"},
	{"lock", SP_TIME_CLASS_LOCK, 0.15, sp_finding_lock, "Tasks wait for locks", "-e lock",
		"record with -e lock to see the lock's class and the thread that holds it"},
	{"class-init", SP_TIME_CLASS_INIT, 0.15, sp_finding_lock,
		"Tasks wait until another thread has initialised a class", "report",
		"its static initialiser (<clinit> below the thread that runs it) is slow: let it "
		"do less, or later, where a value is needed"},
	{"codegen", SP_TIME_CLASS_COMPILE, 0.15, look_kind,
		"Tasks wait for generated code to compile", "report --by wait",
		"fewer different plans: cache the compiled query, or turn off "
		"spark.sql.codegen.wholeStage for tiny ones"},
	{"launch", SP_TIME_CLASS_LAUNCH, 0.30, look_kind,
		"Tasks are launched, and their results sent, rather than run,", "report --by wait",
		"fewer, larger tasks; fewer jobs in a loop; less in what each task carries "
		"(closures, broadcasts) and returns"},
	{"python", SP_TIME_CLASS_WORKER, 0.30, sp_finding_python, "Python workers are busy",
		"report --lines",
		"a built-in function of Spark SQL, or a pandas UDF that works on whole columns, is "
		"usually several times faster"},
	{"python-blocked", SP_TIME_CLASS_WORKER_WAIT, 0.30, sp_finding_python,
		"Python workers wait for something other than the JVM", "report",
		"a call that sleeps, or waits for a service or a file, once for each row: ask for "
		"many "
		"rows at once, or keep answers"},
	{"udf", SP_TIME_CLASS_CPU, 0.30, sp_finding_called,
		"Functions in Java or Scala that queries call for each row are busy",
		"report --lines",
		"a built-in function of Spark SQL runs as generated code; else make the function "
		"itself faster: --lines shows where in it"},
	{"blocked", SP_TIME_CLASS_NETWORK, 0.20, sp_finding_blocked,
		"Your code, or a library of yours, sleeps, or waits for the network or another "
		"program,",
		"report --lines",
		"a call that waits, once for each row: ask for many rows at once, keep answers, or "
		"ask for several at a time; more partitions and spark.executor.cores than CPUs "
		"help as well, for a task that waits needs no core",
		.local = "a call that waits, once for each row: ask for many rows at once, keep "
			 "answers, or ask for several at a time; more partitions, and a larger N "
			 "in local[N] than there are CPUs, help as well, for a task that waits "
			 "needs no core"},
	{"pipe", .share = 0.20, .look = sp_finding_pipe,
		.words = "Tasks wait for the program that their rows go through (pipe, TRANSFORM)",
		.next = "report",
		.advice = "make that program faster (it is not sampled here, and buffers of its "
			  "output delay rows); each task runs one of it: more partitions run more "
			  "at a time where CPUs are idle"},
	{"spill", .area = "spill", .share = 0.10, .look = sp_finding_area,
		.words = "Tasks spill: they write data to the disk that does not fit into their "
			 "memory, and read it back,",
		.next = "report",
		.advice = "more partitions (spark.sql.shuffle.partitions), so that each is "
			  "smaller; more spark.executor.memory, or fewer spark.executor.cores",
		.single = "more partitions (spark.sql.shuffle.partitions), so that each is "
			  "smaller; more spark.executor.memory",
		.local = "more partitions (spark.sql.shuffle.partitions), so that each is smaller; "
			 "more spark.driver.memory, for the tasks run in the driver here"},
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
	{"driver-gap", .share = 0.20, .look = sp_finding_gap, .next = "-e wall -d 30 driver",
		.advice = "record the driver: its phases say what it does between jobs (planning, "
			  "listing files, results, its own Python)",
		.taskless = true},
	{"listing", .share = 0.20, .look = sp_finding_listing,
		.advice = "fewer directories and files; read the directories that are needed by "
			  "their paths (with basePath); a table whose catalog has its partitions, "
			  "rather than a path",
		.taskless = true},
	{"retries", .share = 0.05, .look = sp_finding_retries,
		.words = "Tasks run once more (an earlier attempt of theirs or of their stage "
			 "failed, or they are speculative copies)",
		.next = "report",
		.advice = "see in the driver's log or its UI why earlier attempts failed: what "
			  "they did is lost, and the later they fail the more it is"},
	{"tiny-tasks", .look = look_tiny,
		.advice = "fewer, larger partitions: spark.sql.files.maxPartitionBytes, coalesce, "
			  "spark.sql.adaptive.coalescePartitions"},
	{"python-memory", .share = 0.90, .look = look_memory,
		.advice =
			"raise spark.executor.memoryOverhead or set spark.executor.pyspark.memory; "
			"smaller Arrow batches (spark.sql.execution.arrow.maxRecordsPerBatch)",
		.local = "raise the container's memory, or lower N in local[N]; smaller Arrow "
			 "batches (spark.sql.execution.arrow.maxRecordsPerBatch)"},
};

const size_t sp_finding_rule_count = SP_COUNT(sp_finding_rules);
