/* Who lags in a stage: with tasks that still run, or began before the recording, and those of which
 * the driver told; and a task of PySpark, whose time counts once. */
#include <criterion/criterion.h>

#include "base/cleanup.h"
#include "out/stage_table.h"
#include "prof/load/python_graft.h"
#include "prof/model/tasks.h"
#include "prof/model/timeline.h"
#include "sample_profile.h"

#define SECOND 1000000000ull
#define START  (1790000000ull * SECOND)

static struct sp_profile *empty(void)
{
	struct sp_profile *p;

	cr_assert_eq(sp_profile_new(&p, 16u << 20), 0);
	cr_assert_eq(sp_profile_event(p, "wall", SP_UNIT_NS, 10000000, true), 0);
	return p;
}

struct ran {
	double from, to; /* seconds */
	bool begun, ended;
	double launch; /* by the driver; 0: not told */
};

static void add(struct sp_profile *p, int64_t tid, struct ran r)
{
	struct sp_task_run t = {.name = {tid, 8, 0, (int32_t)tid, 0},
		.start_ns = START + (uint64_t)(r.from * SECOND),
		.end_ns = START + (uint64_t)(r.to * SECOND),
		.launch_ns = r.launch != 0 ? START + (uint64_t)(int64_t)(r.launch * SECOND) : 0,
		.begun = r.begun,
		.ended = r.ended};

	cr_assert_eq(sp_profile_add_task(p, &t), 0);
}

/* The stage of 11 tasks of @each seconds one after the other, and of one more, TID 10. */
static struct sp_stage_table stage_with(struct sp_profile *p, double each, struct ran last)
{
	struct sp_stage_table s;

	for (int i = 0; i < 11; i++)
		add(p, i < 10 ? i : 11, (struct ran){i * each, (i + 1) * each, true, true, 0});
	add(p, 10, last);
	cr_assert_eq(sp_stage_table_init(&s, p, 0, NULL), 0);
	cr_assert_eq(s.count, 1);
	return s;
}

static const struct {
	const char *what;
	double each;
	struct ran last;
	bool lags, running, least;
	double took;
} cases[] = {
	{"it runs", 2.8, {0.5, 31.9, true, false, 0}, true, true, true, 31.4},
	{"it ran before, nobody knows how long", 2.8, {0, 31, false, false, 0}, true, true, true,
		31},
	{"it ran before, the driver knows since when", 1, {0, 3, false, false, -28.5}, true, true,
		true, 31.5},
	{"it was launched after it began: two clocks", 2.8, {0, 31, false, false, 1}, true, true,
		true, 31},
	{"it ran before and ended", 0.3, {0, 4, false, true, 0}, true, false, true, 4},
	{"all of it was seen", 2.8, {25, 33, true, true, 0}, true, false, false, 8},
	{"the stage went on without it, as after a first task of a cold JVM", 2.8,
		{1, 9, true, true, 0}, false, false, false, 8},
	{"the stage went on for more than a median task", 2.8, {10, 24, true, true, 0}, false,
		false, false, 14},
	{"but not for less", 2.8, {10, 28.5, true, true, 0}, true, false, false, 18.5},
	{"a moment is no cost", 0.035, {0, 0.092, true, true, 0}, false, false, false, 0.092},
	{"less than twice as long is none", 5, {0, 7, true, true, 0}, false, false, false, 7},
	{"a second more, and more than twice as long", 0.9, {8.5, 10.5, true, true, 0}, true, false,
		false, 2.0},
	{"nor where it still runs", 4, {0, 7.9, true, false, 0}, false, true, true, 7.9},
};

