/* Findings: each rule speaks where its condition holds and is silent just below its bound, and a
 * healthy job has none. Profiles are built sample by sample, so that their truth is known. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/out.h"
#include "finding_profile.h"

Test(findings, a_healthy_job_has_none)
{
	struct sp_profile *p = healthy();
	struct sp_findings f;

	cr_assert_eq(sp_findings_init(&f, p, NULL), 0);
	cr_expect_eq(f.count, 0, "%s", f.count ? sp_buf_str(&f.list[0].says) : "");
	sp_findings_done(&f);
	sp_profile_free(p);
}

/* A wait that has @share of 20 s in one of two stages. */
static void check_wait(const char *rule, const char *cls, const char *name, const char *state,
	double share, bool expected)
{
	struct sp_profile *p = healthy();
	uint32_t t = add_task(p, 50, 4, 20 * S);
	char says[512];

	add_time(p, t, stack_of(p, cls, name), state, (uint64_t)(share * 20) * S);
	add_time(p, t, stack_of(p, "com/acme/Job", "work"), "running",
		(uint64_t)((1 - share) * 20) * S);
	cr_expect_eq(
		finds(p, rule, says, sizeof(says)), expected, "%s at %.2f: %s", rule, share, says);
	cr_expect(!expected || strstr(says, "stage 4.0"), "%s", says);
	sp_profile_free(p);
}

Test(findings, a_wait_is_named_from_its_bound_on)
{
	static const char fetch[] = "org/apache/spark/storage/ShuffleBlockFetcherIterator";
	static const char hdfs[] = "org/apache/hadoop/hdfs/DFSInputStream";
	static const char stream[] = "org/apache/spark/storage/TimeTrackingOutputStream";

	check_wait("gc", "com/acme/Job", "collected", "lock", 0.15, true);
	check_wait("gc", "com/acme/Job", "collected", "lock", 0.05, false);
	check_wait("shuffle-read", fetch, "next", "lock", 0.25, true);
	check_wait("shuffle-read", fetch, "next", "lock", 0.15, false);
	check_wait("storage", hdfs, "read", "net", 0.25, true);
	check_wait("storage", hdfs, "read", "net", 0.15, false);
	check_wait("disk", "com/acme/Job", "read", "disk", 0.25, true);
	check_wait("disk", "com/acme/Job", "read", "disk", 0.15, false);
	check_wait("lock", "com/acme/Cache", "get", "lock", 0.20, true);
	check_wait("lock", "com/acme/Cache", "get", "lock", 0.10, false);
	check_wait("no-core", "com/acme/Job", "work", "runnable", 0.30, true);
	check_wait("no-core", "com/acme/Job", "work", "runnable", 0.20, false);
	check_wait("shuffle-write", stream, "write", "disk", 0.35, true);
	check_wait("shuffle-write", stream, "write", "disk", 0.25, false);
	check_wait("codegen", "org/codehaus/janino/UnitCompiler", "compile", "running", 0.20, true);
	check_wait(
		"codegen", "org/codehaus/janino/UnitCompiler", "compile", "running", 0.10, false);
	check_wait("launch", "org/apache/spark/executor/Executor$TaskRunner", "run", "running",
		0.35, true);
	check_wait("launch", "org/apache/spark/executor/Executor$TaskRunner", "run", "running",
		0.25, false);
}

/* Whatever a task does when it gets no core: that is the reason. */
Test(findings, without_a_core_neither_launch_nor_compilation_is_slow)
{
	static const char *const slow[][3] = {
		{"launch", "org/apache/spark/executor/Executor$TaskRunner", "run"},
		{"codegen", "org/codehaus/janino/UnitCompiler", "compile"},
	};

	for (size_t i = 0; i < SP_COUNT(slow); i++) {
		check_wait("no-core", slow[i][1], slow[i][2], "runnable", 0.60, true);
		check_wait(slow[i][0], slow[i][1], slow[i][2], "runnable", 0.60, false);
	}
}

