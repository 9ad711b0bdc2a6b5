/* An executor that is unlike the others: named where its tasks differ, one by one, and silent where
 * one task, other stages or chance would explain it. */
#include <math.h>

#include "finding_profile.h"

static uint64_t seed;

/* 0 to 1: xorshift64*. */
static double drawn(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (double)((seed * 2685821657736338717ull) >> 11) / 9007199254740992.0;
}

/* A task of @seconds, @gc of it held by the collector. */
static void ran(struct sp_profile *p, const char *executor, int stage, double seconds, double gc)
{
	static int64_t tid;
	uint64_t ns = (uint64_t)(seconds * 100) * 10000000,
		 held = (uint64_t)(seconds * gc * 100) * 10000000;
	struct sp_task_run t = {.name = {++tid, stage, 0, (int32_t)tid, 0},
		.start_ns = S,
		.end_ns = S + ns,
		.app = str(p, "app-1"),
		.executor = str(p, executor),
		.begun = true,
		.ended = true};

	cr_assert_eq(sp_profile_add_task(p, &t), 0);
	if (held)
		add_time(p, (uint32_t)p->task_count, stack_of(p, "com/acme/Job", "collected"),
			"lock", held);
	add_time(p, (uint32_t)p->task_count, stack_of(p, "com/acme/Job", "work"), "running",
		ns - held);
}

/* @executors with @tasks each in stage 3; those of executor "1" are the other one's. */
static struct sp_profile *stage_of(int executors, int tasks, double seconds, double gc)
{
	struct sp_profile *p = wall_profile();
	char id[12];

	for (int e = 1; e <= executors; e++) {
		snprintf(id, sizeof(id), "%d", e);
		for (int i = 0; i < tasks; i++)
			ran(p, id, 3, (e == 1 ? seconds : 2.0) * (1 + (i % 5) * 0.02),
				e == 1 ? gc : 0.06);
	}
	return p;
}

static bool said(struct sp_profile *p, char *says, size_t size)
{
	bool found = finds(p, "executor", says, size);

	sp_profile_free(p);
	return found;
}

Test(finding_executor, is_said_with_its_host_and_what_differs)
{
	struct sp_profile *p = stage_of(4, 10, 4.6, 0.41);
	char says[512];

	cr_assert_eq(sp_profile_place(p, str(p, "1"), str(p, "n3")), 0);
	cr_assert(said(p, says, sizeof(says)));
	cr_expect_str_eq(says,
		"Executor 1 on n3 is unlike the others in the same stages: 41 % of its tasks' time "
		"is GC, "
		"of the others' 6 %; its tasks take 2.3 times as long (10 tasks beside 30)");
}

Test(finding_executor, slow_at_the_same_work)
{
	char says[512];

	cr_assert(said(stage_of(4, 10, 3.2, 0.06), says, sizeof(says)));
	cr_expect(strstr(says, ": its tasks take 1.6 times as long, at the same kinds of work ("),
		"%s", says);
}

Test(finding_executor, few_tasks_of_many_executors)
{
	char says[512];

	cr_expect(said(stage_of(40, 4, 20, 0.06), says, sizeof(says)));
	cr_expect(strstr(says, "(4 tasks beside 156)"), "%s", says);
}

Test(finding_executor, below_its_bounds_it_is_silent)
{
	char says[512];

	cr_expect(!said(stage_of(4, 10, 2.8, 0.06), says, sizeof(says)), "1.4 times as long: %s",
		says);
	cr_expect(
		!said(stage_of(4, 10, 2.0, 0.24), says, sizeof(says)), "18 points of GC: %s", says);
	cr_expect(said(stage_of(4, 10, 2.0, 0.28), says, sizeof(says)), "22 points of GC");
	cr_expect(!said(stage_of(1, 10, 2.0, 0.5), says, sizeof(says)), "there is no other: %s",
		says);
	cr_expect(
		!said(stage_of(2, 3, 9, 0.5), says, sizeof(says)), "three tasks of six: %s", says);
	cr_expect(!said(stage_of(4, 10, 0.5, 0), says, sizeof(says)), "it is quicker: %s", says);
	cr_expect(!said(stage_of(4, 10, 2.0, 0.06), says, sizeof(says)), "all are alike: %s", says);
}

