/* Names of Spark's threads, which task is open on which thread, and old names by time. */
#include "base/cleanup.h"
#include "spark/task_table.h"
#include "threads/thread_name_history.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define WORKER "Executor task launch worker for task "

Test(taskname, of_all_versions_of_spark)
{
	static const struct {
		const char *name;
		bool is;
		struct sp_task_name t;
	} cases[] = {
		{WORKER "3.1 in stage 5.2 (TID 345)", true, {345, 5, 2, 3, 1}},
		{WORKER "0.0 in stage 0.0 (TID 0)", true, {0, 0, 0, 0, 0}},
		{WORKER "345", true, {345, -1, -1, -1, -1}},
		{"Executor task launch worker-7", false, {0}},
		{"Executor task idle worker#51", false, {0}},
		{WORKER, false, {0}},
		{WORKER "3.1 in stage 5.2 (TID 345", false, {0}},
		{WORKER "3.1 in stage 5.2", false, {0}},
		{WORKER "3.1", false, {0}},
		{WORKER "99999999999.0 in stage 5.2 (TID 345)", false, {0}},
		{WORKER "99999999999999999999", false, {0}},
		{"xExecutor task launch worker for task 345", false, {0}},
		{"", false, {0}},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_task_name t = {0};

		cr_assert_eq(
			sp_task_name_parse(cases[i].name, &t), cases[i].is, "%s", cases[i].name);
		cr_assert_eq(memcmp(&t, &cases[i].t, sizeof(t)), 0, "%s", cases[i].name);
	}
}

/* Names only: no native engine runs in any test. */
Test(taskname, names_of_native_engines_threads)
{
	static const struct {
		const char *name;
		bool is;
		struct sp_task_name t;
	} cases[] = {
		{"auron-native-stage-5-part-3-tid-345", true, {345, 5, -1, 3, -1}},
		{"blaze-native-stage-0-part-0-tid-0", true, {0, 0, -1, 0, -1}},
		{"auron-native-st", false, {0}}, /* as the kernel cuts it */
		{"auron-native-stage-5-part-3", false, {0}},
		{"comet-worker-3", false, {0}},
		{"velox-io-1", false, {0}},
		{"multithreaded file reader worker-2", false, {0}},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_task_name t = {0};

		cr_assert_eq(
			sp_task_name_engine(cases[i].name, &t), cases[i].is, "%s", cases[i].name);
		cr_assert_eq(memcmp(&t, &cases[i].t, sizeof(t)), 0, "%s", cases[i].name);
	}
}

Test(tasks, a_native_engines_thread_has_the_attempts_of_its_task)
{
	struct sp_task task = {.name = {345, 5, 1, 3, 2}, .tid = 10, .start_ns = 1},
		       engine = {.tid = 11, .start_ns = 2, .feeder = true}, got;
	struct sp_task_table *ts;

	cr_assert_eq(sp_task_table_new(&ts), 0);
	cr_assert(sp_task_name_engine("auron-native-stage-5-part-3-tid-345", &engine.name));
	sp_task_table_begin(ts, &task);
	sp_task_table_begin(ts, &engine);
	sp_task_table_end(ts, 11, -2, 9);
	cr_assert(sp_task_table_next(ts, &got));
	cr_assert(got.feeder && got.tid == 11);
	cr_assert_eq(memcmp(&got.name, &task.name, sizeof(got.name)), 0);
	sp_task_table_free(ts);
}

Test(taskname, tags_say_what_is_known)
{
	char buf[96];

	cr_assert_str_eq(
		sp_task_name_tag(&(struct sp_task_name){345, 5, 2, 3, 1}, buf, sizeof(buf)),
		"task 3.1 in stage 5.2 (TID 345)");
	cr_assert_str_eq(
		sp_task_name_tag(&(struct sp_task_name){345, 5, 0, -1, -1}, buf, sizeof(buf)),
		"stage 5.0 (TID 345)");
	cr_assert_str_eq(
		sp_task_name_tag(&(struct sp_task_name){345, -1, -1, -1, -1}, buf, sizeof(buf)),
		"TID 345");
}

