/* Stages that are the same work again are one: of a streaming query and of a loop; stages of one
 * query stay apart. And what stages are called. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "out/stage_groups.h"
#include "base/cleanup.h"
#include "out/out.h"
#include "prof/model/tasks.h"
#include "sample_profile.h"

static struct sp_stage *add_stage(struct sp_profile *p, int stage, const char *name, int64_t job)
{
	struct sp_task_run t = {
		.name = {stage, stage, 0, 0, 0}, .start_ns = 1, .end_ns = 1000001, .begun = 1};
	struct sp_stage *a;

	cr_assert_eq(sp_profile_add_task(p, &t), 0);
	cr_assert_eq(
		sp_profile_add(p,
			&(struct sp_sample){
				.stack = 1, .task = p->task_count, .count = 1, .weight = 1000}),
		0);
	a = sp_profile_stage(p, 0, stage, 0);
	a->name = str(p, name);
	a->job = job;
	return a;
}

/* 42 stages of 14 batches, 10 iterations, and a query that ran twice, with two stages each. */
static struct sp_profile *busy_profile(void)
{
	struct sp_profile *p = sample_profile();
	char text[128];

	for (int i = 0; i < 42; i++) {
		struct sp_stage *a =
			add_stage(p, i, "start at NativeMethodAccessorImpl.java:0", 100 + i);

		a->query = str(p, "6c2f8d4e-0000-1111-2222-333344445555");
		a->sql = i;
		snprintf(text, sizeof(text), "%d", 3 + i / 3);
		a->batch = str(p, text);
		snprintf(text, sizeof(text),
			"orders<br/>id = 6c2f8d4e<br/>runId = 7<br/>batch = %d", 3 + i / 3);
		a->description = str(p, text);
		a->group = str(p, "9a0f8d4e-0000-1111-2222-333344445555");
	}
	for (int i = 0; i < 10; i++)
		add_stage(p, 100 + i, "collectAsMap at KMeans.scala:302", 200 + i);
	for (int i = 0; i < 4; i++)
		add_stage(p, 200 + i, "count at Report.scala:7", 300 + i)->sql = 50 + i / 2;
	return p;
}

static void expect_group(const struct sp_stage_groups *g, const struct sp_profile *p,
	const char *title, uint32_t count)
{
	for (size_t i = 0; i < g->count; i++) {
		SP_AUTO_BUF struct sp_buf b = {0};

		sp_stage_groups_title(g, &g->list[i], p, true, &b);
		if (strcmp(sp_buf_str(&b), title) != 0)
			continue;
		cr_expect_eq(g->list[i].count, count, "%s", title);
		cr_expect_eq(g->list[i].row.tasks, count, "%s", title);
		cr_expect_eq(g->list[i].row.weight, 1000ul * count, "%s", title);
		return;
	}
	cr_expect(false, "no group %s", title);
}

Test(stage_groups, repeated_work_is_one_row)
{
	struct sp_profile *p = busy_profile();
	struct sp_stage_table s = {0};
	struct sp_stage_groups g = {0};

	cr_assert_eq(sp_stage_table_init(&s, p, 0, NULL), 0);
	cr_assert_eq(s.count, 56);
	cr_assert_eq(sp_stage_groups_init(&g, &s, p), 0);
	cr_expect_eq(g.count, 4);
	expect_group(&g, p, "streaming query \"orders\", batches 3 to 16 (stages 0.0 to 41.0)", 42);
	expect_group(&g, p, "collectAsMap at KMeans.scala:302 (stages 100.0 to 109.0)", 10);
	expect_group(&g, p, "count at Report.scala:7 (stages 200.0 and 202.0)", 2);
	expect_group(&g, p, "count at Report.scala:7 (stages 201.0 and 203.0)", 2);
	cr_expect(g.count && g.list[0].streaming, "heaviest first");
	sp_stage_groups_done(&g);
	sp_stage_table_done(&s);
	sp_profile_free(p);
}