Test(findings, an_area_of_work_is_named_from_its_bound_on)
{
	static const struct {
		const char *rule, *cls, *name;
		double above, below;
	} cases[] = {
		{"spill", "org/apache/spark/util/collection/unsafe/sort/UnsafeSorterSpillWriter",
			"write", 0.15, 0.05},
		{"opens-files", "org/apache/spark/sql/execution/datasources/FileScanRDD$$anon$1",
			"org$apache$spark$sql$execution$datasources$FileScanRDD$$anon$$"
			"readCurrentFile",
			0.35, 0.25},
		{"regex", "org/apache/spark/sql/catalyst/expressions/RegExpExtract", "extract",
			0.30, 0.20},
		{"parse", "org/apache/spark/sql/catalyst/json/JacksonParser", "parse", 0.35, 0.25},
		{"state-store", "org/rocksdb/RocksDB", "get", 0.35, 0.25},
		{"ml", "org/apache/spark/ml/linalg/BLAS", "dspr", 0.55, 0.45},
		{"commit", "org/apache/hadoop/mapreduce/lib/output/FileOutputCommitter",
			"commitTask", 0.25, 0.15},
		{"processes", "java/lang/ProcessImpl", "forkAndExec", 0.25, 0.15},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		check_wait(cases[i].rule, cases[i].cls, cases[i].name, "running", cases[i].above,
			true);
		check_wait(cases[i].rule, cases[i].cls, cases[i].name, "running", cases[i].below,
			false);
		check_wait(cases[i].rule, cases[i].cls, cases[i].name, "runnable", cases[i].above,
			true);
	}
	/* reading is not opening */
	check_wait("opens-files", "org/apache/spark/sql/execution/datasources/FileScanRDD$$anon$1",
		"hasNext", "running", 0.90, false);
}

/* As a JVM opens its first file. */
Test(findings, loading_the_classes_of_a_reader_is_not_opening_files)
{
	for (int cold = 0; cold < 2; cold++) {
		struct sp_profile *p = healthy();
		struct sp_frame_ref f[] = {
			java(p, "java/lang/ClassLoader", "loadClass", "()V", SP_FRAME_C1),
			java(p, "org/apache/spark/sql/execution/datasources/FileScanRDD$$anon$1",
				"readCurrentFile", "()V", SP_FRAME_C1)};
		char says[512];

		for (uint32_t t = 1; t <= 12; t++)
			add_time(p, t, sp_dict_stack(p->dict, f + !cold, cold ? 2 : 1, 0),
				"running", 3 * S);
		cr_expect_eq(finds(p, "opens-files", says, sizeof(says)), !cold, "%s", says);
		sp_profile_free(p);
	}
}

/* Two tasks of one executor, of which the first ends at @first_end and the second begins at 11 s.
 */
static void check_advice(uint64_t first_end, bool fewer_cores)
{
	struct sp_profile *p = wall_profile();
	struct sp_findings f;

	for (unsigned i = 0; i < 2; i++) {
		struct sp_task_run t = {.name = {i, 3, 0, 0, 0},
			.start_ns = (1 + 10ull * i) * S,
			.end_ns = i ? 30 * S : first_end,
			.begun = true,
			.ended = true};

		cr_assert_eq(sp_profile_add_task(p, &t), 0);
		add_time(p, i + 1, stack_of(p, "com/acme/Job", "work"), "runnable", 5 * S);
	}
	cr_assert_eq(sp_findings_init(&f, p, NULL), 0);
	cr_assert_eq(f.count, 1);
	cr_expect_eq(strstr(f.list[0].advice, "fewer spark.executor.cores") != NULL, fewer_cores,
		"%s", f.list[0].advice);
	sp_findings_done(&f);
	sp_profile_free(p);
}

Test(findings, fewer_cores_are_no_advice_for_one_task_at_a_time)
{
	check_advice(15 * S, true);
	check_advice(11 * S, false);
}

/* Eleven tasks of @other and one of @slow in a stage. */
static struct sp_profile *skewed(
	uint64_t other, uint64_t slow, const char *method, const char *state)
{
	struct sp_profile *p = wall_profile();

	for (int i = 0; i < 12; i++) {
		uint64_t took = i == 9 ? slow : other;
		uint32_t t = add_task(p, 70 + i, 8, took);

		add_time(p, t, stack_of(p, "com/acme/Job", i == 9 ? method : "work"),
			i == 9 ? state : "running", took);
	}
	return p;
}

