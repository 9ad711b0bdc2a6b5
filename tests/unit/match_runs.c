/* Stages and generated classes of two runs that are the same under other numbers. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "prof/spark/match_runs.h"
#include "base/cleanup.h"
#include "in/plan_shape.h"
#include "prof/model/tasks.h"
#include "prof/spark/loose_words.h"
#include "prof/spark/run_stages.h"
#include "sample_profile.h"

#define GENERATED                                    \
	"org/apache/spark/sql/catalyst/expressions/" \
	"GeneratedClass$GeneratedIteratorForCodegenStage"

/* A stage of a run: its number, words, operators, what its samples are in, and how many tasks it
 * has beside one. */
struct stage {
	int32_t number;
	const char *name, *operators, *cls, *method;
	unsigned more;
};

static struct sp_profile *run_of(const char *app, const struct stage *stages, size_t n)
{
	struct sp_profile *p;
	uint32_t event;

	cr_assert_eq(sp_profile_new(&p, 16u << 20), 0);
	event = (uint32_t)sp_profile_event(p, "wall", SP_UNIT_NS, 1000, true);
	for (size_t i = 0; i < n; i++) {
		const struct stage *s = &stages[i];
		struct sp_frame_ref f[] = {java(p, s->cls, s->method, "()V", SP_FRAME_C2),
			java(p, s->cls, "processNext", "()V", SP_FRAME_C2)};
		struct sp_task_run t = {.name = {(int64_t)i, s->number, 0, 0, 0},
			.app = str(p, app),
			.start_ns = 1000 + i,
			.end_ns = 2000 + i,
			.begun = true,
			.ended = true};
		struct sp_stage *about = sp_profile_stage(p, t.app, s->number, 0);
		struct sp_sample x = {.stack = sp_dict_stack(p->dict, f, 2, 0),
			.event = event,
			.count = 100,
			.weight = 100000,
			.task = (uint32_t)i + 1};

		about->name = s->name ? str(p, s->name) : 0;
		about->operators = s->operators ? str(p, s->operators) : 0;
		cr_assert_eq(sp_profile_add_task(p, &t), 0);
		cr_assert_eq(sp_profile_add(p, &x), 0);
	}
	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; k < stages[i].more; k++) {
			struct sp_task_run t = p->tasks[i];

			t.name.task_id = (int64_t)(1000 * (i + 1) + k);
			cr_assert_eq(sp_profile_add_task(p, &t), 0);
		}
	return p;
}

static const char *leaf_class(struct sp_profile *p, size_t row)
{
	const struct sp_stack *st = sp_dict_get_stack(p->dict, p->rows[row].stack);

	return sp_dict_get_string(
		p->dict, sp_dict_get_method(p->dict, st->frames[0].method)->class_id, NULL);
}

/* "4→7 -→9 2→-": pairs in their order. */
static void pairs_of(const struct sp_run_match *m, char *buf, size_t size)
{
	int at = 0;

	buf[0] = 0;
	for (size_t i = 0; i < m->count; i++) {
		const struct sp_run_stage *a = &m->pairs[i].of[0], *b = &m->pairs[i].of[1];

		at += snprintf(buf + at, size - (size_t)at, "%s%d>%d", i ? " " : "",
			a->there ? a->stage : -1, b->there ? b->stage : -1);
	}
}

static void expect(
	const struct stage *a, size_t na, const struct stage *b, size_t nb, const char *want)
{
	struct sp_profile *p[] = {run_of("app-1", a, na), run_of("app-2", b, nb)};
	struct sp_run_match m;
	char is[200];

	cr_assert_eq(sp_run_match_init(&m, p[0], p[1]), 0);
	pairs_of(&m, is, sizeof(is));
	cr_expect_str_eq(is, want);
	sp_run_match_done(&m);
	sp_profile_free(p[0]);
	sp_profile_free(p[1]);
}

Test(match_runs, stages_by_call_site_whatever_their_numbers_and_lines)
{
	static const struct stage a[] = {{4, "collect at /a/job.py:35", NULL, "org/acme/X", "x"},
		{5, "count at /a/job.py:40", NULL, "org/acme/Y", "y"}};
	static const struct stage b[] = {{4, "count at /b/c/job.py:52", NULL, "org/acme/Y", "y"},
		{9, "collect at /b/c/job.py:47", NULL, "org/acme/X", "x"}};

	expect(a, 2, b, 2, "5>4 4>9");
}

