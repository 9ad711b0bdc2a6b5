/* Spark's tasks as the JVM's side sees them: takes the names of threads for begins and ends of
 * tasks, and asks the JVM for what the names do not say: before Spark 4.2 when a task ended, up to
 * 3.0 its stage, always what its properties say of the stage, and which task a helping thread works
 * for.
 */
#ifndef SP_AGENT_SPARK_TASK_TRACKER_H
#define SP_AGENT_SPARK_TASK_TRACKER_H

#include "task_table.h"

#include <jvmti.h>

/* @tasks is borrowed until sp_task_tracker_stop(). One at a time. */
void sp_task_tracker_start(struct sp_task_table *tasks);
/* No other call may be under way. */
void sp_task_tracker_stop(JNIEnv *env);

/* A thread that is known to be called @name: since @now_ns with @begun, else since before.
 * Context: any Java thread, no lock held. Returns true where sp_task_tracker_tick() should be
 * called soon. */
bool sp_task_tracker_named(
	JNIEnv *env, jobject thread, uint32_t tid, const char *name, uint64_t now_ns, bool begun);

/* As above for a name that was asked for: what is open under it already stays as it is. @first: the
 * recording has just begun. */
void sp_task_tracker_found(
	JNIEnv *env, jobject thread, uint32_t tid, const char *name, uint64_t now_ns, bool first);

/* The Java thread ends. */
void sp_task_tracker_ended(uint32_t tid, uint64_t now_ns);

/* Looks at what is open. Context: the jvmside thread. Returns after how many nanoseconds it should
 * be called again; 0: not before something happens. */
uint64_t sp_task_tracker_tick(JNIEnv *env, jvmtiEnv *ti);

#endif
