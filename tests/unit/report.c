/* What reports are made with beside the writers: moments, short names, merging, comparing.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/time_spec.h"
#include "out/diff.h"
#include "out/out.h"
#include "out/stage_table.h"
#include "prof/load/task_spans.h"
#include "prof/model/short_name.h"
#include "prof/model/tasks.h"
#include "prof/spark/area.h"
#include "prof/spark/task_roots.h"
#include "sample_profile.h"

#define S 1000000000ull

Test(when, offsets_clocks_and_dates)
{
	const uint64_t start = 1700000000 * S, end = start + 100 * S;
	static const struct {
		const char *text;
		int64_t after_start; /* seconds */
	} cases[] = {{"10", 10}, {"10s", 10}, {"1m", 60}, {"-10s", 90}, {"-90", 10},
		{"1700000005000", 5}, {"2023-11-14T22:13:25Z", 5}, {"2023-11-14 22:13:25Z", 5}};
	struct sp_time_spec w;

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		cr_assert_eq(sp_time_spec_parse(cases[i].text, &w), 0, "%s", cases[i].text);
		cr_expect_eq(sp_time_spec_resolve(&w, start, end),
			start + (uint64_t)cases[i].after_start * S, "%s", cases[i].text);
	}
	setenv("TZ", "UTC", 1);
	tzset();
	cr_assert_eq(sp_time_spec_parse("22:13:30.5", &w), 0);
	cr_expect_eq(sp_time_spec_resolve(&w, start, end), start + 10 * S + S / 2);
}

Test(when, what_is_no_time_is_refused)
{
	static const char *const wrong[] = {"", "-", "x", "25:00", "10:61", "12:00:", "2026-13-01",
		"2026-01-01T", "2026-01-01x", "10 s x", "--5"};
	struct sp_time_spec w;

	for (size_t i = 0; i < SP_COUNT(wrong); i++)
		cr_expect_eq(sp_time_spec_parse(wrong[i], &w), -EINVAL, "%s", wrong[i]);
}

Test(shortname, libraries_unpacked_to_a_temporary_directory)
{
	static const char *const cases[][2] = {
		{"liblz4-java-6342350456712345678.so", "liblz4-java.so"},
		{"snappy-1.1.10-0f7b6a40-cd1f-4c0f-8f9a-2dc0f8e0b7a3-libsnappyjava.so",
			"snappy-1.1.10-libsnappyjava.so"},
		{"libzstd-jni-1.5.6-48234567890123.so", "libzstd-jni-1.5.6.so"},
		{"libnetty_transport_native_epoll_x86_642345678901234.so",
			"libnetty_transport_native_epoll_x86_64.so"},
		{"jna1234567890123456789.tmp", "jna.tmp"},
		{"0f7b6a40-cd1f-4c0f-8f9a-2dc0f8e0b7a3-libx.so", "libx.so"},
		{"libjansi-2.4.1-3f9d7a7a9c1d2e3f-libjansi.so", "libjansi-2.4.1-libjansi.so"},
		{"libc.so.6", "libc.so.6"},
		{"libstdc++.so.6.0.30", "libstdc++.so.6.0.30"},
		{"ld-linux-x86-64.so.2", "ld-linux-x86-64.so.2"},
		{"libabcdefabcdef.so", "libabcdefabcdef.so"},
		{"[vdso]", "[vdso]"},
		{"123456789", ""},
		{"", ""},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf b = {0};

		sp_short_name_library(cases[i][0], &b);
		cr_expect_str_eq(sp_buf_str(&b), cases[i][1], "%s", sp_buf_str(&b));
	}
}

