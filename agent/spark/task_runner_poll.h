/* What the executor itself knows of its tasks: SparkEnv's executor has the runner of each, and that
 * says when it has finished, just behind the log line "Finished task". The thread may then take a
 * while to send the result and to leave, above all where cores are scarce. */
#ifndef SP_AGENT_RUNNERS_H
#define SP_AGENT_RUNNERS_H

#include <jni.h>
#include <stdint.h>

/* Context: the JVM's one jvmside thread, no lock held. Returns 1: the executor holds the attempt
 * for finished; 0: not; -1: it cannot be told (local mode, Spark before 3.5, no executor yet). */
int sp_runners_finished(JNIEnv *env, int64_t task_id);

/* Lets go of what was looked up. */
void sp_runners_done(JNIEnv *env);

#endif