Test(findings, a_straggler_is_named_with_what_it_does_differently)
{
	struct sp_profile *p = skewed(2 * S, 30 * S, "collected", "lock");
	char says[512];

	cr_assert(finds(p, "straggler", says, sizeof(says)));
	cr_expect(strstr(says, "Stage 8.0 waits for one task: TID 79 took 30"), "%s", says);
	cr_expect(strstr(says, "100 % of its time is GC, of the other tasks' 0 %"), "%s", says);
	sp_profile_free(p);
	p = skewed(2 * S, 30 * S, "work", "running");
	cr_assert(finds(p, "straggler", says, sizeof(says)));
	cr_expect(strstr(says, "15.0 times the median of 12 that finished"), "%s", says);
	cr_expect(strstr(says, "It spends its time on the same kinds of work as the others, and "
			       "computes 15 times as long as they do on average: it may have "
			       "more data"),
		"%s", says);
	sp_profile_free(p);
	/* two of the keys are hot; the first task of a cold JVM is long over */
	for (int cold = 0; cold < 2; cold++) {
		struct sp_task_run t = {.name = {90, 8, 0, 12, 0},
			.start_ns = cold ? 0 : 9 * S,
			.end_ns = cold ? 20 * S : 29 * S,
			.begun = true,
			.ended = true};

		p = skewed(2 * S, 30 * S, "work", "running");
		cr_assert_eq(sp_profile_add_task(p, &t), 0);
		cr_assert(finds(p, "straggler", says, sizeof(says)));
		cr_expect(strstr(says,
				  cold ? "waits for one task: TID 79 took 30"
				       : "waits for 2 of its tasks. The longest: TID 79 took 30"),
			"%s", says);
		sp_profile_free(p);
	}
	/* no core: that is not data */
	p = skewed(2 * S, 30 * S, "work", "runnable");
	cr_assert(finds(p, "straggler", says, sizeof(says)));
	cr_expect(strstr(says, ". 100 % of its time it waits for a core, of the other tasks' 0 %"),
		"%s", says);
	cr_expect(!strstr(says, "more data"), "%s", says);
	sp_profile_free(p);
	p = skewed(2 * S, 3 * S, "work", "running");
	cr_expect(!finds(p, "straggler", says, sizeof(says)), "%s", says);
	sp_profile_free(p);
}

/* @waits: of each, without a core. */
static struct sp_profile *many(int tasks, uint64_t each, uint64_t waits)
{
	struct sp_profile *p = wall_profile();

	for (int i = 0; i < tasks; i++) {
		uint32_t t = add_task(p, i, 2, each);

		add_time(p, t, stack_of(p, "com/acme/Job", "work"), "running", each - waits);
		if (waits)
			add_time(p, t, stack_of(p, "com/acme/Job", "work"), "runnable", waits);
	}
	return p;
}

Test(findings, tiny_tasks_are_many_and_short)
{
	static const struct {
		int tasks;
		uint64_t each, waits;
		bool expected;
	} cases[] = {{300, 20000000, 0, true}, {300, 60000000, 0, false}, {150, 20000000, 0, false},
		{300, 200000000, 160000000, true}, {300, 200000000, 140000000, false}};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_profile *p = many(cases[i].tasks, cases[i].each, cases[i].waits);
		char says[512];

		cr_expect_eq(
			finds(p, "tiny-tasks", says, sizeof(says)), cases[i].expected, "%zu", i);
		if (cases[i].expected)
			cr_expect_eq(!strstr(says, "; for 80 % of their time they had no core"),
				!cases[i].waits, "%s", says);
		sp_profile_free(p);
	}
}

/* A job that runs three times: one sentence, not three. */
Test(findings, stages_of_tiny_tasks_are_told_together)
{
	struct sp_profile *p = many(300, 20000000, 0);
	char says[512];

	for (int i = 0; i < 600; i++) {
		uint32_t t = add_task(p, 300 + i, i < 300 ? 4 : 6, 20000000);

		add_time(p, t, stack_of(p, "com/acme/Job", "work"), "running", 20000000);
	}
	cr_assert(finds(p, "tiny-tasks", says, sizeof(says)));
	cr_expect(strstr(says, "900 tasks in 3 stages, of a median of 20 ms each; most of it in "
			       "stage"),
		"%s", says);
	sp_profile_free(p);
}

/* Of twelve tasks of two seconds, and one that was tried before. */
Test(findings, what_is_done_once_more_is_told)
{
	static const struct {
		int32_t attempt, stage_attempt;
		uint64_t took;
		bool expected;
	} cases[] = {{2, 0, 2 * S, true}, {0, 1, 2 * S, true}, {0, 0, 2 * S, false},
		{1, 0, S / 2, false}};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_profile *p = healthy();
		struct sp_task_run t = {
			.name = {50, 3, cases[i].stage_attempt, 1, cases[i].attempt},
			.end_ns = cases[i].took,
			.begun = true,
			.ended = true};
		char says[512];

		cr_assert_eq(sp_profile_add_task(p, &t), 0);
		add_time(p, (uint32_t)p->task_count, stack_of(p, "com/acme/Job", "work"), "running",
			cases[i].took);
		cr_expect_eq(finds(p, "retries", says, sizeof(says)), cases[i].expected, "%zu: %s",
			i, says);
		cr_expect(!cases[i].expected || strstr(says, "for 2 s, 8 % of all task time"), "%s",
			says);
		sp_profile_free(p);
	}
}