Test(straggler, is_who_costs_the_stage_time)
{
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_profile *p = empty();
		struct sp_stage_table s = stage_with(p, cases[i].each, cases[i].last);
		const struct sp_stage_row *r = &s.rows[0];

		cr_expect_eq(sp_stage_table_lags(r), cases[i].lags, "%s", cases[i].what);
		cr_expect_eq(r->max_task, 10, "%s", cases[i].what);
		cr_expect_eq(r->max.running, cases[i].running, "%s", cases[i].what);
		cr_expect_eq(r->max.least, cases[i].least, "%s", cases[i].what);
		cr_expect_float_eq(
			(double)r->max.ns / 1e9, cases[i].took, 1e-6, "%s", cases[i].what);
		cr_expect_eq(r->finished, 11 + !cases[i].least, "%s", cases[i].what);
		sp_stage_table_done(&s);
		sp_profile_free(p);
	}
}

Test(straggler, that_is_cheap_beside_a_long_stage_is_none)
{
	struct sp_profile *p = empty();
	struct sp_stage_table s;

	for (int i = 0; i < 60; i++)
		add(p, 100 + i, (struct ran){i, i + 1, true, true, 0});
	s = stage_with(p, 1, (struct ran){20, 23, true, true, 0});
	cr_expect_eq(s.rows[0].max_task, 10);
	cr_expect_not(sp_stage_table_lags(&s.rows[0]), "2 s of 60");
	sp_stage_table_done(&s);
	sp_profile_free(p);
}

Test(straggler, is_measured_by_those_that_finished_before)
{
	struct sp_profile *p = empty();
	struct sp_stage *told;
	struct sp_stage_table s;

	add(p, 10, (struct ran){0, 3, false, false, -28});
	told = sp_profile_stage(p, 0, 8, 0);
	cr_assert_eq(sp_stage_table_init(&s, p, 0, NULL), 0);
	cr_expect_not(sp_stage_table_lags(&s.rows[0]), "nothing is known of others");
	sp_stage_table_done(&s);
	told->finished = 11;
	told->median_ns = 28 * SECOND / 10;
	cr_assert_eq(sp_stage_table_init(&s, p, 0, NULL), 0);
	cr_expect(sp_stage_table_lags(&s.rows[0]));
	cr_expect_eq(s.rows[0].finished, 11);
	sp_stage_table_done(&s);
	sp_profile_free(p);
}

/* @took seconds of @state from @from on, of task 5 (or of its worker). */
static void add_long_row(struct sp_profile *p, uint32_t task, const char *state, double from,
	double took, const struct sp_frame_ref *frame)
{
	struct sp_sample s = {.stack = sp_dict_stack(p->dict, frame, 1, 0),
		.state = str(p, state),
		.task = task,
		.count = 100,
		.weight = (uint64_t)(took * SECOND)};

	cr_assert_eq(sp_profile_add_at(p, &s, START + (uint64_t)(from * SECOND), s.weight - 1), 0);
}

static void add_row(struct sp_profile *p, uint32_t task, const char *state, double from,
	const struct sp_frame_ref *frame)
{
	add_long_row(p, task, state, from, 1, frame);
}

static uint64_t weight_of(const struct sp_profile *p, uint32_t stack, const char *state)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->row_count; i++)
		if (p->rows[i].stack == stack && p->rows[i].state == str((void *)p, state))
			sum += p->rows[i].weight;
	return sum;
}

