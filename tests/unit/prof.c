/* Profiles: sums, patterns, spelling of frames, and views. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "in/stack_builder.h"
#include "prof/load/python_graft.h"
#include "prof/model/frame_name.h"
#include "prof/model/glob.h"
#include "prof/model/symbolize.h"
#include "prof/model/tasks.h"
#include "prof/view/view.h"
#include "sample_profile.h"

Test(match, wildcards_at_the_ends_only)
{
	static const struct {
		const char *pattern, *name;
		bool want;
	} cases[] = {
		{"java/lang/Thread.run", "java/lang/Thread.run", true},
		{"java/lang/Thread.run", "java/lang/Thread.run2", false},
		{"java/lang/Thread.run", "xjava/lang/Thread.run", false},
		{"java/*", "java/lang/Thread.run", true},
		{"java/*", "xjava/lang", false},
		{"*.run", "java/lang/Thread.run", true},
		{"*.run", "java/lang/Thread.runs", false},
		{"*lang*", "java/lang/Thread.run", true},
		{"*lang*", "java/util/List.get", false},
		{"java*run", "java/lang/Thread.run", false}, /* a '*' inside is a plain one */
		{"java*run", "java*run", true},
		{"*", "", true},
		{"*", "anything", true},
		{"**", "anything", true},
		{"", "", true},
		{"", "x", false},
		{"*long-pattern", "n", false},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++)
		cr_assert(sp_glob(cases[i].pattern, cases[i].name) == cases[i].want, "%s on %s",
			cases[i].pattern, cases[i].name);
}

Test(framename, styles)
{
	struct sp_profile *p = sample_profile();
	struct {
		struct sp_frame_ref frame;
		struct sp_style style;
		const char *want;
	} cases[] = {
		{java(p, "a/b/C", "m", "(LX;)V", SP_FRAME_C2), {0}, "a/b/C.m"},
		{java(p, "a/b/C", "m", "(LX;)V", SP_FRAME_C2), {.simple = true}, "C.m"},
		{java(p, "a/b/C", "m", "(LX;)V", SP_FRAME_C2), {.signatures = true},
			"a/b/C.m(LX;)V"},
		{java(p, "a/b/C", "m", "()V", SP_FRAME_C2), {.annotate = true}, "a/b/C.m_[j]"},
		{java(p, "a/b/C", "m", "()V", SP_FRAME_C1), {.annotate = true}, "a/b/C.m_[1]"},
		{java(p, "a/b/C", "m", "()V", SP_FRAME_INLINED), {.annotate = true}, "a/b/C.m_[i]"},
		{java(p, "a/b/C", "m", "()V", SP_FRAME_INTERPRETED), {.annotate = true},
			"a/b/C.m_[0]"},
		{java(p, "a/b/C", "m", "()V", SP_FRAME_C2), {.dotted = true}, "a.b.C.m"},
		{java(p, "a/M$$Lambda$14/0x0000000800c03000", "apply", "", SP_FRAME_C2), {0},
			"a/M$$Lambda$14.apply"},
		{java(p, "a/M$$Lambda$14/1234", "apply", "", SP_FRAME_C2), {.simple = true},
			"M$$Lambda$14.apply"},
		{java(p, "a/M$$Lambda+0x00007f0a0c001000", "apply", "", SP_FRAME_C2), {0},
			"a/M$$Lambda.apply"},
		{java(p, "a/b/2D", "m", "", SP_FRAME_C2), {0}, "a/b.m"}, /* as async-profiler */
		{java(p, "NoPackage", "m", "", SP_FRAME_C2), {.simple = true}, "NoPackage.m"},
		{native(p, "/lib/libc.so.6", "read", SP_FRAME_NATIVE), {0}, "read"},
		{native(p, "/lib/libc.so.6", "read", SP_FRAME_NATIVE), {.libraries = true},
			"libc.so.6`read"},
		{native(p, "libx.so", "_ZN1A1fEi", SP_FRAME_NATIVE), {0}, "A::f"},
		{native(p, "libx.so", "_ZN1A1fEi", SP_FRAME_NATIVE), {.signatures = true},
			"A::f(int)"},
		{native(p, "libx.so", "_ZN1A1fEi", SP_FRAME_NATIVE), {.libraries = true},
			"libx.so`A::f"},
		{native(p, "/opt/libx.so", "0x12", SP_FRAME_NATIVE), {0}, "[libx.so]"},
		{native(p, "", "0x12", SP_FRAME_NATIVE), {0}, "[unknown]"},
		{native(p, "[kernel]", "do_futex", SP_FRAME_KERNEL), {.annotate = true},
			"do_futex_[k]"},
		{{0}, {0}, "[unknown]"},
		{native(p, "pyspark/worker.py", "main", SP_FRAME_PYTHON), {0},
			"main (pyspark/worker.py)"},
		{native(p, "pyspark/worker.py", "main", SP_FRAME_PYTHON), {.simple = true},
			"main (worker.py)"},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf b;

		sp_buf_init(&b);
		sp_frame_name(p->dict, &cases[i].frame, &cases[i].style, &b);
		cr_assert_str_eq(sp_buf_str(&b), cases[i].want, "%zu: %s", i, sp_buf_str(&b));
	}
	cr_assert(sp_frame_name_type(p->dict, &cases[15].frame) == SP_FRAME_CPP);
	cr_assert(sp_frame_name_type(p->dict, &cases[13].frame) == SP_FRAME_NATIVE);
	sp_profile_free(p);
}

