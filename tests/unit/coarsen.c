/* Folding: less is told apart, and nothing is lost of the sums. */
#include <criterion/criterion.h>

#include "base/cleanup.h"
#include "out/stage_table.h"
#include "prof/model/coarsen.h"
#include "prof/model/rare_stacks.h"
#include "prof/model/tasks.h"
#include "prof/model/timeline.h"
#include "sample_profile.h"

enum { EXECUTORS = 4, STAGES = 3, TASKS = 10, STACKS = 20, SAMPLES = 50 };
#define START 1790000000000000000ull
#define TOOK  1000000000ull

/* Tasks one after the other, each on a thread of its own; the last of all takes five times as long.
 */
static struct sp_profile *executor(unsigned number)
{
	struct sp_profile *p;
	char name[8];
	int wall;

	cr_assert_eq(sp_profile_new(&p, 16u << 20), 0);
	wall = sp_profile_event(p, "wall", SP_UNIT_NS, 50000000, true);
	snprintf(name, sizeof(name), "%u", number);
	p->executor_id = str(p, name);
	p->start_ns = START;
	p->duration_ns = (uint64_t)STAGES * TASKS * TOOK;
	sp_profile_expect(p, START, START + p->duration_ns, 0);
	for (int t = 0; t < STAGES * TASKS; t++) {
		bool last = number == EXECUTORS - 1 && t == STAGES * TASKS - 1;
		struct sp_task_run run = {
			.name = {(int64_t)number * 1000 + t, t / TASKS, 0, t % TASKS, 0},
			.start_ns = START + (uint64_t)t * TOOK,
			.begun = true,
			.ended = true,
			.executor = p->executor_id};

		run.end_ns = run.start_ns + (last ? 5 : 1) * TOOK;
		cr_assert_eq(sp_profile_add_task(p, &run), 0);
		for (int i = 0; i < SAMPLES; i++) {
			char method[16];
			struct sp_frame_ref f;
			struct sp_sample s = {.event = (uint32_t)wall,
				.thread = thread(p, "worker", 100 + (uint32_t)t),
				.task = (uint32_t)t + 1,
				.count = 1,
				.weight = 20000000};

			snprintf(method, sizeof(method), "m%d", (t * 7 + i) % STACKS);
			f = java(p, "a/B", method, "()V", SP_FRAME_C2);
			s.stack = sp_dict_stack(p->dict, &f, 1, 0);
			cr_assert_eq(sp_profile_add_at(
					     p, &s, run.start_ns + (uint64_t)i * TOOK / SAMPLES, 0),
				0);
		}
	}
	return p;
}

static struct sp_profile *all(enum sp_fold before)
{
	struct sp_profile *p = executor(0);

	cr_assert_eq(sp_profile_coarsen(p, before), 0);
	for (unsigned i = 1; i < EXECUTORS; i++) {
		struct sp_profile *next = executor(i);

		cr_assert_eq(sp_profile_coarsen(next, before), 0);
		cr_assert_eq(sp_profile_merge(p, next), 0);
		sp_profile_free(next);
	}
	return p;
}

/* The table of stages is the same as of a profile that tells everything apart. */
static void expect_stages(const struct sp_profile *p)
{
	struct sp_stage_table s;

	cr_assert_eq(sp_stage_table_init(&s, p, 0, NULL), 0);
	cr_expect_eq(s.count, STAGES);
	for (size_t i = 0; i < s.count; i++) {
		const struct sp_stage_row *r = &s.rows[i];
		bool last = r->stage == STAGES - 1;

		cr_expect_eq(r->tasks, EXECUTORS * TASKS);
		cr_expect_eq(r->run_ns, EXECUTORS * TASKS * TOOK + (last ? 4 * TOOK : 0));
		cr_expect_eq(r->weight, (uint64_t)EXECUTORS * TASKS * SAMPLES * 20000000);
		cr_expect_eq(r->median_ns, TOOK);
		cr_expect_eq(sp_stage_table_lags(r), last);
		cr_expect(!last || r->max_task == (EXECUTORS - 1) * 1000 + STAGES * TASKS - 1);
	}
	sp_stage_table_done(&s);
}