Test(straggler, a_task_of_pyspark_has_its_time_once)
{
	struct sp_profile *p = empty();
	struct sp_frame_ref reads =
		java(p, "org/apache/spark/api/python/BasePythonRunner$ReaderIterator", "read", "",
			SP_FRAME_C2);
	struct sp_frame_ref mine = java(p, "com/acme/Job", "map", "", SP_FRAME_C2);
	struct sp_frame_ref clean = native(p, "", "clean (job.py)", SP_FRAME_PYTHON);
	uint32_t wait, work, python;
	struct sp_stage_table s;

	add(p, 5, (struct ran){0, 4, true, true, 0});
	cr_assert_eq(sp_profile_add_task(p, &(struct sp_task_run){.name = {5, 8, 0, 0, 0},
						    .start_ns = START,
						    .end_ns = START + 4 * SECOND,
						    .helper = true}),
		0);
	add_row(p, 1, "running", 0, &mine); /* the JVM works, Python waits for it */
	add_row(p, 2, "net", 0, &clean);
	add_row(p, 1, "net", 1, &reads); /* Python works, the JVM waits */
	add_row(p, 2, "running", 1, &clean);
	add_row(p, 1, "net", 2, &reads);    /* the JVM waits, nobody saw for what */
	add_row(p, 1, "running", 3, &mine); /* both work */
	add_row(p, 2, "running", 3, &clean);
	cr_assert_eq(sp_python_graft_fill(p, true), 0);
	wait = sp_dict_stack(p->dict, &reads, 1, 0);
	work = sp_dict_stack(p->dict, &mine, 1, 0);
	python = sp_dict_stack(p->dict, &clean, 1, 0);
	cr_expect_float_eq((double)p->events[0].weight / 1e9, 4, 0.05);
	cr_expect_float_eq((double)weight_of(p, work, "running") / 1e9, 2, 1e-9);
	cr_expect_float_eq((double)weight_of(p, python, "running") / 1e9, 1, 0.05);
	cr_expect_float_eq((double)weight_of(p, python, "net") / 1e9, 0, 0.05);
	cr_expect_float_eq((double)weight_of(p, wait, "net") / 1e9, 1, 0.05);
	cr_assert_eq(sp_stage_table_init(&s, p, 0, NULL), 0);
	cr_expect_float_eq(
		(double)s.rows[0].own_ns / 1e9, 4, 0.05, "Python's second is the task's");
	cr_expect_eq(s.rows[0].cpu_ns, 2 * SECOND);
	sp_stage_table_done(&s);
	sp_profile_free(p);
}

/* Times of a recording of an hour are told in steps of a second or two: a worker that is busy for
 * the five seconds that the JVM waits for it has all of them. */
Test(straggler, a_long_recording_takes_no_time_from_python)
{
	struct sp_profile *p = empty();
	struct sp_frame_ref reads =
		java(p, "org/apache/spark/api/python/BasePythonRunner$ReaderIterator", "read", "",
			SP_FRAME_C2);
	struct sp_frame_ref mine = java(p, "com/acme/Job", "map", "", SP_FRAME_C2);
	struct sp_frame_ref busy = native(p, "", "busy (job.py)", SP_FRAME_PYTHON);
	uint32_t wait = sp_dict_stack(p->dict, &reads, 1, 0),
		 python = sp_dict_stack(p->dict, &busy, 1, 0);

	add(p, 5, (struct ran){0, 60, true, true, 0});
	cr_assert_eq(sp_profile_add_task(p, &(struct sp_task_run){.name = {5, 8, 0, 0, 0},
						    .start_ns = START,
						    .end_ns = START + 60 * SECOND,
						    .helper = true}),
		0);
	sp_profile_expect(p, START, START + 3600 * SECOND, 1000000);
	cr_assert_geq(p->bucket_ns, SECOND / 2);
	add_long_row(p, 1, "running", 0, 20.3, &mine);
	add_long_row(p, 1, "net", 20.3, 5, &reads);
	add_long_row(p, 1, "running", 25.3, 20, &mine);
	add_long_row(p, 1, "net", 45.3, 5, &reads); /* nobody saw for what */
	for (int i = 0; i < 50; i++)
		add_long_row(p, 2, i % 2 ? "running" : "runnable", 20.3 + i * 0.1, 0.1, &busy);
	cr_assert_eq(sp_python_graft_fill(p, true), 0);
	cr_expect_float_eq(
		(double)(weight_of(p, python, "running") + weight_of(p, python, "runnable")) / 1e9,
		5, 0.05);
	cr_expect_float_eq((double)weight_of(p, wait, "net") / 1e9, 5, 0.05);
	sp_profile_free(p);
}