static void add_point(struct sp_series *s, uint64_t value)
{
	s->points = realloc(s->points, (s->count + 1) * sizeof(*s->points));
	s->points[s->count++] = (struct sp_point){1, value};
	s->cap = s->count;
}

/* The machine has two cores and is busy; who has them? A core of Python is half of the machine. */
Test(findings, who_has_the_cores_is_said_where_it_is_known)
{
	static const struct {
		uint64_t jvm, python, cores; /* percent of all cores, of one; how many */
		bool several;
		const char *says, *advice;
	} cases[] = {
		{90, 0, 2, false, "10 % was for other processes", "fewer spark.executor.cores"},
		{10, 0, 2, false, "90 % was for other processes",
			"fewer neighbours on the node, or"},
		{10, 160, 2, false, "10 % was for other processes", "fewer spark.executor.cores"},
		{10, 0, 0, false, "", "fewer spark.executor.cores"},
		{10, 0, 2, true, "", "fewer spark.executor.cores"},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_profile *p = many(12, 2 * S, S);
		struct sp_findings f;

		p->several = cases[i].several;
		add_point(&p->series[SP_SERIES_CPU_MACHINE], 100000);
		add_point(&p->series[SP_SERIES_CPU_JVM], cases[i].jvm * 1000);
		add_point(&p->series[SP_SERIES_PY_CPU], cases[i].python * 1000);
		add_point(&p->series[SP_SERIES_CORES], cases[i].cores);
		cr_assert_eq(sp_findings_init(&f, p, NULL), 0);
		cr_assert_eq(f.count, 1);
		cr_expect(strstr(sp_buf_str(&f.list[0].says), cases[i].says), "%s",
			sp_buf_str(&f.list[0].says));
		cr_expect_eq(
			!strstr(sp_buf_str(&f.list[0].says), "other processes"), !cases[i].says[0]);
		cr_expect(strstr(f.list[0].advice, cases[i].advice), "%s", f.list[0].advice);
		sp_findings_done(&f);
		sp_profile_free(p);
	}
}

/* Of 1,000 MB; nothing is said of workers that have a tenth or less: what is full then is the JVM.
 */
Test(findings, python_memory_near_the_limit)
{
	static const struct {
		unsigned used, python;
		bool expected;
	} cases[] = {{950, 400, true}, {880, 400, false}, {950, 90, false}};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_profile *p = healthy();
		char says[512];

		add_point(&p->series[SP_SERIES_MEM_LIMIT], 1000u << 20);
		add_point(&p->series[SP_SERIES_MEM_USED], cases[i].used << 20);
		add_point(&p->series[SP_SERIES_PY_PSS], cases[i].python << 20);
		cr_expect_eq(finds(p, "python-memory", says, sizeof(says)), cases[i].expected, "%s",
			says);
		sp_profile_free(p);
	}
}

/* Of 100 periods a second, @throttled are used up: 20 ms are lost in each. */
Test(findings, a_used_up_cpu_limit_is_named_from_its_bound_on)
{
	static const unsigned cases[] = {20, 12, 8, 0};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_profile *p = healthy();
		char says[512];

		for (unsigned second = 0; second <= 10; second++) {
			add_point(&p->series[SP_SERIES_PERIODS], 100ull * second);
			add_point(&p->series[SP_SERIES_THROTTLED], (uint64_t)cases[i] * second);
			add_point(&p->series[SP_SERIES_THROTTLED_NS],
				(uint64_t)cases[i] * second * 20000000);
		}
		cr_expect_eq(finds(p, "throttled", says, sizeof(says)), cases[i] >= 10, "%u: %s",
			cases[i], says);
		if (cases[i] == 20)
			cr_expect(strstr(says, "in 20 % of its periods") && strstr(says, "4 s"),
				"%s", says);
		sp_profile_free(p);
	}
}