/* A description is often set once, for all that follows. */
Test(stage_groups, calls_of_one_description_stay_apart)
{
	static const char *const sites[] = {"count at A.scala:1", "collect at B.scala:2"};
	struct sp_profile *p = sample_profile();
	struct sp_stage_table s = {0};
	struct sp_stage_groups g = {0};

	for (int i = 0; i < 6; i++)
		add_stage(p, i, sites[i % 2], 10 + i)->description = str(p, "nightly load");
	cr_assert_eq(sp_stage_table_init(&s, p, 0, NULL), 0);
	cr_assert_eq(sp_stage_groups_init(&g, &s, p), 0);
	cr_expect_eq(g.count, 2);
	expect_group(&g, p, "nightly load, count at A.scala:1 (stages 0.0 to 4.0)", 3);
	expect_group(&g, p, "nightly load, collect at B.scala:2 (stages 1.0 to 5.0)", 3);
	sp_stage_groups_done(&g);
	sp_stage_table_done(&s);
	sp_profile_free(p);
}

/* Two queries that Python starts, of which the driver knows no more than that: their plans differ.
 * The frames by which the JDK calls are the JDK's matter. Without an event log it is the
 * plan's generated code that is known. */
static void check_plans(bool generated)
{
	struct sp_profile *p = sample_profile();
	struct sp_stage_table s = {0};
	struct sp_stage_groups g = {0};
	static const char *const names[] = {"save at NativeMethodAccessorImpl.java:0",
		"save at DirectMethodHandleAccessor.java:104", "save at <unknown>:0"};

	for (int i = 0; i < 6; i++) {
		struct sp_stage *a = add_stage(p, i, names[i % 3], 10 + i);

		*(generated ? &a->pipelines : &a->plan) = str(p, i < 4 ? "a plan" : "another");
	}
	cr_assert_eq(sp_stage_table_init(&s, p, 0, NULL), 0);
	cr_assert_eq(sp_stage_groups_init(&g, &s, p), 0);
	cr_expect_eq(g.count, 2);
	expect_group(&g, p, "save (stages 0.0 to 3.0)", 4);
	expect_group(&g, p, "save (stages 4.0 and 5.0)", 2);
	sp_stage_groups_done(&g);
	sp_stage_table_done(&s);
	sp_profile_free(p);
}

Test(stage_groups, calls_from_python_are_known_by_their_plans)
{
	check_plans(false);
	check_plans(true);
}

Test(stage_groups, what_has_no_name_or_is_tried_again_stays_alone)
{
	struct sp_profile *p = sample_profile();
	struct sp_stage_table s = {0};
	struct sp_stage_groups g = {0};

	for (int i = 0; i < 2; i++) {
		struct sp_task_run again = {.name = {20 + i, 7, i, 0, 0}, .end_ns = 5};

		add_stage(p, i, "", -1);
		cr_assert_eq(sp_profile_add_task(p, &again), 0);
		sp_profile_stage(p, 0, 7, i)->name = str(p, "count at A.scala:1");
	}
	cr_assert_eq(sp_stage_table_init(&s, p, 0, NULL), 0);
	cr_assert_eq(sp_stage_groups_init(&g, &s, p), 0);
	cr_expect_eq(g.count, 4);
	sp_stage_groups_done(&g);
	sp_stage_table_done(&s);
	sp_profile_free(p);
}

static uint32_t some(struct sp_profile *p, const char *s)
{
	return s[0] ? str(p, s) : 0;
}