/* A tenth of the task's time is Python's: that is a part of its run. */
Test(straggler, run_time_has_what_python_did)
{
	struct sp_profile *p = empty();
	struct sp_frame_ref reads =
		java(p, "org/apache/spark/api/python/BasePythonRunner$ReaderIterator", "read", "",
			SP_FRAME_C2);
	struct sp_frame_ref mine = java(p, "com/acme/Job", "map", "", SP_FRAME_C2);
	struct sp_frame_ref launch =
		java(p, "org/apache/spark/executor/Executor$TaskRunner", "run", "", SP_FRAME_C2);
	struct sp_frame_ref clean = native(p, "", "clean (job.py)", SP_FRAME_PYTHON);
	struct sp_stage_table s;

	add(p, 5, (struct ran){0, 10, true, true, 0});
	cr_assert_eq(sp_profile_add_task(p, &(struct sp_task_run){.name = {5, 8, 0, 0, 0},
						    .start_ns = START,
						    .end_ns = START + 10 * SECOND,
						    .helper = true}),
		0);
	add_row(p, 1, "running", 0, &launch);
	for (int i = 1; i < 9; i++)
		add_row(p, 1, "running", i, &mine);
	add_row(p, 1, "net", 9, &reads);
	add_row(p, 2, "running", 9, &clean);
	cr_assert_eq(sp_python_graft_fill(p, true), 0);
	cr_assert_eq(sp_stage_table_init(&s, p, 0, NULL), 0);
	cr_expect_float_eq((double)sp_stage_table_run_ns(&s.rows[0]) / 1e9, 9, 0.05);
	cr_expect_eq(s.rows[0].cpu_ns, 9 * SECOND);
	cr_expect_eq(s.rows[0].launch_cpu_ns, SECOND, "of that, launch and result");
	sp_stage_table_done(&s);
	sp_profile_free(p);
}

/* On a busy machine the sampler misses some of it: what a long task took is known by its ends, a
 * short one's end is seen late. */
Test(straggler, run_time_of_long_tasks_is_from_start_to_end)
{
	for (int long_one = 0; long_one < 2; long_one++) {
		struct sp_profile *p = empty();
		struct sp_frame_ref mine = java(p, "com/acme/Job", "map", "", SP_FRAME_C2);
		struct sp_stage_table s;

		add(p, 5, (struct ran){0, long_one ? 10 : 1.2, true, true, 0});
		for (int i = 0; i < (long_one ? 9 : 1); i++)
			add_row(p, 1, "running", i, &mine);
		cr_assert_eq(sp_stage_table_init(&s, p, 0, NULL), 0);
		cr_expect_float_eq(
			(double)sp_stage_table_run_ns(&s.rows[0]) / 1e9, long_one ? 10 : 1, 0.05);
		sp_stage_table_done(&s);
		sp_profile_free(p);
	}
}

/* A job that hangs at its last task, and a driver without a UI: silence would look like an answer.
 */
Test(straggler, a_task_that_nothing_measures_is_told)
{
	static const struct {
		struct ran last;
		int finished; /* in the recording */
		uint32_t by_driver;
		bool told;
	} alone[] = {
		{{0, 30, false, false, 0}, 0, 0, true},
		{{0, 30, false, false, 0}, 2, 0, true},
		{{0, 30, false, false, 0}, 3, 0, false},
		{{0, 30, false, false, 0}, 0, 7, false},
		{{0, 30, false, false, -20}, 0, 0, false},
		{{0, 30, true, false, 0}, 0, 0, false},
		{{0, 30, false, true, 0}, 0, 0, false},
	};

	for (size_t i = 0; i < sizeof(alone) / sizeof(*alone); i++) {
		struct sp_profile *p = empty();
		struct sp_stage *s = sp_profile_stage(p, 0, 8, 0);

		s->finished = alone[i].by_driver;
		for (int k = 0; k < alone[i].finished; k++)
			add(p, k, (struct ran){k, k + 1, true, true, 0});
		add(p, 10, alone[i].last);
		sp_profile_note_unmeasured(p);
		cr_assert_eq(p->note_count, alone[i].told, "case %zu", i);
		if (alone[i].told)
			cr_assert_eq(strncmp(sp_dict_get_string(p->dict, p->notes[0].text_id, NULL),
					     "TID 10 of stage 8.0 ran all the time", 36),
				0);
		sp_profile_free(p);
	}
}