Test(profile, sums_rows_and_totals)
{
	struct sp_profile *p = sample_profile();

	cr_assert(p->row_count == 9); /* ten were added, two of one key */
	cr_assert(p->samples == 140 && p->truncated == 1 && p->unknown == 1);
	cr_assert(p->lost_total == 4 && p->lost_count == 2);
	cr_assert(p->events[0].samples == 100 && p->events[0].weight == 1000000000);
	cr_assert(sp_profile_event(p, "wall", SP_UNIT_NS, 1, false) == 1);
	cr_assert(sp_profile_add(p, &(struct sp_sample){.event = 9}) == -EINVAL);
	sp_profile_free(p);
}

Test(profile, many_rows_are_found_again)
{
	struct sp_profile *p;

	cr_assert(sp_profile_new(&p, 1 << 20) == 0);
	cr_assert(sp_profile_event(p, "cpu", SP_UNIT_NS, 1, false) == 0);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 5000; i++)
			cr_assert(sp_profile_add(p, &(struct sp_sample){.stack = i % 100,
							    .thread = i,
							    .count = 1,
							    .weight = i}) == 0);
	cr_assert(p->row_count == 5000 && p->samples == 10000);
	for (size_t i = 0; i < p->row_count; i++)
		cr_assert(p->rows[i].count == 2 && p->rows[i].weight == 2 * p->rows[i].thread);
	sp_profile_free(p);
}

Test(profile, loose_rows_are_summed_where_they_are_near_many_or_merged)
{
	for (uint32_t many = 1; many <= 16; many *= 16) {
		struct sp_profile *p, *sum;

		cr_assert(sp_profile_new(&sum, 1 << 20) == 0);
		cr_assert(sp_profile_new_with(&p, sum->dict) == 0);
		cr_assert(sp_profile_event(p, "cpu", SP_UNIT_NS, 1, false) == 0);
		sp_profile_defer_dedup(p);
		for (uint32_t i = 0; i < many * 60000; i++)
			cr_assert(sp_profile_add(p, &(struct sp_sample){.stack = i / 2 % 10000,
							    .count = 1,
							    .weight = 2}) == 0);
		if (many == 1) /* few of those long ago are found by chance */
			cr_expect(p->row_count <= 30000 && p->row_count > 29900);
		else
			cr_expect_eq(p->row_count, 10000);
		cr_assert(sp_profile_merge(sum, p) == 0);
		cr_assert_eq(sum->row_count, 10000);
		for (size_t i = 0; i < sum->row_count; i++)
			cr_assert(
				sum->rows[i].count == many * 6 && sum->rows[i].weight == many * 12);
		cr_expect_eq(sum->samples, many * 60000);
		sp_profile_free(p);
		sp_profile_free(sum);
	}
}

