/* Spark's tasks and stages on their way into the recording. See collector_internal.h. */
#include "base/clock.h"
#include "collector_internal.h"
#include "spark/task_table.h"
#include "threads/threads.h"

#include <stdlib.h>

/* What Spark's threads have done since the last look. */
void sp_collector_tasks(struct sp_collector *c)
{
	struct sp_stage_about about;
	struct sp_task t;

	while (sp_task_table_next(c->capture->tasks, &t)) {
		struct sp_tinfo *info = sp_threads_find(c->capture->threads, t.tid);
		/* Under the name that it had to the end. */
		uint32_t thread = sp_collector_thread_at(c, info, t.tid, t.end_ns - 1);

		if (thread)
			sp_event_writer_task(c->record, &t, thread);
	}
	while (sp_task_table_next_stage(c->capture->tasks, &about))
		sp_event_writer_stage(c->record, &about);
}

/* What a dump shows of tasks that have not ended. */
void sp_collector_open_tasks(struct sp_collector *c)
{
	struct sp_task *list = calloc(SP_TASK_TABLE_OPEN, sizeof(*list));
	uint32_t n = list ? sp_task_table_open(c->capture->tasks, list, SP_TASK_TABLE_OPEN) : 0;

	for (uint32_t i = 0; i < n; i++) {
		struct sp_task *t = &list[i];
		struct sp_tinfo *info = sp_threads_find(c->capture->threads, t->tid);
		uint32_t thread;

		t->end_ns = sp_clock_mono_ns();
		t->ended = false;
		thread = sp_collector_thread_at(c, info, t->tid, t->end_ns - 1);
		if (thread && t->end_ns > t->start_ns)
			sp_event_writer_open_task(c->record, t, thread);
	}
	free(list);
}