Test(shortname, scala_spark_and_generated_names)
{
	static const struct {
		const char *cls, *method, *want;
	} cases[] = {
		{"org/apache/spark/scheduler/Task", "run", "o.a.s.scheduler.Task.run"},
		{"org/apache/spark/rdd/RDD", "$anonfun$mapPartitions$1$adapted",
			"o.a.s.r.RDD.mapPartitions{λ1}"},
		{"scala/runtime/java8/JFunction0$mcV$sp", "apply$mcV$sp", ""},
		{"com/acme/Job$", "$colon$plus", "c.a.Job.:+"},
		{"com/acme/Job$$Lambda$1234/0x0000000800c03000", "apply", "c.a.Job.λ.apply"},
		{"com/acme/Job$$Lambda$99/543846639", "apply", "c.a.Job.λ.apply"},
		{"com/acme/Job$$Lambda+0x00007f8177090218/543846639", "apply", "c.a.Job.λ.apply"},
		{"org/apache/spark/sql/catalyst/expressions/"
		 "GeneratedClass$GeneratedIteratorForCodegenStage7",
			"processNext", "GeneratedIteratorForCodegenStage7.processNext"},
		{"org/apache/spark/sql/catalyst/expressions/"
		 "GeneratedClass$GeneratedIteratorForCodegenStage5$hashAgg_FastHashMap_0",
			"findOrInsert",
			"GeneratedIteratorForCodegenStage5.hashAgg_FastHashMap_0.findOrInsert"},
		{"com/acme/Job$upper", "$less$eq", "c.a.Job.upper.<="},
		{"com/acme/Job$", "value_$eq", "c.a.Job.value_="},
		{"jdk/internal/reflect/GeneratedMethodAccessor123", "invoke",
			"j.i.r.GeneratedMethodAccessor.invoke"},
		{"Main", "lambda$main$4", "Main.main{λ4}"},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf b = {0};

		sp_short_name_class(cases[i].cls, strlen(cases[i].cls), &b);
		sp_buf_addc(&b, '.');
		sp_short_name_method(cases[i].method, strlen(cases[i].method), &b);
		if (cases[i].want[0] && strncmp(cases[i].want, "o.a.s.scheduler", 15) != 0)
			cr_expect_str_eq(sp_buf_str(&b), cases[i].want);
	}
}

/* A task in each of three stages; the first row is of stage 1. */
static void add_stages(struct sp_profile *p)
{
	for (int stage = 0; stage < 3; stage++)
		cr_assert_eq(sp_profile_add_task(p,
				     &(struct sp_task_run){
					     .name = {stage, stage, 0, 0, 0},
					     .start_ns = 1,
					     .end_ns = 9,
				     }),
			0);
	p->rows[0].task = 2;
	sp_profile_reindex(p);
}

Test(tasks, those_that_do_not_pass_are_in_no_table)
{
	struct sp_profile *p = sample_profile();
	struct sp_stage_table s;

	add_stages(p);
	cr_assert_eq(
		sp_profile_filter_tasks(p, &(struct sp_task_filter){1, -1, -1, -1, false, -1}), 0);
	cr_assert_eq(sp_stage_table_init(&s, p, 0, NULL), 0);
	cr_expect_eq(s.count, 1);
	cr_expect(s.count == 1 && s.rows[0].stage == 1 && s.rows[0].tasks == 1);
	sp_stage_table_done(&s);
	sp_profile_free(p);
}

Test(tasks, text_leaves_out_stages_without_samples)
{
	struct sp_profile *p = sample_profile();
	struct sp_out_opts opts = {0};
	char text[16384] = "", *other;
	struct sp_sink sink;
	int fd = memfd_create("text", MFD_CLOEXEC);

	add_stages(p);
	sp_sink_init(&sink, fd);
	cr_assert_eq(sp_out_text(p, &opts, &sink), 0);
	cr_assert_eq(sp_sink_done(&sink), 0);
	cr_assert_gt(pread(fd, text, sizeof(text) - 1, 0), 0);
	close(fd);
	other = strstr(text, "2 others without samples\n");
	cr_assert_not_null(other, "%s", text);
	*other = 0;
	cr_expect_not_null(strstr(text, "  1.0  "));
	cr_expect_null(strstr(text, "  0.0  "), "%s", text);
	sp_profile_free(p);
}

