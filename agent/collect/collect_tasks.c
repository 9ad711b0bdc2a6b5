/* Spark's tasks and stages on their way into the recording. See collector_internal.h. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "collector_internal.h"
#include "marks.h"
#include "jfr/event_fields.h"
#include "spark/task_measures.h"
#include "spark/task_table.h"
#include "threads/threads.h"

#include <stdlib.h>
#include <string.h>

#define SETTLED_NS 500000000ull

/* What Spark's threads have done since the last look. */
void sp_collector_tasks(struct sp_collector *c)
{
	struct sp_stage_about about;
	struct sp_task_measure m;
	struct sp_task t;
	char *pipelines;
	int64_t sql;

	while (sp_task_table_next(c->input->tasks, &t)) {
		struct sp_tinfo *info = sp_threads_find(c->capture->threads, t.tid);
		/* Under the name that it had to the end. */
		uint32_t thread = sp_collector_thread_at(c, info, t.tid, t.end_ns - 1);

		if (thread)
			sp_event_writer_task(c->record, &t, thread);
	}
	while (sp_task_measures_take(&m))
		sp_event_writer_event(c->record,
			SP_JFR_EVENT(TASK_MEASURES, .startTime.u = sp_clock_mono_ns(),
				.taskId.u = (uint64_t)m.task_id, .readCpuTime.u = m.read_cpu_ns,
				.cpuTime.u = m.cpu_ns, .runTime.u = m.run_ns, .gcTime.u = m.gc_ns,
				.fetchWaitTime.u = m.fetch_wait_ns,
				.shuffleWriteTime.u = m.shuffle_write_ns));
	while (sp_task_table_next_stage(c->input->tasks, &about))
		sp_event_writer_stage(c->record, &about);
	while (sp_task_table_next_plan(c->input->tasks, &sql, &pipelines)) {
		sp_event_writer_plan(c->record, sql, pipelines);
		free(pipelines);
	}
}

static void write_mark(void *ctx, const struct sp_mark *m)
{
	struct sp_collector *c = ctx;
	struct sp_tinfo *info = sp_threads_find(c->capture->threads, m->tid);
	uint32_t thread = sp_collector_thread_at(c, info, m->tid, m->end_ns);
	uint32_t tag = sp_dict_string(c->dict, m->tag, strlen(m->tag));

	if (thread && tag)
		sp_event_writer_event(c->record, SP_JFR_EVENT(SPAN, .startTime.u = m->start_ns,
							 .duration.u = m->end_ns - m->start_ns,
							 .eventThread.u = thread, .tag.u = tag));
	else
		sp_collector_count(&c->lost[SP_LOSS_MEMORY], 1);
}

void sp_collector_marks(struct sp_collector *c)
{
	sp_collector_count(&c->lost[SP_LOSS_RING], sp_marks_take(write_mark, c));
}

static void write_open(struct sp_collector *c, struct sp_task *t)
{
	struct sp_tinfo *info = sp_threads_find(c->capture->threads, t->tid);
	uint32_t thread;

	t->end_ns = sp_clock_mono_ns();
	t->ended = false;
	thread = sp_collector_thread_at(c, info, t->tid, t->end_ns - 1);
	if (thread && t->end_ns > t->start_ns)
		sp_event_writer_open_task(c->record, t, thread);
}

/* What a dump shows of tasks that have not ended. */
void sp_collector_open_tasks(struct sp_collector *c)
{
	struct sp_task *list = calloc(SP_TASK_TABLE_OPEN, sizeof(*list));
	uint32_t n = list ? sp_task_table_open(c->input->tasks, list, SP_TASK_TABLE_OPEN) : 0;

	for (uint32_t i = 0; i < n; i++)
		write_open(c, &list[i]);
	free(list);
}

/* Tasks that run, each once in a file: who reads it before they have ended, or when the JVM was
 * killed, knows when they began. One that is over already is seen to be so by then. */
void sp_collector_running_tasks(struct sp_collector *c)
{
	uint64_t now = sp_clock_mono_ns(), before = now > SETTLED_NS ? now - SETTLED_NS : 0;
	struct sp_task list[16];
	uint32_t n;

	while ((n = sp_task_table_unwritten(c->input->tasks, before, list, SP_COUNT(list))))
		for (uint32_t i = 0; i < n; i++)
			write_open(c, &list[i]);
}
