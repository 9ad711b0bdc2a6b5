/* Reads what Spark has hung on a thread: the TaskContext in its thread-locals, by JNI field access
 * from another thread. Methods of ThreadLocalMap are never called: they clean up. */
#ifndef SP_AGENT_SPARK_TASK_CONTEXT_H
#define SP_AGENT_SPARK_TASK_CONTEXT_H

#include "task_table.h"

#include <jvmti.h>

/* Finds the task of @thread and what its properties say of the stage.
 * Context: an attached thread, no lock held. Returns false where it has none (yet). */
bool sp_task_context_read(JNIEnv *env, jvmtiEnv *ti, jobject thread, struct sp_task_name *ret_name,
	struct sp_stage_about *ret_about);

/* The same for a thread with an object that holds the context in a field, as PySpark's writers do;
 * also when it has ended. */
bool sp_task_context_held(JNIEnv *env, jvmtiEnv *ti, jobject thread, struct sp_task_name *ret_name,
	struct sp_stage_about *ret_about);

/* Is @thread, a worker of a java.util.concurrent pool, inside a job of the pool? Returns 1 or 0; -1
 * where it is not such a worker. */
int sp_task_context_busy(JNIEnv *env, jobject thread);

/* Lets go of what was looked up. */
void sp_task_context_done(JNIEnv *env);

#endif
