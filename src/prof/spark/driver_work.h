/* What a sample of a Spark driver works on: one answer for each, by the frames of its stack, the
 * name of its thread and its state. The first of these that applies:
 *
 *  1. a stack of Python is of the driver's Python process
 *  2. the frame nearest to the leaf that names a phase of a query: parsing, analysis …
 *  3. a thread that waits for its next job, message or call, or that belongs to the JVM: idle
 *  4. a thread that Spark names after its purpose: scheduler, listener bus …
 *  5. other work of a query, by any frame of Spark SQL or of RDDs; the application's own code
 *  6. what runs: GC, JIT compiler, other; what waits: idle */
#ifndef SP_PROF_SPARK_DRIVER_WORK_H
#define SP_PROF_SPARK_DRIVER_WORK_H

#include <stdbool.h>

#include "prof/model/profile.h"

enum sp_driver_work {
	SP_DRIVER_WORK_NONE, /* not known yet */
	SP_DRIVER_WORK_PARSING,
	SP_DRIVER_WORK_ANALYSIS,
	SP_DRIVER_WORK_OPTIMISATION,
	SP_DRIVER_WORK_PLANNING,
	SP_DRIVER_WORK_CODEGEN,
	SP_DRIVER_WORK_LISTING,
	SP_DRIVER_WORK_JOB,	 /* waits for one … */
	SP_DRIVER_WORK_LIST_JOB, /* … by which it lists files */
	SP_DRIVER_WORK_COLLECT,
	SP_DRIVER_WORK_BROADCAST,
	SP_DRIVER_WORK_QUERY, /* other work of a query */
	SP_DRIVER_WORK_APPLICATION,
	SP_DRIVER_WORK_PY4J,
	SP_DRIVER_WORK_CONNECT,
	SP_DRIVER_WORK_SCHEDULER,
	SP_DRIVER_WORK_LISTENERS,
	SP_DRIVER_WORK_EVENT_LOG,
	SP_DRIVER_WORK_UI,
	SP_DRIVER_WORK_GC,
	SP_DRIVER_WORK_JIT,
	SP_DRIVER_WORK_PYTHON,	      /* the driver's Python computes … */
	SP_DRIVER_WORK_PYTHON_DECODE, /* … decodes results or encodes data … */
	SP_DRIVER_WORK_PYTHON_WAIT,   /* … waits, but not for the JVM */
	SP_DRIVER_WORK_OTHER,
	SP_DRIVER_WORK_IDLE,
	SP_WORKS
};

/* "analysis", "waiting for jobs" … */
const char *sp_driver_work_name(enum sp_driver_work work);

/* A key for scripts: "analysis", "job" … */
const char *sp_driver_work_key(enum sp_driver_work work);

/* Does it wait for a job? */
static inline bool sp_driver_work_is_job(enum sp_driver_work work)
{
	return work == SP_DRIVER_WORK_JOB || work == SP_DRIVER_WORK_LIST_JOB;
}

/* Does a query wait for it: is it one of those in a thread that works for a query? */
bool sp_driver_work_is_query(enum sp_driver_work work);

/* Is the thread, by its name, one that works beside the threads that run queries? */
bool sp_driver_work_is_beside(const char *thread);

/* The phase of a query by a stack's frames alone, nearest to the leaf; SP_DRIVER_WORK_NONE. */
enum sp_driver_work sp_driver_work_phase(
	const struct sp_dict *d, const struct sp_frame_ref *frames, uint32_t count);

/* The answer for many rows of one profile: methods and stacks are looked at once. */
struct sp_driver_work_of;

/* @p is borrowed until sp_driver_work_free. Returns 0 or -ENOMEM. */
__attribute__((warn_unused_result)) int sp_driver_work_new(
	struct sp_driver_work_of **ret, const struct sp_profile *p);
void sp_driver_work_free(struct sp_driver_work_of *w);
enum sp_driver_work sp_driver_work_of_row(struct sp_driver_work_of *w, const struct sp_sample *row);

/* Most threads of a driver wait for work, as those of an executor do: leaves out the rows of wall
 * that are in no task and idle, and counts them as outside. @executor: the one in the profile;
 * nothing is done where that is not "driver", or where none of its threads worked. Returns 0 or
 * -ENOMEM. */
int sp_driver_work_leave_idle(struct sp_profile *p, const char *executor);

#endif