static uint64_t sum_of(const struct sp_profile *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->row_count; i++)
		sum += p->rows[i].weight;
	return sum;
}

Test(coarsen, sums_and_stages_stay)
{
	static const enum sp_fold folds[] = {SP_FOLD_NOTHING, SP_FOLD_STAGES, SP_FOLD_EXECUTORS};

	for (size_t before = 0; before < SP_COUNT(folds); before++) {
		for (size_t after = before; after < SP_COUNT(folds); after++) {
			struct sp_profile *p = all(folds[before]);
			size_t rows = p->row_count;

			cr_assert_eq(sp_profile_coarsen(p, folds[after]), 0);
			cr_expect(after == before || p->row_count <= rows);
			cr_expect_eq(sum_of(p),
				(uint64_t)EXECUTORS * STAGES * TASKS * SAMPLES * 20000000);
			cr_expect_eq(sum_of(p), p->events[0].weight);
			/* and one for what each executor did in no task */
			cr_expect(folds[after] != SP_FOLD_STAGES ||
				  p->task_count <= EXECUTORS * (STAGES + 1));
			cr_expect(folds[after] != SP_FOLD_EXECUTORS || p->task_count == STAGES);
			expect_stages(p);
			sp_profile_free(p);
		}
	}
}

Test(coarsen, goes_on_until_the_rows_fit)
{
	static const size_t limits[] = {100000, 4000, 1200, 300, 80};
	size_t before = SIZE_MAX;

	for (size_t i = 0; i < SP_COUNT(limits); i++) {
		struct sp_profile *p = all(SP_FOLD_NOTHING);
		char text[400];

		cr_assert_eq(sp_profile_bound(p, limits[i]), 0);
		cr_expect_leq(p->row_count, limits[i]);
		cr_expect_leq(p->row_count, before);
		before = p->row_count;
		sp_profile_describe_coarsened(p, text, sizeof(text));
		cr_expect_eq(strlen(text) > 0, i > 0);
		cr_expect_eq(sum_of(p), (uint64_t)EXECUTORS * STAGES * TASKS * SAMPLES * 20000000);
		expect_stages(p);
		sp_profile_free(p);
	}
}

Test(coarsen, what_cannot_be_told_less_apart_stays)
{
	struct sp_profile *p = all(SP_FOLD_NOTHING);

	cr_assert_eq(sp_profile_bound(p, 1), 0);
	cr_expect_eq(p->row_count, STACKS * STAGES, "a row of each stack of each stage");
	cr_expect_eq(sum_of(p), p->events[0].weight);
	sp_profile_free(p);
}

/* Files of one recording: the first has a task by the name of its thread, the second its times. */
Test(join_tasks, one_that_went_on_in_another_file_is_one)
{
	struct sp_profile *p = executor(0);
	struct sp_task_run named = {.name = {3, 0, 0, 3, 0}}, other = {.name = {77, 0, 0, 7, 0}};
	uint64_t samples = p->events[0].samples;
	size_t rows = p->row_count;

	for (size_t i = 0; i < p->task_count; i++)
		p->tasks[i].app = str(p, "app-1");
	named.app = other.app = str(p, "app-1");
	named.executor = other.executor = p->executor_id;
	cr_assert_eq(sp_profile_add_task(p, &named), 0);
	cr_assert_eq(sp_profile_add_task(p, &other), 0);
	for (size_t i = 0; i < p->row_count; i++)
		if (p->rows[i].task == 4 && i % 2)
			p->rows[i].task = STAGES * TASKS + 1;
	sp_profile_reindex(p);
	cr_assert_eq(sp_profile_join_tasks(p), 0);
	cr_expect_eq(p->events[0].samples, samples);
	cr_expect_eq(p->row_count, rows);
	for (size_t i = 0; i < p->row_count; i++)
		cr_expect_neq(p->rows[i].task, STAGES * TASKS + 1);
	cr_expect_eq(p->tasks[STAGES * TASKS].name.task_id, -1);
	cr_expect_eq(p->tasks[STAGES * TASKS + 1].name.task_id, 77, "nobody told when it was");
	sp_profile_free(p);
}