Test(profile, loose_rows_whose_weight_is_yet_to_be_given_stay_apart)
{
	static const uint64_t weights[] = {2, 0, 2, 0};
	struct sp_profile *p;

	cr_assert(sp_profile_new(&p, 1 << 20) == 0);
	cr_assert(sp_profile_event(p, "wall", SP_UNIT_NS, 1, true) == 0);
	sp_profile_defer_dedup(p);
	for (size_t i = 0; i < SP_COUNT(weights); i++)
		cr_assert(sp_profile_add(
				  p, &(struct sp_sample){
					     .stack = 7, .count = 1, .weight = weights[i]}) == 0);
	cr_expect_eq(p->row_count, 4);
	cr_expect_eq(p->count, 4);
	cr_expect_eq(p->events[0].weight, 4);
	sp_profile_free(p);
}

Test(profile, sums_do_not_turn_over)
{
	struct sp_profile *p;
	uint64_t half = 1ull << 63;

	cr_assert(sp_profile_new(&p, 1 << 20) == 0);
	cr_assert(sp_profile_event(p, "samples", SP_UNIT_COUNT, 0, false) == 0);
	for (uint32_t i = 0; i < 4; i++)
		cr_assert(sp_profile_add(
				  p, &(struct sp_sample){
					     .thread = i % 3, .count = half, .weight = half}) == 0);
	cr_assert(p->samples == INT64_MAX && p->events[0].samples == INT64_MAX);
	cr_assert(p->events[0].weight == INT64_MAX && p->unknown == INT64_MAX);
	cr_assert(p->rows[0].count == INT64_MAX && p->rows[0].weight == INT64_MAX);
	for (int i = 0; i < 3; i++)
		sp_profile_lost(p, "ring full", half);
	sp_profile_lost(p, "late", 1);
	cr_assert(p->lost_total == INT64_MAX && p->lost[0].count == INT64_MAX);
	sp_profile_free(p);
}

/* A thread that stands still is one row, however long; one that runs may be many short ones. */
Test(profile, samples_of_what_is_measured_are_intervals)
{
	struct sp_profile *p, *other;
	struct sp_sample s = {.count = 1, .weight = 10000};

	cr_assert(sp_profile_new(&p, 1 << 20) == 0 && sp_profile_new(&other, 1 << 20) == 0);
	cr_assert(sp_profile_event(p, "wall", SP_UNIT_NS, 1000, true) == 0);
	cr_assert(sp_profile_add(p, &s) == 0 && p->samples == 10 && p->unknown == 10);
	for (s.thread = 1, s.weight = 100; s.thread <= 20; s.thread++)
		cr_assert(sp_profile_add(p, &s) == 0);
	cr_assert(p->samples == 12 && p->events[0].samples == 12 && p->count == 21);
	/* of other intervals together: what was recorded is all that can be counted */
	cr_assert(sp_profile_event(other, "wall", SP_UNIT_NS, 500, true) == 0);
	cr_assert(sp_profile_add(other, &s) == 0 && other->samples == 1);
	cr_assert(sp_profile_merge(p, other) == 0 && p->samples == 22 && p->unknown == 22);
	sp_profile_free(p);
	sp_profile_free(other);
}

static void check_view(
	const struct sp_view_opts *o, size_t stacks, uint64_t samples, uint64_t filtered)
{
	struct sp_profile *p = sample_profile();
	struct sp_view *v;

	cr_assert(sp_view_new(p, o, &v) == 0);
	cr_assert(v->stack_count == stacks && v->samples == samples && v->filtered == filtered,
		"%zu stacks, %lu samples, %lu filtered", v->stack_count, (long)v->samples,
		(long)v->filtered);
	sp_view_free(v);
	sp_profile_free(p);
}