/* A partition with more data than the others: that is the task's, not the executor's. */
Test(finding_executor, one_task_does_not_make_an_executor)
{
	struct sp_profile *p = stage_of(4, 10, 2.0, 0.06);
	char says[512];

	ran(p, "1", 3, 60, 0.9);
	ran(p, "1", 3, 50, 0.9);
	cr_expect(!said(p, says, sizeof(says)), "%s", says);
}

/* What only one executor ran says nothing of it. */
Test(finding_executor, a_stage_of_its_own_does_not_count)
{
	struct sp_profile *p = stage_of(4, 10, 2.0, 0.06);
	char says[512];

	for (int i = 0; i < 20; i++)
		ran(p, "1", 4, 20, 0.8);
	cr_expect(!said(p, says, sizeof(says)), "%s", says);
}

/* It has more tasks of the slow stage, and is as quick as the others in each. */
Test(finding_executor, stages_are_compared_each_with_itself)
{
	struct sp_profile *p = wall_profile();
	char says[512];

	for (int i = 0; i < 24; i++) {
		ran(p, "1", 3, i < 4 ? 1 + i * 0.01 : 9 + i * 0.01, 0.06);
		ran(p, i % 2 ? "2" : "3", 3, 1 + (i % 7) * 0.01, 0.06);
	}
	cr_assert(said(p, says, sizeof(says)), "as one stage it would be");
	p = wall_profile();
	for (int i = 0; i < 24; i++) {
		ran(p, "1", i < 4 ? 3 : 4, (i < 4 ? 1 : 9) + (i % 5) * 0.01, 0.06);
		ran(p, i % 2 ? "2" : "3", i < 20 ? 3 : 4, (i < 20 ? 1 : 9) + (i % 5) * 0.01, 0.06);
	}
	cr_expect(!said(p, says, sizeof(says)), "%s", says);
}

/* Helping threads, such as Python's, are of their task. */
Test(finding_executor, time_of_helpers_is_their_tasks)
{
	struct sp_profile *p = stage_of(4, 10, 2.0, 0.06);
	size_t tasks = p->task_count;
	char says[512];

	for (size_t i = 0; i < tasks; i++) {
		struct sp_task_run t = p->tasks[i];
		bool first = strcmp(sp_dict_get_string(p->dict, t.executor, NULL), "1") == 0;

		t.helper = true;
		t.tid = 7;
		cr_assert_eq(sp_profile_add_task(p, &t), 0);
		add_time(p, (uint32_t)p->task_count, stack_of(p, "com/acme/Job", "wait"),
			first ? "disk" : "running", 2 * S);
	}
	cr_assert(said(p, says, sizeof(says)));
	cr_expect(strstr(says, "% of its tasks' time is disk, of the others' 0 %") &&
			  strstr(says, "(10 tasks beside 30)"),
		"%s", says);
}

/* Executors that are equal, with lengths and collections that differ widely from task to task:
 * chance names one in less than one of twenty recordings. The draw is always the same. */
Test(finding_executor, equal_ones_are_named_by_chance_alone)
{
	int named = 0;

	seed = 20261119;
	for (int round = 0; round < 200; round++) {
		struct sp_profile *p = wall_profile();
		char says[512], id[12];

		for (int i = 0; i < 60; i++) {
			snprintf(id, sizeof(id), "%d", 1 + i % 5);
			ran(p, id, 3 + i % 2, 0.5 * exp(2.5 * drawn()),
				drawn() < 0.3 ? drawn() : 0);
		}
		named += said(p, says, sizeof(says));
	}
	cr_expect(named <= 10, "%d of 200", named);
	printf("%d of 200 are named by chance\n", named);
}