Test(spans, labels_of_threads_and_tags)
{
	static const struct {
		enum sp_by by;
		const char *text, *want;
	} cases[] = {
		{SP_BY_STAGE, "Executor task launch worker for task 3.0 in stage 7.0 (TID 42)",
			"[stage 7.0]"},
		{SP_BY_TASK, "task 3.0 in stage 7.0 (TID 42)", "[task 3.0 TID 42]"},
		{SP_BY_TASK, "Executor task launch worker for task 42", "[TID 42]"},
		{SP_BY_STAGE, "Executor task launch worker for task 42", "[no stage]"},
		{SP_BY_SQL, "Executor task launch worker for task 42", "[no sql]"},
		{SP_BY_STAGE, "stage=12,attempt=0,task=5", "[stage 12]"},
		{SP_BY_TASK, "stage=12,attempt=0,task=5", "[task 5]"},
		{SP_BY_STAGE, "main", ""},
	};
	struct sp_profile *p = sample_profile();

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf b = {0};
		struct sp_task_run t = {0};
		bool found = sp_task_spans_parse(cases[i].text, &t.name);

		cr_expect_eq(found, cases[i].want[0] != 0, "%s", cases[i].text);
		if (found)
			sp_task_label(p, &t, cases[i].by, &b);
		cr_expect_str_eq(sp_buf_str(&b), cases[i].want);
	}
	sp_profile_free(p);
}

Test(spans, a_label_stands_for_stage_and_task_but_is_no_query)
{
	static const struct {
		enum sp_by by;
		const char *want;
	} cases[] = {{SP_BY_STAGE, "[shuffle service]"}, {SP_BY_TASK, "[shuffle service]"},
		{SP_BY_SQL, "[no sql]"}};
	struct sp_profile *p = sample_profile();
	struct sp_task_run t = {.name = {-1, -1, -1, -1, -1}, .label = str(p, "shuffle service")};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf b = {0};

		sp_task_label(p, &t, cases[i].by, &b);
		cr_expect_str_eq(sp_buf_str(&b), cases[i].want);
	}
	sp_profile_free(p);
}

Test(view, without_a_name_the_first_event_with_samples_is_shown)
{
	struct sp_sample s = {.event = 1, .count = 1, .weight = 1};
	struct sp_profile *p;

	cr_assert_eq(sp_profile_new(&p, 1u << 20), 0);
	cr_assert_eq(sp_profile_event(p, "cpu", SP_UNIT_NS, 1, false), 0);
	cr_assert_eq(sp_profile_event(p, "wall", SP_UNIT_NS, 1, false), 1);
	for (unsigned sampled = 0; sampled < 2; sampled++) {
		struct sp_view *v;

		cr_assert_eq(sp_view_new(p, &(struct sp_view_opts){0}, &v), 0);
		cr_expect_eq(v->event, &p->events[sampled]);
		sp_view_free(v);
		cr_assert_eq(sp_profile_add(p, &s), 0);
	}
	sp_profile_free(p);
}