Test(view, filters)
{
	const char *hash[] = {"java/lang/String.hashCode"}, *dotted[] = {"java.lang.String.hash*"};
	const char *task[] = {"*TaskRunner*"}, *client[] = {"shuffle-client-*"};
	const char *simple[] = {"String.hashCode"};

	check_view(&(struct sp_view_opts){0}, 5, 100, 0);
	check_view(&(struct sp_view_opts){.include = hash, .include_count = 1}, 2, 21, 79);
	check_view(&(struct sp_view_opts){.include = dotted, .include_count = 1}, 2, 21, 79);
	check_view(&(struct sp_view_opts){.exclude = hash, .exclude_count = 1}, 3, 79, 21);
	check_view(
		&(struct sp_view_opts){
			.include = task, .include_count = 1, .exclude = hash, .exclude_count = 1},
		1, 75, 25);
	check_view(&(struct sp_view_opts){.include = client, .include_count = 1}, 0, 0, 100);
	check_view(&(struct sp_view_opts){.include = client, .include_count = 1, .threads = true},
		3, 7, 93);
	check_view(&(struct sp_view_opts){.include = simple, .include_count = 1}, 0, 0, 100);
	check_view(
		&(struct sp_view_opts){.include = simple, .include_count = 1, .style.simple = true},
		2, 21, 79);
	check_view(&(struct sp_view_opts){.event = "wall"}, 2, 40, 0);
	check_view(&(struct sp_view_opts){.event = "wall", .state = "lock"}, 1, 20, 20);
	check_view(&(struct sp_view_opts){.event = "none"}, 0, 0, 0);
}

/* One thread of 50 intervals beside a hundred of a tenth: 60 together, however they are split. */
Test(view, short_stacks_weigh_what_they_do_together)
{
	struct sp_profile *p;
	struct sp_view *v;

	cr_assert(sp_profile_new(&p, 1 << 20) == 0);
	cr_assert(sp_profile_event(p, "wall", SP_UNIT_NS, 50, true) == 0);
	for (uint32_t i = 0; i <= 100; i++) {
		char name[16];
		struct sp_sample s = {.count = 1, .weight = i ? 5 : 2500};

		snprintf(name, sizeof(name), "[t tid=%u]", i + 1);
		s.thread = sp_stack_builder_thread(p->dict, name, strlen(name));
		cr_assert(s.thread && sp_profile_add(p, &s) == 0);
	}
	cr_assert(sp_view_new(p, &(struct sp_view_opts){.threads = true}, &v) == 0);
	cr_assert(v->stack_count == 101 && v->samples == 60, "%lu", (long)v->samples);
	cr_assert(v->stacks[0].samples == 50 && v->stacks[1].samples == 1);
	sp_view_free(v);
	sp_profile_free(p);
}

Test(view, depth_keeps_the_leaf_and_merges)
{
	struct sp_profile *p = sample_profile();
	struct sp_view_opts o = {.depth = 1};
	struct sp_view *v;

	cr_assert(sp_view_new(p, &o, &v) == 0);
	cr_assert(v->stack_count == 5);
	cr_assert(v->stacks[0].count == 1 && v->stacks[0].samples == 75);
	sp_view_free(v);
	sp_profile_free(p);
}

Test(view, types_are_kept_apart_on_request)
{
	struct sp_profile *p;
	struct sp_view *v;

	cr_assert(sp_profile_new(&p, 1 << 20) == 0);
	sp_profile_event(p, "cpu", SP_UNIT_NS, 1, false);
	for (int type = SP_FRAME_INTERPRETED; type <= SP_FRAME_C2; type++) {
		struct sp_frame_ref f = java(p, "A", "m", "", (enum sp_frame_type)type);
		struct sp_sample s = {
			.stack = sp_dict_stack(p->dict, &f, 1, 0), .count = 1, .weight = 1};

		cr_assert(sp_profile_add(p, &s) == 0);
	}
	cr_assert(sp_view_new(p, &(struct sp_view_opts){0}, &v) == 0);
	cr_assert(v->stack_count == 1 && v->stacks[0].samples == 3);
	sp_view_free(v);
	cr_assert(sp_view_new(p, &(struct sp_view_opts){.split_types = true}, &v) == 0);
	cr_assert(v->stack_count == 3);
	cr_assert(sp_view_get_frame(v, v->stacks[2].frames[0]).type == SP_FRAME_C2);
	sp_view_free(v);
	sp_profile_free(p);
}

static int find_even(
	void *ctx, const char *module, const char *build_id, uint64_t addr, const char **ret_name)
{
	(*(int *)ctx)++;
	cr_assert_str_eq(module, "liba.so");
	cr_assert_str_eq(build_id, "beef");
	if (addr % 2)
		return -ENOENT;
	*ret_name = addr < 0x100 ? "low" : "high";
	return 0;
}

