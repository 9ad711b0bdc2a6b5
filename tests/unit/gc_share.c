/* Time at safepoints, divided by what the JVM itself says that it collected. */
#include <criterion/criterion.h>

#include <inttypes.h>

#include "base/cleanup.h"
#include "prof/load/gc_share.h"
#include "prof/model/tasks.h"
#include "prof/model/timeline.h"
#include "prof/spark/time_class.h"
#include "sample_profile.h"

#define S	1000000000ull
#define START	(1700000000 * S)
#define HELD	"+SafepointSynchronize::block", "com/acme/Job.map"
#define STALLED "+ZPageAllocator::alloc_page_stall", "com/acme/Job.map"
#define TASK \
	"org/apache/spark/scheduler/Task.run", "org/apache/spark/executor/Executor$TaskRunner.run"

/* 20 s, in each of which 100 ms are collected. */
static struct sp_profile *collecting(uint64_t gc_ns)
{
	struct sp_profile *p;

	cr_assert_eq(sp_profile_new(&p, 1u << 20), 0);
	p->start_ns = START;
	p->duration_ns = 20 * S;
	sp_profile_event(p, "wall", SP_UNIT_NS, 10000000, true);
	for (uint64_t i = 1; i <= 20; i++) {
		uint64_t at = START + i * S;

		cr_assert_eq(sp_profile_point(p, SP_SERIES_CPU_JVM, at, 50000), 0);
		/* ticks of a recording are not ns */
		if (gc_ns)
			cr_assert_eq(sp_profile_point(p, SP_SERIES_GC, at - gc_ns + 3, gc_ns), 0);
	}
	return p;
}

/* A task of a stage; returns what rows call it. */
static uint32_t task(struct sp_profile *p, int32_t stage, uint64_t from, uint64_t to, bool helper)
{
	struct sp_task_run t = {.name = {(int64_t)p->task_count, stage, 0, 0, 0},
		.start_ns = START + from,
		.end_ns = START + to,
		.begun = true,
		.ended = true,
		.helper = helper};

	cr_assert_eq(sp_profile_add_task(p, &t), 0);
	return (uint32_t)p->task_count;
}

static void add(struct sp_profile *p, uint32_t of, const char *state, uint64_t ns,
	const char *const *frames)
{
	struct sp_frame_ref list[8];
	uint32_t n = 0;

	for (; frames[n]; n++)
		list[n] = frame(p, frames[n]);
	cr_assert_eq(
		sp_profile_add(p, &(struct sp_sample){.stack = sp_dict_stack(p->dict, list, n, 0),
					  .state = str(p, state),
					  .task = of,
					  .count = 10,
					  .weight = ns}),
		0);
}

static uint64_t spent(const struct sp_profile *p, uint32_t of, enum sp_time_class kind)
{
	struct sp_time_class_of *s;
	uint64_t sum = 0;

	cr_assert_eq(sp_time_class_new(&s, p), 0);
	for (size_t i = 0; i < p->row_count; i++)
		if (p->rows[i].task == of && sp_time_class_of_row(s, &p->rows[i]) == kind)
			sum += p->rows[i].weight;
	sp_time_class_free(s);
	return sum;
}

static bool near(uint64_t is, uint64_t should)
{
	return is + 1000 > should && is < should + 1000;
}

Test(gc_share, a_stage_has_as_much_gc_as_the_jvm_says_and_the_rest_apart)
{
	struct sp_profile *p = collecting(S / 10);
	/* both run for 10 s, in which 1 s is collected: 2 s for both, of 5 s at safepoints */
	uint32_t a = task(p, 3, 1 * S + S / 2, 11 * S + S / 2, false),
		 b = task(p, 3, 2 * S, 12 * S, false);
	uint64_t weight, count;

	add(p, a, "lock", 2 * S, (const char *[]){HELD, TASK, NULL});
	add(p, b, "lock", 3 * S, (const char *[]){HELD, TASK, NULL});
	add(p, a, "running", 5 * S, (const char *[]){"com/acme/Job.map", TASK, NULL});
	weight = p->events[0].weight;
	count = p->count;
	cr_assert_eq(sp_gc_share_apply(p, false), 0);
	cr_expect(near(p->tasks[0].gc_ns, 1 * S), "%" PRIu64, p->tasks[0].gc_ns);
	cr_expect(near(spent(p, a, SP_TIME_CLASS_GC), 2 * S / 5 * 2));
	cr_expect(near(spent(p, a, SP_TIME_CLASS_SAFEPOINT), 2 * S / 5 * 3));
	cr_expect(near(spent(p, b, SP_TIME_CLASS_GC), 3 * S / 5 * 2));
	cr_expect_eq(spent(p, a, SP_TIME_CLASS_CPU), 5 * S);
	for (size_t i = 0; i < p->row_count; i++) {
		weight -= p->rows[i].weight;
		count -= p->rows[i].count;
	}
	cr_expect(weight == 0 && count == 0, "sums stay");
	sp_profile_free(p);
}