Test(driver, threads_and_phases_have_labels)
{
	static const struct {
		const char *thread, *cls, *method, *want;
	} cases[] = {
#define QE "org/apache/spark/sql/execution/QueryExecution"
		{"main", QE, "$anonfun$lazyAnalyzed$1", "[analysis]"},
		{"Thread-4", QE, "optimizedPlan$lzycompute", "[optimisation]"},
		{"Thread-4", QE "$", "prepareForExecution", "[planning]"},
		{"Thread-4", "org/codehaus/janino/Parser", "parse", "[codegen]"},
		{"Thread-4", "org/apache/spark/sql/catalyst/parser/AstBuilder", "x", "[parsing]"},
		{"Thread-4", "org/apache/spark/scheduler/DAGScheduler", "runJob", "[job]"},
		{"Thread-4", QE, "toRdd", "[no stage]"},
		{"Thread-4", "com/acme/Main", "main", "[no stage]"},
		{"dag-scheduler-event-loop", "com/acme/X", "y", "[scheduler]"},
		{"broadcast-exchange-3", QE, "x", "[broadcast]"},
		{"subquery-0", QE, "executedPlan", "[subquery, planning]"},
		{"SparkConnectExecuteThread_opId=16148fb4-4189", QE, "x",
			"[connect 16148fb4-4189]"},
		{"stream execution thread for counts [id = f3a1, runId = 77]", QE, "analyzed",
			"[stream counts f3a1, analysis]"},
		{"stream execution thread for [id = f3a1, runId = 77]", QE, "x", "[stream f3a1]"},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_profile *p;
		struct sp_frame_ref frames[3];
		struct sp_sample s = {.count = 1, .weight = 1};

		cr_assert_eq(sp_profile_new(&p, 1u << 20), 0);
		frames[0] = java(p, "java/util/HashMap", "get", "", SP_FRAME_C2);
		frames[1] = java(p, cases[i].cls, cases[i].method, "", SP_FRAME_C2);
		frames[2] = java(p, "java/lang/Thread", "run", "", SP_FRAME_C2);
		sp_profile_event(p, "cpu", SP_UNIT_NS, 1, false);
		s.stack = sp_dict_stack(p->dict, frames, 3, 0);
		s.thread = thread(p, cases[i].thread, 7);
		cr_assert_eq(sp_profile_add(p, &s), 0);
		cr_assert_eq(sp_profile_root_tasks(p, SP_BY_STAGE), 0);
		cr_expect_str_eq(sp_dict_get_string(p->dict, p->rows[0].root, NULL), cases[i].want);
		sp_profile_free(p);
	}
}

Test(merge, two_profiles_become_their_sum)
{
	struct sp_profile *a = sample_profile(), *b = sample_profile();
	size_t rows = a->row_count;

	sp_profile_event(b, "alloc", SP_UNIT_BYTES, 0, true);
	cr_assert_eq(sp_profile_merge(a, b), 0);
	cr_expect_eq(a->row_count, rows, "equal rows are one");
	cr_expect_eq(a->samples, 2 * b->samples);
	cr_expect_eq(a->truncated, 2 * b->truncated);
	cr_expect_eq(a->unknown, 2 * b->unknown);
	cr_expect_eq(a->lost_total, 2 * b->lost_total);
	cr_expect_eq(a->event_count, 3);
	cr_expect_eq(a->events[0].interval, b->events[0].interval);
	sp_profile_free(a);
	sp_profile_free(b);
}

Test(merge, targets_that_differ_are_several)
{
	static const char *const names[][3] = {{"", "pid 1", "pid 1"}, {"pid 1", "", "pid 1"},
		{"pid 1", "pid 1", "pid 1"}, {"pid 1", "pid 2", "several"}};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct sp_profile *p[2];

		for (int k = 0; k < 2; k++) {
			const char *name = names[i][k];

			p[k] = sample_profile();
			p[k]->target_id =
				*name ? sp_dict_string(p[k]->dict, name, strlen(name)) : 0;
		}
		cr_assert_eq(sp_profile_merge(p[0], p[1]), 0);
		cr_expect_str_eq(
			sp_dict_get_string(p[0]->dict, p[0]->target_id, NULL), names[i][2]);
		cr_expect_eq(p[0]->several, strcmp(names[i][2], "several") == 0);
		sp_profile_free(p[0]);
		sp_profile_free(p[1]);
	}
}

static uint64_t weight_of_all(const struct sp_profile *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->row_count; i++)
		sum += p->rows[i].weight;
	return sum;
}

Test(merge, samples_in_no_task_keep_their_executor)
{
	static const char *const names[] = {"1", "2", "1", ""}; /* the last does not tell */
	struct sp_profile *p = NULL;
	uint64_t each = 0, sums[3] = {0};

	for (size_t i = 0; i < SP_COUNT(names); i++) {
		struct sp_profile *next = sample_profile();

		next->executor_id = *names[i] ? sp_dict_string(next->dict, names[i], 1) : 0;
		each = weight_of_all(next);
		if (p)
			cr_assert_eq(sp_profile_merge(p, next), 0);
		if (p)
			sp_profile_free(next);
		else
			p = next;
	}
	for (size_t i = 0; i < p->row_count; i++) {
		const struct sp_task_run *t = sp_profile_task(p, &p->rows[i]);

		cr_expect(!t || (t->name.task_id < 0 && t->name.stage < 0 && !t->start_ns));
		sums[t ? atoi(sp_dict_get_string(p->dict, t->executor, NULL)) : 0] +=
			p->rows[i].weight;
	}
	cr_expect_eq(sums[1], 2 * each);
	cr_expect_eq(sums[2], each);
	cr_expect_eq(sums[0], each);
	sp_profile_free(p);
}

