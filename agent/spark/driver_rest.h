/* What the driver calls its stages, jobs and SQL executions: asked for over its REST API, once for
 * each stage that tasks ran in here, through the JVM's own HTTP client (its names, its trust, its
 * proxies). One thread of its own, which nobody waits for but the end of the recording, and that a
 * second, or what one request may take. Where no driver answers, nothing is reported. */
#ifndef SP_AGENT_SPARK_DRIVER_REST_H
#define SP_AGENT_SPARK_DRIVER_REST_H

#include "spark_identity.h"
#include "task_table.h"
#include "threads/threads.h"

#include <jni.h>

struct sp_driver_rest;

/* @ui: the address of the driver's UI, "" to look for it: on the driver's host, at the port that
 *      Spark's configuration names and the four above it.
 * @box: who the JVM is, as far as it is known: what comes later is heeded.
 * Context: the JVM side has started. @threads, @tasks and @box are borrowed until
 * sp_driver_rest_stop. Returns 0, with *ret NULL where there is nothing to ask; or -errno, nothing
 * left. */
int sp_driver_rest_start(struct sp_driver_rest **ret, JavaVM *vm, struct sp_threads *threads,
	struct sp_task_table *tasks, struct sp_spark_identity_box *box, const char *ui);

/* Returns whether there were stages to ask for, and no driver answered for any. */
bool sp_driver_rest_stop(struct sp_driver_rest *r);

#endif