Test(gc_share, a_task_that_waits_for_something_else_is_not_held)
{
	struct sp_profile *p = collecting(S / 2);
	uint32_t a = task(p, 3, 0, 10 * S, false);

	add(p, a, "lock", 1 * S, (const char *[]){HELD, TASK, NULL});
	cr_assert_eq(sp_gc_share_apply(p, false), 0);
	cr_expect(near(p->tasks[0].gc_ns, 5 * S), "as Spark counts");
	cr_expect_eq(spent(p, a, SP_TIME_CLASS_GC), 1 * S);
	cr_expect_eq(spent(p, a, SP_TIME_CLASS_SAFEPOINT), 0);
	sp_profile_free(p);
}

Test(gc_share, nothing_was_collected)
{
	struct sp_profile *p = collecting(0);
	uint32_t a = task(p, 3, 0, 10 * S, false);

	add(p, a, "lock", 1 * S, (const char *[]){HELD, TASK, NULL});
	add(p, a, "lock", 2 * S, (const char *[]){STALLED, TASK, NULL});
	cr_assert_eq(sp_gc_share_apply(p, false), 0);
	cr_expect_eq(spent(p, a, SP_TIME_CLASS_SAFEPOINT), 1 * S);
	cr_expect_eq(
		spent(p, a, SP_TIME_CLASS_GC), 2 * S, "it waits for a collector that runs beside");
	sp_profile_free(p);
}

Test(gc_share, threads_that_help_a_task_do_not_count_twice)
{
	struct sp_profile *p = collecting(S / 10);
	uint32_t a = task(p, 3, 0, 10 * S, false);

	task(p, 3, 0, 10 * S, true);
	add(p, a, "lock", 2 * S, (const char *[]){HELD, TASK, NULL});
	cr_assert_eq(sp_gc_share_apply(p, false), 0);
	cr_expect(near(spent(p, a, SP_TIME_CLASS_GC), 1 * S));
	sp_profile_free(p);
}

Test(gc_share, of_a_part_the_tasks_that_are_there_count)
{
	struct sp_profile *p = collecting(S / 10);
	uint32_t a = task(p, 3, 0, 10 * S, false);

	task(p, 3, 0, 10 * S, false);
	add(p, a, "lock", 2 * S, (const char *[]){HELD, TASK, NULL});
	cr_assert_eq(sp_gc_share_apply(p, true), 0);
	cr_expect(near(spent(p, a, SP_TIME_CLASS_GC), 1 * S));
	sp_profile_free(p);
}

Test(gc_share, without_the_jvms_count_all_of_it_is_gc)
{
	struct sp_profile *p;
	uint32_t a;

	cr_assert_eq(sp_profile_new(&p, 1u << 20), 0);
	sp_profile_event(p, "wall", SP_UNIT_NS, 10000000, true);
	a = task(p, 3, 0, 10 * S, false);
	add(p, a, "lock", 2 * S, (const char *[]){HELD, TASK, NULL});
	cr_assert_eq(sp_gc_share_apply(p, false), 0);
	cr_expect_eq(spent(p, a, SP_TIME_CLASS_GC), 2 * S);
	sp_profile_free(p);
}

Test(gc_share, rows_that_are_not_joined_yet_stay_where_they_are)
{
	enum { ROWS = (1 << 18) - 4, HELD_ROWS = 20 };
	struct sp_profile *p = collecting(S / 10);
	uint32_t of[2] = {task(p, 3, 0, 10 * S, false), task(p, 4, 0, 10 * S, false)};
	uint32_t stacks[2];
	uint64_t weight = 0, count = 0;

	sp_profile_defer_dedup(p);
	for (int i = 0; i < 2; i++) {
		struct sp_frame_ref list[] = {
			frame(p, i ? "com/acme/Job.map" : "+SafepointSynchronize::block"),
			frame(p, "com/acme/Job.map")};

		stacks[i] = sp_dict_stack(p->dict, list, 2, 0);
	}
	for (uint32_t i = 0; i < ROWS; i++) {
		bool held = i % (ROWS / 2) % (ROWS / HELD_ROWS) == 0;
		struct sp_sample x = {.stack = stacks[!held],
			.state = str(p, held ? "lock" : "running"),
			.task = of[i & 1],
			.thread = 1 + i % (ROWS / 2), /* the same again, long after */
			.count = 4,
			.weight = S / 4};

		cr_assert_eq(sp_profile_add(p, &x), 0);
	}
	cr_assert_eq(sp_gc_share_apply(p, false), 0);
	for (size_t i = 0; i < p->row_count; i++) {
		weight += p->rows[i].weight;
		count += p->rows[i].count;
	}
	cr_expect_eq(weight, ROWS * (S / 4));
	cr_expect_eq(count, ROWS * 4ull);
	sp_profile_free(p);
}