Test(stage_groups, titles_begin_with_what_people_know)
{
	static const char native[] = "collect at NativeMethodAccessorImpl.java:0";
	static const struct {
		const char *name, *call_site, *description, *group, *query, *batch, *title;
		int64_t sql;
	} cases[] = {
		{"count at A.scala:1", "", "", "nightly", "", "",
			"nightly: SQL 4: count at A.scala:1", 4},
		{"count at A.scala:1", "", "the join", "nightly", "", "",
			"nightly: the join, count at A.scala:1", -1},
		{"count at A.scala:1", "", "", "6c2f8d4e-0000-1111-2222-333344445555", "", "",
			"count at A.scala:1", -1},
		{native, "collect at /home/a/job.py:12", "", "", "", "", "collect at job.py:12",
			-1},
		{"collect at DirectMethodHandleAccessor.java:103", "collect at /home/a/job.py:12",
			"", "", "", "", "collect at job.py:12", -1},
		{"collect at <unknown>:0", "", "", "", "", "", "SQL 4: collect", 4},
		{native, "collect at /home/a/job.py:12", "collect at /home/a/job.py:12", "", "", "",
			"SQL 4: collect at job.py:12", 4},
		{"$anonfun$withThreadLocalCaptured$1 at CompletableFuture.java:1768", "", "nightly",
			"", "", "", "SQL 4: nightly", 4},
		{"$anonfun$withThreadLocalCaptured$1 at CompletableFuture.java:1768",
			"collect at /home/a/job.py:12", "", "", "", "",
			"SQL 4: collect at job.py:12", 4},
		{native, "collect at /home/a/job.py:12", "read / write at / 3", "", "", "",
			"read / write at / 3, collect at job.py:12", -1},
		{native, native, "", "", "", "", "collect", -1},
		{"start at A.scala:9", "", "orders<br/>id = 6c2f", "7", "6c2f8d4e-0", "3",
			"streaming query \"orders\", batch 3: start at A.scala:9", 4},
		{native, "", "id = 6c2f<br/>batch = 3", "7", "6c2f8d4e-0", "3",
			"streaming query 6c2f8d4e, batch 3", 4},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf b = {0};
		struct sp_profile *p = sample_profile();
		struct sp_stage a = {.sql = cases[i].sql,
			.name = some(p, cases[i].name),
			.call_site = some(p, cases[i].call_site),
			.description = some(p, cases[i].description),
			.group = some(p, cases[i].group),
			.query = some(p, cases[i].query),
			.batch = some(p, cases[i].batch)};

		sp_stage_table_title(p, &(struct sp_stage_row){.about = &a}, &b);
		cr_expect_str_eq(sp_buf_str(&b), cases[i].title);
		sp_profile_free(p);
	}
}

static void write_as(const char *format, const struct sp_profile *p, char *text, size_t size)
{
	struct sp_out_opts opts = {0};
	struct sp_sink sink;
	int fd = memfd_create("text", MFD_CLOEXEC);

	sp_sink_init(&sink, fd);
	cr_assert_eq(sp_out_by_name(format)->write(p, &opts, &sink), 0);
	cr_assert_eq(sp_sink_done(&sink), 0);
	cr_assert_gt(pread(fd, text, size - 1, 0), 0);
	close(fd);
}

Test(stage_groups, text_and_markdown_have_a_line_for_each)
{
	struct sp_profile *p = busy_profile();
	char text[65536] = "";

	write_as("text", p, text, sizeof(text));
	cr_expect_not_null(strstr(text, "Stages (56)"), "%s", text);
	cr_expect_not_null(
		strstr(text, "  x42     streaming query \"orders\", batches 3 to 16"), "%s", text);
	cr_expect_not_null(strstr(text, "  x10     collectAsMap at KMeans.scala:302"), "%s", text);
	cr_expect_null(strstr(text, "NativeMethodAccessorImpl"), "%s", text);
	memset(text, 0, sizeof(text));
	write_as("md", p, text, sizeof(text));
	cr_expect_not_null(strstr(text, "| ×42 |"), "%s", text);
	cr_expect_not_null(strstr(text, "| ×10 |"), "%s", text);
	sp_profile_free(p);
}

/* Ends of short tasks are seen late, and looks at them are few. */
Test(stage_table, launch_has_its_share_of_what_was_seen_of_short_tasks)
{
	static const struct {
		uint64_t run, own, launch, want;
	} cases[] = {
		{1000, 900, 300, 600}, /* nearly all was seen */
		{1000, 500, 300, 400}, /* a part, of which six tenths are launch */
		{1000, 0, 0, 1000},    /* not wall */
		{1000, 1200, 300, 700},
		{1000, 200, 300, 700},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_stage_row r = {.tasks = 100,
			.run_ns = cases[i].run,
			.own_ns = cases[i].own,
			.launch_ns = cases[i].launch};

		cr_expect_eq(sp_stage_table_run_ns(&r), cases[i].want, "%zu", i);
	}
}