Test(resolve, names_are_put_in_and_rows_merge)
{
	struct sp_profile *p;
	struct sp_view *v;
	int asked = 0;

	cr_assert(sp_profile_new(&p, 1 << 20) == 0);
	sp_profile_event(p, "cpu", SP_UNIT_NS, 1, false);
	for (int i = 0; i < 6; i++) { /* 0x10 0x12 0x14: low, 0x102: high, odd ones: no name */
		static const char *const names[] = {
			"0x10", "0x12", "0x102", "0x11", "0x14", "0x13"};
		struct sp_method m = {.class_id = str(p, "liba.so"),
			.name_id = str(p, names[i]),
			.sig_id = str(p, "()Lbeef;"),
			.native = 1,
			.unresolved = 1};
		struct sp_frame_ref f = {sp_dict_method(p->dict, &m), -1, -1, SP_FRAME_NATIVE};
		struct sp_sample s = {
			.stack = sp_dict_stack(p->dict, &f, 1, 0), .count = 1, .weight = 1};

		cr_assert(sp_profile_add(p, &s) == 0);
	}
	cr_assert(p->row_count == 6);
	cr_assert(sp_profile_symbolize(p, find_even, &asked) == 4);
	cr_assert(asked == 6 && p->row_count == 4 && p->samples == 6);
	cr_assert(p->rows[0].count == 3);
	cr_assert(sp_view_new(p, &(struct sp_view_opts){0}, &v) == 0);
	cr_assert(v->stack_count == 3 && v->samples == 6); /* low, high, [liba.so] */
	cr_assert_str_eq(sp_view_get_frame(v, v->stacks[0].frames[0]).name, "low");
	sp_view_free(v);
	cr_assert(sp_profile_symbolize(p, find_even, &asked) >= 0);
	cr_assert(p->row_count == 4 && p->samples == 6); /* once more changes nothing */
	sp_profile_free(p);
}

static void add_address(struct sp_profile *p, const char *address)
{
	struct sp_method m = {.class_id = str(p, "liba.so"),
		.name_id = str(p, address),
		.sig_id = str(p, "()Lbeef;"),
		.native = 1,
		.unresolved = 1};
	struct sp_frame_ref f = {sp_dict_method(p->dict, &m), -1, -1, SP_FRAME_NATIVE};
	struct sp_sample s = {.stack = sp_dict_stack(p->dict, &f, 1, 0), .count = 1, .weight = 1};

	cr_assert(sp_profile_add(p, &s) == 0);
}

Test(resolve, what_one_that_shares_the_dictionary_resolved_is_not_asked_again)
{
	static const char *const addresses[][3] = {
		{"0x10", "0x12", "0x11"}, {"0x11", "0x12", "0x102"}};
	struct sp_symbolized resolved = {0};
	struct sp_profile *p[2];
	int asked = 0;

	cr_assert(sp_profile_new(&p[0], 1 << 20) == 0);
	cr_assert(sp_profile_new_with(&p[1], p[0]->dict) == 0);
	for (int i = 0; i < 2; i++) {
		sp_profile_event(p[i], "cpu", SP_UNIT_NS, 1, false);
		for (int k = 0; k < 3; k++)
			add_address(p[i], addresses[i][k]);
		cr_assert(sp_profile_symbolize_more(p[i], &resolved, find_even, &asked) == 0);
	}
	cr_assert(asked == 4 && resolved.named == 3);
	cr_assert(p[0]->row_count == 2); /* low, and what has no name */
	cr_assert(p[1]->row_count == 3 && p[1]->rows[0].stack == p[0]->rows[1].stack);
	cr_assert(p[1]->rows[1].stack == p[0]->rows[0].stack);
	sp_symbolized_done(&resolved);
	sp_profile_free(p[0]);
	sp_profile_free(p[1]);
}

static uint32_t add_task(struct sp_profile *p, int32_t stage, int64_t tid)
{
	sp_profile_add_task(p, &(struct sp_task_run){.name = {tid, stage, 0, 0, 0}});
	return (uint32_t)p->task_count;
}

