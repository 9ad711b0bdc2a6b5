/* What Spark measured of tasks takes the place of what was sampled: from the agent's queue, through
 * a recording, to the table of stages. */
#include "spark/task_measures.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "jfr/event_fields.h"
#include "jfr/writer.h"
#include "out/stage_table.h"
#include "prof/load/load.h"

#define MS 1000000ull

static struct sp_dict *dict;
static struct sp_jfrw *w;
static uint64_t start;

static uint32_t str(const char *s)
{
	return sp_dict_string(dict, s, strlen(s));
}

static uint32_t fetch_stack(void)
{
	struct sp_method m = {
		.class_id = str("org/apache/spark/storage/ShuffleBlockFetcherIterator"),
		.name_id = str("next"),
		.sig_id = str("()V")};
	struct sp_frame_ref f = {sp_dict_method(dict, &m), -1, -1, SP_FRAME_C2};

	return sp_dict_stack(dict, &f, 1, 0);
}

/* A task of a second on a thread of its number, which waits for blocks for 400 ms of it, as far as
 * samples say. */
static void put_task(uint64_t id, bool begun)
{
	uint32_t thread = sp_dict_thread(dict,
		&(struct sp_thread){
			.tid = (uint32_t)id, .java_id = (uint32_t)id, .name_id = str("worker")});

	sp_jfrw_event(w, SP_JFR_EVENT(TASK, .startTime.u = start, .duration.u = 1000 * MS,
				 .eventThread.u = thread, .stage.u = 5, .taskId.u = id,
				 .begun.u = begun, .ended.u = 1));
	sp_jfrw_wall(w, start + 10 * MS, thread, fetch_stack(), SP_STATE_LOCK, 40, 400 * MS);
}

static void put_measure(uint64_t id, uint64_t cpu_ms)
{
	sp_jfrw_event(w, SP_JFR_EVENT(TASK_MEASURES, .startTime.u = start + 1001 * MS,
				 .taskId.u = id, .readCpuTime.u = 10 * MS, .cpuTime.u = cpu_ms * MS,
				 .runTime.u = 950 * MS, .gcTime.u = 20 * MS,
				 .fetchWaitTime.u = 500 * MS, .shuffleWriteTime.u = 70 * MS));
}

static struct sp_stage_row row_of(int fd, const struct sp_load_opts *o)
{
	struct sp_profile *p = NULL;
	struct sp_stage_table s;
	struct sp_stage_row row;

	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	cr_assert_eq(sp_load_with(fd, o, NULL, &p, NULL), 0);
	cr_assert_eq(sp_stage_table_init(&s, p, (unsigned)sp_profile_wall(p), NULL), 0);
	cr_assert_eq(s.count, 1);
	row = s.rows[0];
	row.run_ns = sp_stage_table_run_ns(&row);
	sp_stage_table_done(&s);
	sp_profile_free(p);
	return row;
}

/* Of three tasks one was measured, one has failed, of which Spark has no CPU time, and one began
 * before the recording: its measures are of more than what is here. */
Test(task_measures, of_whole_tasks_they_replace_samples)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);
	struct sp_load_opts all = {.tasks = true},
			    part = {.tasks = true, .from_ns = 1, .to_ns = INT64_MAX};
	struct sp_stage_row r;

	cr_assert(fd >= 0 && sp_dict_new(&dict, 16u << 20) == 0);
	cr_assert_eq(sp_jfrw_new(&w, fd, dict, &(struct sp_jfrw_cfg){0}, NULL), 0);
	start = sp_clock_mono_ns() - 3000 * MS;
	put_task(1, true);
	put_task(2, true);
	put_task(3, false);
	put_measure(3, 300);
	put_measure(1, 300);
	put_measure(2, 0);
	cr_assert_eq(sp_jfrw_close(w), 0);
	r = row_of(fd, &all);
	cr_expect_eq(r.spark_tasks, 1);
	cr_expect_eq(r.tasks, 3);
	cr_expect_eq(r.fetch_ns, (500 + 2 * 400) * MS);
	cr_expect_eq(r.write_ns, 70 * MS);
	cr_expect_eq(r.cpu_ns, 310 * MS);
	cr_expect_eq(r.launch_cpu_ns, 10 * MS);
	cr_expect_eq(r.gc_ns, 20 * MS);
	/* of the others 800 of 2,000 ms were seen */
	cr_expect_eq(r.run_ns, (950 + 2000) * MS);
	r = row_of(fd, &part);
	cr_expect_eq(r.spark_tasks, 0, "of a part of its samples it says nothing");
	cr_expect_eq(r.fetch_ns, 3 * 400 * MS);
	sp_dict_free(dict);
	close(fd);
}

Test(task_measures, the_queue_keeps_the_first_thousand)
{
	struct sp_task_measure m;
	int n = 0;

	sp_task_measures_clear();
	cr_expect_not(sp_task_measures_take(&m));
	for (int i = 0; i < 1100; i++)
		sp_task_measures_put(&(struct sp_task_measure){.task_id = i});
	while (sp_task_measures_take(&m))
		cr_expect_eq(m.task_id, n++);
	cr_expect_eq(n, 1024);
}
