/* The task of a sample. Inside of src/prof. */
#ifndef SP_PROF_LOAD_SAMPLE_TASK_H
#define SP_PROF_LOAD_SAMPLE_TASK_H

#include "prof/load/load_event.h"

/* By the span that covers the sample; else by the thread's name, believed only while the stack runs
 * a task: before Spark 4.2 an idle worker keeps the name of its last one. A worker that waits for
 * its next job is in none, even where a span ends a little late. *ret_task is what goes
 * into the sample; *thread becomes the worker as it is called in that task, where a sample's time
 * begins before its stack's task and the worker was called idle then. @took_ns: how long the sample
 * took; a thread that runs or has no core is seen at the end of that, and *ret_early_ns of it lie
 * before the task. Returns 0 or -ENOMEM. */
int sp_sample_task_find(struct sp_loading *l, const struct sp_jfr_event *e, uint64_t took_ns,
	uint32_t *ret_task, uint32_t *thread, uint64_t *ret_early_ns);
void sp_sample_task_free(struct sp_sample_task *r);

#endif
