/* The task of a sample. Inside of src/prof. */
#ifndef SP_PROF_ROOTS_H
#define SP_PROF_ROOTS_H

#include "prof/load_event.h"

/* By the span that covers the sample; else by the thread's name, believed only while the stack runs
 * a task: before Spark 4.2 an idle worker keeps the name of its last one. A worker that waits for
 * its next job is in none, even where a span ends a little late. *ret_task is what goes
 * into the sample; *thread becomes the worker as it is called in that task, where a sample's time
 * begins a little before its stack's task and the worker was called idle then. Returns 0 or
 * -ENOMEM. */
int sp_roots_find(
	struct sp_loading *l, const struct sp_jfr_event *e, uint32_t *ret_task, uint32_t *thread);
void sp_roots_free(struct sp_roots *r);

#endif