Test(taskname, threads_beside_the_tasks)
{
	cr_assert(sp_task_name_idle("Executor task idle worker#51"));
	cr_assert_not(sp_task_name_idle(WORKER "345"));
	cr_assert(sp_task_name_feeder("stdout writer for /usr/bin/python3"));
	cr_assert(sp_task_name_feeder("stdin writer for List(cat)"));
	cr_assert(sp_task_name_feeder("Thread-ScriptTransformation-Feed"));
	cr_assert(sp_task_name_feeder("Thread-SparkScriptTransformationWriterThread-Feed"));
	cr_assert_not(sp_task_name_feeder("Thread-4"));
	cr_assert_not(sp_task_name_feeder("shuffle-client-4-1"));
}

static unsigned map_fails_at; /* 0: never; 1: the next one … */
static int mapped;

void *__real_mmap64(void *at, size_t n, int prot, int flags, int fd, off_t from);
void *__wrap_mmap64(void *at, size_t n, int prot, int flags, int fd, off_t from);
void *__wrap_mmap64(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
	if (map_fails_at && --map_fails_at == 0)
		return MAP_FAILED;
	mapped++;
	return __real_mmap64(at, n, prot, flags, fd, from);
}

int __real_munmap(void *p, size_t n);
int __wrap_munmap(void *p, size_t n);
int __wrap_munmap(void *p, size_t n)
{
	mapped--;
	return __real_munmap(p, n);
}

Test(tasks, without_memory_for_one_part_there_is_no_table)
{
	struct sp_task_table *ts = NULL;
	int parts;

	cr_assert_eq(sp_task_table_new(&ts), 0);
	parts = mapped;
	cr_expect_eq(parts, 4);
	sp_task_table_free(ts);
	for (int i = 1; i <= parts; i++) {
		ts = NULL;
		map_fails_at = (unsigned)i;
		cr_expect_eq(sp_task_table_new(&ts), -ENOMEM, "part %d", i);
		cr_expect_null(ts);
		cr_expect_eq(mapped, 0, "%d are left without part %d", mapped, i);
	}
}

static struct sp_task task(uint32_t tid, int64_t id, uint64_t start)
{
	return (struct sp_task){
		.name = {id, 5, 0, (int32_t)id, 0}, .tid = tid, .start_ns = start, .begun = true};
}

Test(tasks, the_next_one_ends_the_last)
{
	struct sp_task a = task(1, 10, 100), b = task(1, 11, 200), c = task(2, 12, 150), t;
	struct sp_task_table *ts;

	cr_assert_eq(sp_task_table_new(&ts), 0);
	sp_task_table_begin(ts, &a);
	sp_task_table_begin(ts, &c);
	cr_assert_not(sp_task_table_next(ts, &t));
	sp_task_table_begin(ts, &b);
	cr_assert(sp_task_table_next(ts, &t));
	cr_assert_eq(t.name.task_id, 10);
	cr_assert_eq(t.end_ns, 200);
	cr_assert(t.ended);
	sp_task_table_end(ts, 1, 10, 250); /* it is another by now */
	cr_assert_not(sp_task_table_next(ts, &t));
	sp_task_table_end(ts, 1, -2, 260);
	sp_task_table_close(ts, 300);
	cr_assert(sp_task_table_next(ts, &t));
	cr_assert_eq(t.end_ns, 260);
	cr_assert(sp_task_table_next(ts, &t));
	cr_assert_eq(t.name.task_id, 12);
	cr_assert_not(t.ended);
	cr_assert_not(sp_task_table_next(ts, &t));
	sp_task_table_free(ts);
}