Test(match_runs, the_same_words_and_other_methods_are_no_partners)
{
	static const struct stage a[] = {{1, "collect at job.py:1", NULL, "org/acme/X", "x"}};
	static const struct stage b[] = {{1, "collect at job.py:1", NULL, "org/acme/Y", "y"},
		{2, "collect at job.py:1", NULL, "org/acme/X", "x"}};

	expect(a, 1, b, 2, "-1>1 1>2");
}

Test(match_runs, operators_of_the_stage_decide_where_an_event_log_tells_them)
{
	static const struct stage a[] = {{1, "collect at a.py:1", "Exchange, Sort", "o/X", "x"},
		{2, "collect at a.py:1", "Exchange, HashAggregate", "o/X", "x"}};
	static const struct stage b[] = {
		{7, "collect at a.py:9", "Exchange, HashAggregate", "o/X", "x"},
		{8, "collect at a.py:9", "Exchange, Sort", "o/X", "x"}};

	expect(a, 2, b, 2, "2>7 1>8");
}

Test(match_runs, equals_are_taken_in_their_order_and_the_rest_is_listed)
{
	static const struct stage a[] = {{1, "k-means", NULL, "o/X", "x"},
		{2, "k-means", NULL, "o/X", "x"}, {3, "k-means", NULL, "o/X", "x"}};
	static const struct stage b[] = {
		{11, "k-means", NULL, "o/X", "x"}, {12, "k-means", NULL, "o/X", "x"}};

	expect(a, 2, b, 2, "1>11 2>12");
	expect(a, 3, b, 2, "1>11 2>12 3>-1");
}

/* Both sides of a join begin at once, and which is the first is chance. */
Test(match_runs, of_equals_those_with_as_many_tasks_are_partners)
{
	static const struct stage a[] = {{58, "a join", NULL, "o/X", "x", 3},
		{59, "a join", NULL, "o/X", "x", 1}, {60, "a join", NULL, "o/X", "x", 0}};
	static const struct stage b[] = {{11, "a join", NULL, "o/X", "x", 1},
		{12, "a join", NULL, "o/X", "x", 3}, {13, "a join", NULL, "o/X", "x", 0}};
	static const struct stage more[] = {
		{11, "a join", NULL, "o/X", "x", 31}, {12, "a join", NULL, "o/X", "x", 15}};

	expect(a, 3, b, 3, "59>11 58>12 60>13");
	expect(a, 2, more, 2, "58>11 59>12");
}

Test(match_runs, stages_without_words_by_their_methods)
{
	static const struct stage a[] = {{1, NULL, NULL, "org/acme/X", "x"},
		{2, NULL, NULL, "org/acme/Y", "y"}, {3, NULL, NULL, "org/acme/Z", "z"}};
	static const struct stage b[] = {
		{5, NULL, NULL, "org/acme/Y", "y"}, {6, NULL, NULL, "org/acme/X", "x"}};

	expect(a, 3, b, 2, "2>5 1>6 3>-1");
}

Test(match_runs, generated_classes_by_their_operators)
{
	static const struct stage a[] = {
		{1, "q", NULL, GENERATED "5", "hashAgg_doAggregateWithKeys_0"},
		{2, "r", NULL, GENERATED "1$sort_Map_0", "findOrInsert"}};
	static const struct stage b[] = {
		{8, "q", NULL, GENERATED "2", "hashAgg_doAggregateWithKeys_0"},
		{9, "r", NULL, GENERATED "4$sort_Map_0", "findOrInsert"}};
	struct sp_profile *p[] = {run_of("app-1", a, 2), run_of("app-2", b, 2)};
	struct sp_run_match m;

	cr_assert_eq(sp_run_match_init(&m, p[0], p[1]), 0);
	for (size_t i = 0; i < 2; i++) {
		cr_expect_str_eq(leaf_class(p[i], 0), "org/apache/spark/sql/catalyst/expressions/"
						      "GeneratedClass$Generated(hashAgg)");
		cr_expect_str_eq(leaf_class(p[i], 1), "org/apache/spark/sql/catalyst/expressions/"
						      "GeneratedClass$Generated(sort)$sort_Map_0");
	}
	sp_run_match_done(&m);
	sp_profile_free(p[0]);
	sp_profile_free(p[1]);
}

Test(match_runs, one_run_is_the_partner_of_itself)
{
	static const struct stage a[] = {{1, "x", NULL, "o/X", "x"}, {2, "x", NULL, "o/X", "x"}};
	struct sp_profile *p[] = {run_of("app-1", a, 2), run_of("app-1", a, 2)};
	struct sp_run_match m;

	cr_assert_eq(sp_run_match_init(&m, p[0], p[1]), 0);
	cr_assert_eq(m.count, 2);
	cr_expect_str_eq(m.pairs[0].label, "stage 1.0");
	cr_expect_str_eq(m.pairs[1].label, "stage 2.0");
	sp_run_match_done(&m);
	sp_profile_free(p[0]);
	sp_profile_free(p[1]);
}