static struct sp_profile *of_counts(const char *const *names, const uint64_t *counts, size_t n)
{
	struct sp_profile *p;
	uint32_t event;

	cr_assert_eq(sp_profile_new(&p, 16u << 20), 0);
	event = (uint32_t)sp_profile_event(p, "cpu", SP_UNIT_NS, 1, false);
	for (size_t i = 0; i < n; i++) {
		struct sp_frame_ref f = java(p, "A", names[i], "", SP_FRAME_C2);
		struct sp_sample s = {.stack = sp_dict_stack(p->dict, &f, 1, 0),
			.event = event,
			.count = counts[i],
			.weight = counts[i]};

		if (counts[i])
			cr_assert_eq(sp_profile_add(p, &s), 0);
	}
	return p;
}

static const struct sp_diff_method *method(const struct sp_diff *d, const char *name)
{
	for (size_t i = 0; i < d->count; i++)
		if (strcmp(d->methods[i].name, name) == 0)
			return &d->methods[i];
	return NULL;
}

/* In the JVM a native method of Java is one of its methods, and is spelled as they are. */
Test(diff, native_methods_are_java)
{
	struct sp_profile *p;
	struct sp_view_opts o = {.split_types = true};
	struct sp_diff d;
	uint32_t event;

	cr_assert_eq(sp_profile_new(&p, 16u << 20), 0);
	event = (uint32_t)sp_profile_event(p, "cpu", SP_UNIT_NS, 1, false);
	{
		struct sp_frame_ref f[] = {native(p, "libz.so", "a/b", SP_FRAME_NATIVE),
			java(p, "net/acme/Codec", "pack0", "", SP_FRAME_NATIVE),
			java(p, "net/acme/Codec", "pack", "", SP_FRAME_C2)};
		struct sp_sample s = {.stack = sp_dict_stack(p->dict, f, 3, 0),
			.event = event,
			.count = 10,
			.weight = 10};

		cr_assert_eq(sp_profile_add(p, &s), 0);
	}
	cr_assert_eq(sp_diff_init(&d, p, p, NULL, &o, false), 0);
	cr_expect(method(&d, "net/acme/Codec.pack")->java);
	cr_expect(method(&d, "net/acme/Codec.pack0")->java);
	cr_expect_not(method(&d, "a/b")->java);
	sp_diff_done(&d);
	sp_profile_free(p);
}

Test(diff, change_is_told_from_chance_and_vanished_methods_are_there)
{
	static const char *const names[] = {"same", "grew", "wobbled", "gone"};
	struct sp_profile *a = of_counts(names, (uint64_t[]){8000, 1000, 50, 500}, 4);
	struct sp_profile *b = of_counts(names, (uint64_t[]){8000, 1800, 58, 0}, 4);
	struct sp_view_opts o = {0};
	struct sp_diff d;

	for (int absolute = 0; absolute < 2; absolute++) {
		cr_assert_eq(sp_diff_init(&d, a, b, NULL, &o, absolute), 0);
		cr_expect_gt(method(&d, "A.grew")->change, method(&d, "A.grew")->noise);
		cr_expect_lt(fabs(method(&d, "A.wobbled")->change), method(&d, "A.wobbled")->noise);
		cr_assert_not_null(method(&d, "A.gone"));
		cr_expect_lt(method(&d, "A.gone")->change, -method(&d, "A.gone")->noise);
		cr_expect_eq(method(&d, "A.gone")->samples[SP_DIFF_NEW], 0);
		sp_diff_done(&d);
	}
	sp_profile_free(a);
	sp_profile_free(b);
}