/* Each once, when it has run for a while and its numbers are known; all once more in a new file. */
Test(tasks, those_that_run_are_told_once)
{
	static const struct {
		uint64_t start_ns;
		struct sp_task_name name;
	} open[] = {{100, {7, 1, 0, 0, 0}}, {200, {8, 1, 0, 1, 0}}, {100, {9, -1, -1, -1, -1}}};
	struct sp_task_table *ts;
	struct sp_task list[4];

	cr_assert_eq(sp_task_table_new(&ts), 0);
	for (uint32_t i = 0; i < SP_COUNT(open); i++)
		sp_task_table_begin(ts,
			&(struct sp_task){
				.tid = 10 + i, .start_ns = open[i].start_ns, .name = open[i].name});
	cr_assert_eq(sp_task_table_unwritten(ts, 150, list, 4), 1);
	cr_expect_eq(list[0].name.task_id, 7);
	cr_expect_eq(sp_task_table_unwritten(ts, 150, list, 4), 0);
	cr_assert_eq(sp_task_table_unwritten(ts, 201, list, 4), 1);
	cr_expect_eq(list[0].name.task_id, 8);
	sp_task_table_write_again(ts);
	cr_expect_eq(sp_task_table_unwritten(ts, 201, list, 1), 1);
	cr_expect_eq(sp_task_table_unwritten(ts, 201, list, 4), 1);
	sp_task_table_free(ts);
}

Test(tasks, a_dead_name_is_forgotten_and_numbers_are_learnt)
{
	struct sp_task a = task(1, 10, 100), b = task(2, -1, 100), open[4], t;
	struct sp_task_name name = {77, 6, 0, 3, 0};
	struct sp_task_table *ts;

	b.feeder = true;
	cr_assert_eq(sp_task_table_new(&ts), 0);
	sp_task_table_begin(ts, &a);
	sp_task_table_forget(ts, 1, 10);
	sp_task_table_begin(ts, &b);
	cr_assert_eq(sp_task_table_open(ts, open, 4), 1);
	sp_task_table_learn(ts, 2, -1, &name);
	cr_assert(sp_task_table_is_open(ts, 2, 77));
	sp_task_table_begin(
		ts, &(struct sp_task){.tid = 3, .name = {-1, -1, -1, -1, -1}, .feeder = true});
	sp_task_table_close(ts, 200);
	cr_assert(sp_task_table_next(ts, &t));
	cr_assert_eq(t.name.task_id, 77);
	cr_assert(t.feeder);
	cr_assert_not(sp_task_table_next(ts, &t)); /* whose the other was never came out */
	sp_task_table_free(ts);
}

Test(tasks, a_feeder_may_end_before_it_comes_out_whose_it_was)
{
	struct sp_task a = {
		.tid = 1, .name = {-1, -1, -1, -1, -1}, .start_ns = 100, .feeder = true};
	struct sp_task b = a, t;
	struct sp_task_name name = {77, 6, 0, 3, 0};
	struct sp_task_table *ts;

	b.tid = 2;
	cr_assert_eq(sp_task_table_new(&ts), 0);
	sp_task_table_begin(ts, &a);
	sp_task_table_begin(ts, &b);
	sp_task_table_end(ts, 1, -2, 150);
	sp_task_table_end(ts, 2, -2, 160);
	cr_assert_not(sp_task_table_next(ts, &t));
	sp_task_table_resolve(ts, 1, &name);
	sp_task_table_resolve(ts, 2, NULL);
	cr_assert(sp_task_table_next(ts, &t));
	cr_assert_eq(t.name.task_id, 77);
	cr_assert_eq(t.end_ns, 150);
	cr_assert_not(sp_task_table_next(ts, &t));
	cr_assert_eq(sp_task_table_open(ts, &t, 1), 0);
	sp_task_table_free(ts);
}

Test(tasks, a_stage_is_told_once)
{
	struct sp_stage_about about = {.stage = 5, .sql = 7}, got;
	struct sp_task a = task(1, 10, 100), b = task(2, 11, 100);
	struct sp_task_table *ts;

	cr_assert_eq(sp_task_table_new(&ts), 0);
	sp_task_table_begin(ts, &a);
	cr_assert_not(sp_task_table_stage_known(ts, a.name.stage, a.name.stage_attempt));
	sp_task_table_stage(ts, &about);
	sp_task_table_stage(ts, &about);
	cr_assert(sp_task_table_stage_known(ts, 5, 0));
	cr_assert_not(sp_task_table_stage_known(ts, 5, 1));
	sp_task_table_begin(ts, &b);
	cr_assert(sp_task_table_stage_known(ts, b.name.stage, b.name.stage_attempt));
	cr_assert(sp_task_table_next_stage(ts, &got));
	cr_assert_eq(got.sql, 7);
	cr_assert_not(sp_task_table_next_stage(ts, &got));
	sp_task_table_free(ts);
}

