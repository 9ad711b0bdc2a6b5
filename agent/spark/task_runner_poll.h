/* What the executor itself knows of its tasks: SparkEnv's executor has the runner of each, and that
 * says when it has finished, just behind the log line "Finished task". The thread may then take a
 * while to send the result and to leave, above all where cores are scarce. */
#ifndef SP_AGENT_SPARK_TASK_RUNNER_POLL_H
#define SP_AGENT_SPARK_TASK_RUNNER_POLL_H

#include <jni.h>
#include <stdint.h>

/* Context: the JVM's one jvmside thread, no lock held. Returns 1: the executor marks the attempt
 * finished; 0: not; -1: unknown (local mode, Spark before 3.5, no executor yet).
 * *ret_ran_ns: where it has finished, how long it took by Spark's own clock, up to 3 ms too long;
 * 0: not known. */
int sp_task_runner_poll_finished(JNIEnv *env, int64_t task_id, uint64_t *ret_ran_ns);

/* Reads what Spark measured of those that were asked for and have finished since, once each
 * (task_measures.h). Context: as above. */
void sp_task_runner_poll_collect(JNIEnv *env);

/* Lets go of what was looked up. */
void sp_task_runner_poll_done(JNIEnv *env);

#endif
