/* What Spark itself measured of tasks that are over, on its way from the JVM's side to the
 * collector: the numbers that its driver shows. Of a task that is not here nothing is known.
 * Context: any thread but a signal handler; every call is short. */
#ifndef SP_AGENT_SPARK_TASK_MEASURES_H
#define SP_AGENT_SPARK_TASK_MEASURES_H

#include <stdbool.h>
#include <stdint.h>

struct sp_task_measure {
	int64_t task_id;
	uint64_t read_cpu_ns; /* CPU time to read the task … */
	uint64_t cpu_ns;      /* … and to run it */
	uint64_t run_ns, gc_ns, fetch_wait_ns, shuffle_write_ns;
};

void sp_task_measures_clear(void);

/* Where the collector is late by a thousand tasks, those that come then are left out. */
void sp_task_measures_put(const struct sp_task_measure *m);

/* Each once. Returns false when there is no more. */
bool sp_task_measures_take(struct sp_task_measure *ret);

#endif