enum { RARE = 1000, HOT = 10 };

/* Different stacks of a common frame and three of their own; the last ones are hot. */
static struct sp_profile *many_stacks(void)
{
	struct sp_profile *p;
	int cpu;

	cr_assert_eq(sp_profile_new(&p, 16u << 20), 0);
	cpu = sp_profile_event(p, "cpu", SP_UNIT_NS, 1000, false);
	for (int i = 0; i < RARE + HOT; i++) {
		struct sp_frame_ref f[4];
		char name[16];
		struct sp_sample s = {.event = (uint32_t)cpu, .count = 1, .weight = 1000};

		for (int k = 0; k < 4; k++) {
			snprintf(name, sizeof(name), "m%d", k == 3 ? 0 : k == 2 ? i % 5 : i);
			f[k] = java(p, "a/B", name, "()V", SP_FRAME_C2);
			f[k].line = i + 1;
		}
		s.stack = sp_dict_stack(p->dict, f, 4, 0);
		if (i >= RARE)
			s.count = s.weight = 50000;
		cr_assert_eq(sp_profile_add(p, &s), 0);
	}
	return p;
}

Test(coarsen, rare_stacks_are_cut_and_the_sums_stay)
{
	struct sp_profile *p = many_stacks();
	uint64_t count = p->count, weight = p->events[0].weight, sum = 0;
	size_t whole = 0;

	cr_assert_eq(sp_profile_fold_rare(p, 40), 0);
	cr_expect_leq(p->row_count, 40);
	for (size_t i = 0; i < p->row_count; i++) {
		const struct sp_stack *st = sp_dict_get_stack(p->dict, p->rows[i].stack);
		const struct sp_method *leaf = sp_dict_get_method(p->dict, st->frames[0].method);
		bool cut = strcmp(sp_dict_get_string(p->dict, leaf->name_id, NULL),
				   SP_RARE_STACKS) == 0;

		sum += p->rows[i].count;
		whole += !cut;
		if (p->rows[i].count == 50000)
			cr_expect(!cut, "hot stacks stay");
		else if (cut)
			cr_expect_eq(st->count, 3, "two outermost frames fit: five and one");
	}
	cr_expect_eq(whole, 20);
	cr_expect_eq(sum, count);
	cr_expect_eq(p->count, count);
	cr_expect_eq(p->events[0].weight, weight);
	cr_assert_eq(p->note_count, 1);
	cr_expect(strstr(
		sp_dict_get_string(p->dict, p->notes[0].text_id, NULL), "different stacks (1010)"));
	sp_profile_free(p);
}

Test(coarsen, few_stacks_are_left_alone)
{
	struct sp_profile *p = many_stacks();

	cr_assert_eq(sp_profile_fold_rare(p, RARE + HOT), 0);
	cr_expect_eq(p->row_count, RARE + HOT);
	cr_expect_eq(p->note_count, 0);
	sp_profile_free(p);
}