Test(findings, seven_at_most_and_the_costliest_first)
{
	struct sp_profile *p = wall_profile();
	struct sp_findings f;

	for (int stage = 0; stage < 9; stage++)
		for (int i = 0; i < 4; i++) {
			uint64_t took = i == 3 ? (uint64_t)(10 + stage) * S : S;
			uint32_t t = add_task(p, stage * 10 + i, stage, took);

			add_time(p, t, stack_of(p, "com/acme/Job", "work"), "running", took);
		}
	cr_assert_eq(sp_findings_init(&f, p, NULL), 0);
	cr_assert_eq(f.count, SP_FINDINGS_MOST);
	for (unsigned i = 0; i < f.count; i++)
		cr_expect_eq(f.list[i].stage, 8 - (int)i);
	sp_findings_done(&f);
	sp_profile_free(p);
}

Test(findings, markdown_is_short_and_nothing_in_it_is_markup)
{
	struct sp_profile *p = many(300, 20000000, 0);
	struct sp_sink s;
	size_t lines = 0;

	for (int32_t i = 0; i < 100; i++) {
		uint32_t t = add_task(p, 1000 + i, 10 + i, S);

		sp_profile_stage(p, 0, 10 + i, 0)->name = str(p, "a|b <script> `x`");
		for (int k = 0; k < 40; k++) {
			char name[32];

			snprintf(name, sizeof(name), "m%d`|", k);
			add_time(p, t, stack_of(p, "com/acme/Job", name), "running", S / 40);
		}
	}
	sp_sink_init(&s, -1);
	cr_assert_eq(sp_out_markdown(p, &(struct sp_out_opts){0}, &s), 0);
	for (const char *c = sp_buf_str(&s.buf); *c; c++)
		lines += *c == '\n';
	cr_expect_leq(lines, 200);
	cr_expect(strstr(sp_buf_str(&s.buf), "a\\|b \\<script\\> \\`x\\`"));
	cr_expect(!strstr(sp_buf_str(&s.buf), "`|"));
	cr_expect(strstr(sp_buf_str(&s.buf), "## What stands out\n\n1. **"));
	sp_sink_done(&s);
	sp_profile_free(p);
}

/* A stack of methods of one class, root first: "abc" is a calling b calling c. */
static void add_stack(struct sp_profile *p, const char *methods, uint64_t weight)
{
	struct sp_frame_ref frames[32] = {0};
	size_t n = strlen(methods);

	for (size_t i = 0; i < n; i++)
		frames[n - 1 - i] =
			methods[i] == '_'
				? java(p, "java/lang/Thread", "run", "()V", SP_FRAME_C2)
				: java(p, "x/Y", (char[]){methods[i], 0}, "()V", SP_FRAME_C2);
	add_time(p, 0, sp_dict_stack(p->dict, frames, (uint32_t)n, 0), "running", weight);
}

/* The lines of the tree in the text report of these stacks. */
static void check_tree(const char *const *stacks, size_t count, const char *expected)
{
	struct sp_profile *p = wall_profile();
	struct sp_sink s;
	char *at;

	for (size_t i = 0; i < count; i++)
		add_stack(p, stacks[i], S);
	sp_sink_init(&s, -1);
	cr_assert_eq(sp_out_text(p, &(struct sp_out_opts){.width = 80}, &s), 0);
	at = strstr((char *)sp_buf_str(&s.buf), "From the top down");
	cr_assert(at);
	at = strchr(strchr(at, '\n') + 1, '\n') + 1;
	cr_expect_str_eq(at, expected);
	sp_sink_done(&s);
	sp_profile_free(p);
}

Test(findings, the_tree_folds_starts_recursion_and_single_file)
{
	static const char *const own[] = {"_aaab", "_ab", "_ac", "_d"};
	static const char *const mutual[] = {"ababac", "abd"};
	static const char *const single[] = {"abcdx", "abcdy"};

	check_tree(own, SP_COUNT(own),
		"   75.0 %    0.0 %  x.Y.a\n   50.0 %   50.0 %    x.Y.b\n"
		"   25.0 %   25.0 %    x.Y.c\n   25.0 %   25.0 %  x.Y.d\n");
	check_tree(mutual, SP_COUNT(mutual),
		"  100.0 %    0.0 %  x.Y.a\n   50.0 %   50.0 %    ..1 x.Y.d\n"
		"   50.0 %   50.0 %    x.Y.c\n");
	check_tree(single, SP_COUNT(single),
		"  100.0 %    0.0 %  ..3 x.Y.d\n   50.0 %   50.0 %    x.Y.x\n"
		"   50.0 %   50.0 %    x.Y.y\n");
}