Test(python, workers_stand_on_the_frame_of_their_task_that_waits)
{
	static const char reader[] = "org/apache/spark/api/python/BasePythonRunner$ReaderIterator";
	struct sp_profile *p = sample_profile();
	struct sp_frame_ref f[] = {native(p, "libc.so.6", "read", SP_FRAME_NATIVE),
		java(p, "org/apache/spark/api/python/PythonRunner$$anon$5", "read", "",
			SP_FRAME_C2),
		java(p, reader, "hasNext", "", SP_FRAME_C2), java(p, "X", "run", "", SP_FRAME_C2)};
	struct sp_frame_ref py = native(p, "job.py", "clean", SP_FRAME_PYTHON);
	uint32_t jvm = sp_dict_stack(p->dict, f, 4, 0), python = sp_dict_stack(p->dict, &py, 1, 0);
	uint32_t worker = thread(p, "python-worker-7", 7), java_thread = thread(p, "x", 8);
	uint32_t own = add_task(p, 5, 42), same = add_task(p, 5, 42), mate = add_task(p, 5, 43);
	uint32_t other = add_task(p, 6, 44), unnamed = add_task(p, -1, 45);
	uint32_t unknown = add_task(p, -1, 46);
	/* of the same task; of another task of its stage; of another stage; between tasks; of
	 * another task, where of neither the stage is known */
	const struct {
		uint32_t task, depth;
	} cases[] = {{same, 5}, {mate, 5}, {other, 2}, {0, 2}, {unknown, 2}};

	sp_profile_restart(p);
	p->row_count = 0;
	sp_profile_reindex(p);
	sp_profile_add(p,
		&(struct sp_sample){.stack = jvm, .thread = java_thread, .count = 1, .task = own});
	sp_profile_add(
		p, &(struct sp_sample){
			   .stack = jvm, .thread = java_thread, .count = 1, .task = unnamed});
	for (size_t i = 0; i < SP_COUNT(cases); i++)
		sp_profile_add(p, &(struct sp_sample){.stack = python,
					  .thread = worker,
					  .count = 1,
					  .task = cases[i].task});
	cr_assert_eq(sp_python_graft_join(p), 0);
	cr_assert_eq(p->row_count, 2 + SP_COUNT(cases));
	cr_assert_eq(p->rows[0].stack, jvm);
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		const struct sp_stack *s = sp_dict_get_stack(p->dict, p->rows[2 + i].stack);
		SP_AUTO_BUF struct sp_buf b = {0};

		cr_assert_eq(s->count, cases[i].depth, "case %zu: %u", i, s->count);
		cr_assert_eq(s->frames[0].method, py.method);
		sp_frame_name(p->dict, &s->frames[1], &(struct sp_style){0}, &b);
		cr_assert_str_eq(sp_buf_str(&b), "[python worker]");
		if (s->count == 5)
			cr_assert_eq(s->frames[2].method, f[1].method);
	}
	sp_profile_free(p);
}

/* Three recordings, of the application and the name that each knows. */
Test(merge, several_of_one_application_name_it)
{
	static const char *const cases[][7] = {
		{"app-1", "x", "app-1", "x", "app-1", "x", "several of app-1 \"x\""},
		{"app-1", "", "app-1", "", "app-1", "x", "several of app-1 \"x\""},
		{"app-1", "", "app-1", "", "app-1", "", "several of app-1"},
		{"app-1", "x", "app-2", "x", "app-1", "x", "several"},
		{"app-1", "x", "app-1", "x", "", "", "several"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sp_profile *p[3];

		for (int k = 0; k < 3; k++) {
			const char *app = cases[i][2 * k], *name = cases[i][2 * k + 1];
			struct sp_dict *d = (p[k] = sample_profile())->dict;

			p[k]->target_id = sp_dict_string(d, &"012"[k], 1);
			p[k]->app_id = *app ? sp_dict_string(d, app, strlen(app)) : 0;
			p[k]->app_name = *name ? sp_dict_string(d, name, strlen(name)) : 0;
			cr_assert(k == 0 || sp_profile_merge(p[0], p[k]) == 0);
		}
		cr_expect_str_eq(
			sp_dict_get_string(p[0]->dict, p[0]->target_id, NULL), cases[i][6]);
		for (int k = 0; k < 3; k++)
			sp_profile_free(p[k]);
	}
}