Test(join_tasks, several_executors_say_how_many)
{
	static const struct {
		const char *target, *names, *says;
	} cases[] = {
		{"several of app-1 \"x\"", "12134", "4 executors of app-1 \"x\""},
		{"several", "12", "2 executors"},
		{"several of app-1", "1d2", "driver and 2 executors of app-1"},
		{"several of app-1", "1", "several of app-1"},
		{"severals", "12", "severals"},
		{"pid 1", "12", "pid 1"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sp_profile *p;

		cr_assert_eq(sp_profile_new(&p, 1u << 20), 0);
		p->target_id = str(p, cases[i].target);
		for (const char *s = cases[i].names; *s; s++) {
			struct sp_task_run t = {.name = {s - cases[i].names, 0, 0, 0, 0}};

			t.executor = *s == 'd' ? str(p, "driver") : sp_dict_string(p->dict, s, 1);
			cr_assert_eq(sp_profile_add_task(p, &t), 0);
		}
		cr_assert_eq(sp_profile_join_tasks(p), 0);
		cr_expect_str_eq(sp_dict_get_string(p->dict, p->target_id, NULL), cases[i].says);
		sp_profile_free(p);
	}
}

/* Two files of a recording: the task ran when the first ended, and began before the second. */
Test(merge, a_task_in_two_files_is_one)
{
	for (unsigned order = 0; order < 2; order++) {
		struct sp_task_run first = {.name = {7, 1, 0, 0, 0},
			.tid = 5,
			.start_ns = 100,
			.end_ns = 200,
			.begun = true};
		struct sp_task_run second = first, other = first;
		struct sp_profile *p, *q;

		second.end_ns = 300;
		second.ended = true;
		other.name.task_id = 8;
		cr_assert(sp_profile_new(&p, 1 << 20) == 0 && sp_profile_new(&q, 1 << 20) == 0);
		cr_assert(sp_profile_event(q, "cpu", SP_UNIT_NS, 1, false) == 0);
		cr_assert_eq(sp_profile_add_task(p, order ? &second : &first), 0);
		cr_assert_eq(sp_profile_add_task(q, &other), 0);
		cr_assert_eq(sp_profile_add_task(q, order ? &first : &second), 0);
		cr_assert(sp_profile_add(
				  q, &(struct sp_sample){.task = 2, .count = 1, .weight = 1}) == 0);
		cr_assert_eq(sp_profile_merge(p, q), 0);
		cr_assert_eq(p->task_count, 2);
		cr_expect(p->tasks[0].ended && p->tasks[0].start_ns == 100 &&
			  p->tasks[0].end_ns == 300);
		cr_expect_eq(p->rows[0].task, 1);
		sp_profile_free(p);
		sp_profile_free(q);
	}
}

/* A bucket begins with its first moment, also where it is looked for beside one that was found. */
Test(timeline, a_moment_on_a_boundary_is_in_the_bucket_behind_it)
{
	const uint64_t bucket_ns = SP_TIMELINE_FINEST_NS;
	const struct sp_timed times[] = {
		{START, 0}, {START + bucket_ns - 1, 0}, {START + bucket_ns, 0}};
	struct sp_sample rows[SP_COUNT(times)] = {{0}};
	struct sp_profile *p;

	cr_assert_eq(sp_profile_new(&p, 1u << 20), 0);
	cr_assert_eq(sp_profile_event(p, "cpu", SP_UNIT_NS, 1, false), 0);
	for (unsigned i = 0; i < SP_COUNT(times); i++)
		rows[i] = (struct sp_sample){.thread = i + 1, .count = 1, .weight = 1};
	cr_assert_eq(sp_profile_add_many_at(p, rows, times, SP_COUNT(times)), 0);
	cr_assert_eq(p->bucket_ns, bucket_ns);
	cr_assert_eq(p->row_count, SP_COUNT(times));
	for (size_t i = 0; i < p->row_count; i++)
		cr_expect_eq(p->rows[i].bucket, p->rows[i].thread == 3 ? 1 : 0);
	sp_profile_free(p);
}

Test(timeline, buckets_widen_where_the_last_one_ends)
{
	for (unsigned behind = 0; behind < 2; behind++) {
		const uint64_t room_ns = SP_TIMELINE_BUCKETS * SP_TIMELINE_FINEST_NS;
		struct sp_sample s = {.count = 1, .weight = 1};
		struct sp_profile *p;

		cr_assert_eq(sp_profile_new(&p, 1u << 20), 0);
		cr_assert_eq(sp_profile_event(p, "cpu", SP_UNIT_NS, 1, false), 0);
		cr_assert_eq(sp_profile_add_at(p, &s, START, 0), 0);
		cr_assert_eq(sp_profile_add_at(p, &s, START + room_ns - 1 + behind, 0), 0);
		cr_expect_eq(p->bucket_ns, SP_TIMELINE_FINEST_NS << behind);
		cr_assert_eq(p->row_count, 2);
		for (size_t i = 0; i < p->row_count; i++)
			cr_expect_lt(p->rows[i].bucket, SP_TIMELINE_BUCKETS);
		sp_profile_free(p);
	}
}