Test(loose_words, numbers_ids_and_directories_go)
{
	static const char *const cases[][2] = {
		{"collect at /home/me/again.py:35", "collect at again.py:"},
		{"Project [max(s)#37L AS x#4]", "Project [max(s)#L AS x#]"},
		{"id = 0f7b6a40-cd1f-4c0f-8f9a-2dc0f8e0b7a3 batch = 12", "id =  batch = "},
		{"FileScan [file:/data/2026/x.parquet]", "FileScan [x.parquet]"},
		{"", ""},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf b = {0};

		sp_loose_words(cases[i][0], &b);
		cr_expect_str_eq(sp_buf_str(&b), cases[i][1]);
	}
}

Test(loose_words, a_call_site_is_short)
{
	static const char *const cases[][2] = {
		{"collect at /home/me/jobs/load.py:12", "collect at load.py:12"},
		{"save at NativeMethodAccessorImpl.java:0", "save"},
		{"count at Report.scala:7", "count at Report.scala:7"},
		{"the words of /a and b", "the words of /a and b"},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf b = {0};

		sp_short_words(cases[i][0], &b);
		cr_expect_str_eq(sp_buf_str(&b), cases[i][1]);
	}
}

/* What a comparison calls a stage: as a report does, whatever Spark knows of the call. */
Test(match_runs, a_title_is_for_readers)
{
	static const char *const cases[][4] = {
		{"$anonfun$withThreadLocalCaptured$1 at CompletableFuture.java:1768", "", "",
			"SQL 7"},
		{"save at NativeMethodAccessorImpl.java:0",
			"save at NativeMethodAccessorImpl.java:0", "", "save"},
		{"count at NativeMethodAccessorImpl.java:0", "count at /home/me/load.py:12",
			"nightly", "count at load.py:12; nightly"},
		{"save at NativeMethodAccessorImpl.java:0",
			"$anonfun$withThreadLocalCaptured$1 at CompletableFuture.java:1768",
			"nightly", "save; nightly"},
		{"the shops", "collect at /home/me/load.py:12", "",
			"the shops; collect at load.py:12"},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_profile *p = run_of("app-1", NULL, 0);
		struct sp_stage a = {.name = str(p, cases[i][0]),
			.call_site = str(p, cases[i][1]),
			.group = str(p, cases[i][2]),
			.sql = 7};
		char *title = sp_run_title(p, &a);

		cr_assert(title);
		cr_expect_str_eq(title, cases[i][3]);
		free(title);
		sp_profile_free(p);
	}
}

static char *shape(const char *json)
{
	return sp_plan_shape(sp_json_reader_value(json, json + strlen(json)));
}

Test(planshape, expression_ids_and_paths_are_not_part_of_it)
{
	SP_AUTO_FREE char *a = shape("{\"nodeName\":\"Sort\",\"simpleString\":\"Sort [a#1]\","
				     "\"children\":[{\"nodeName\":\"Scan\",\"simpleString\":"
				     "\"Scan file:/a/t\",\"children\":[]}]}");
	SP_AUTO_FREE char *b = shape("{\"nodeName\":\"Sort\",\"simpleString\":\"Sort [a#77]\","
				     "\"children\":[{\"nodeName\":\"Scan\",\"simpleString\":"
				     "\"Scan file:/b/t\",\"children\":[]}]}");
	SP_AUTO_FREE char *c = shape("{\"nodeName\":\"Sort\",\"simpleString\":\"Sort [b#1]\","
				     "\"children\":[]}");

	cr_assert(a && b && c);
	cr_expect_str_eq(a, b);
	cr_expect_str_neq(a, c);
	cr_expect_null(shape(""));
}

Test(planshape, operators_of_a_stage_in_one_order)
{
	static const char json[] =
		"[{\"Name\":\"X\",\"Scope\":\"{\\\"name\\\":\\\"WholeStageCodegen "
		"(3)\\\"}\"},{\"Name\":\"MapPartitionsRDD\"},{\"Name\":\"Y\","
		"\"Scope\":\"{\\\"name\\\":\\\"Exchange\\\"}\"}]";
	SP_AUTO_FREE char *s =
		sp_stage_operators(sp_json_reader_value(json, json + sizeof(json) - 1));

	cr_assert_str_eq(s, "Exchange, MapPartitionsRDD, WholeStageCodegen ()");
}