Test(tasks, stages_that_run_now)
{
	struct sp_task a = task(1, 10, 100), b = task(2, 11, 100), c = task(3, 12, 100);
	struct sp_task_table *ts;
	char buf[64];

	cr_assert_eq(sp_task_table_new(&ts), 0);
	cr_assert_str_eq(sp_task_table_stages(ts, buf, sizeof(buf)), "");
	c.name.stage = 3;
	c.name.stage_attempt = 1;
	sp_task_table_begin(ts, &a);
	sp_task_table_begin(ts, &b);
	sp_task_table_begin(ts, &c);
	cr_assert_str_eq(sp_task_table_stages(ts, buf, sizeof(buf)), "3.1, 5.0");
	cr_assert_str_eq(sp_task_table_stages(ts, buf, 34), "3.1, …");
	sp_task_table_end(ts, 3, -2, 200);
	cr_assert_str_eq(sp_task_table_stages(ts, buf, sizeof(buf)), "5.0");
	sp_task_table_free(ts);
}

Test(tasks, what_has_no_place_is_counted)
{
	struct sp_task_table *ts;

	cr_assert_eq(sp_task_table_new(&ts), 0);
	for (uint32_t i = 0; i < SP_TASK_TABLE_OPEN + 3; i++) {
		struct sp_task t = task(i + 1, i, i);

		sp_task_table_begin(ts, &t);
	}
	cr_assert_eq(sp_task_table_lost(ts), 3);
	sp_task_table_free(ts);
}

Test(tasks, the_driver_is_asked_again_a_few_times)
{
	struct sp_stage_about a = {.stage = 5, .sql = 12}, b = {.stage = 6, .sql = -1}, got;
	struct sp_task_table *ts;
	int asked = 0;

	cr_assert_eq(sp_task_table_new(&ts), 0);
	sp_task_table_stage(ts, &a);
	sp_task_table_stage(ts, &b);
	cr_assert(sp_task_table_next_wanted(ts, &got));
	cr_expect_eq(got.stage, 5);
	sp_task_table_want_again(ts, &got);
	cr_assert(sp_task_table_next_wanted(ts, &got));
	cr_expect_eq(got.stage, 6); /* the others first */
	for (; sp_task_table_next_wanted(ts, &got) && asked < 100; asked++) {
		cr_expect_eq(got.stage, 5);
		cr_expect_eq(got.sql, 12);
		sp_task_table_want_again(ts, &got);
	}
	cr_expect(asked > 30 && asked < 50, "%d", asked);
	sp_task_table_free(ts);
}

Test(namelog, the_name_at_a_time)
{
	struct sp_thread_name_history *l;
	uint64_t one = 0, other = 0;

	cr_assert_eq(sp_thread_name_history_new(&l, 8, 16), 0);
	one = sp_thread_name_history_put(l, "a", 100, one);
	other = sp_thread_name_history_put(l, "x", 150, other);
	one = sp_thread_name_history_put(l, "b", 200, one);
	cr_assert_str_eq(sp_thread_name_history_at(l, one, 50), "a");
	cr_assert_str_eq(sp_thread_name_history_at(l, one, 100), "b");
	cr_assert_str_eq(sp_thread_name_history_at(l, one, 199), "b");
	cr_assert_null(sp_thread_name_history_at(l, one, 200));
	cr_assert_str_eq(sp_thread_name_history_at(l, other, 149), "x");
	cr_assert_null(sp_thread_name_history_at(l, 0, 50));
	for (int i = 0; i < 6; i++) /* "a" and "x" give way */
		other = sp_thread_name_history_put(l, "y", 300 + (uint64_t)i, other);
	cr_assert_str_eq(sp_thread_name_history_at(l, one, 50), "b");
	sp_thread_name_history_free(l);
}
