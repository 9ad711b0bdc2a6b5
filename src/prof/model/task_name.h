/* The names that Spark's executors give to the threads that run tasks. Shared by the agent, which
 * hears them, and the reader of recordings. */
#ifndef SP_PROF_MODEL_TASK_NAME_H
#define SP_PROF_MODEL_TASK_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One attempt of a task. -1: unknown. */
struct sp_task_name {
	int64_t task_id; /* Spark's TID: of the attempt, unique in the application */
	int32_t stage, stage_attempt;
	int32_t index,
		attempt; /* the task's place in its stage, and how often it was tried before */
};

/* "Executor task launch worker for task 3.0 in stage 5.0 (TID 345)" (Spark 3.1 on), or "… for task
 * 345" (2.1 to 3.0: the TID alone). Returns false where @name is not a task's. */
bool sp_task_name_parse(const char *name, struct sp_task_name *ret);

/* Is it what Spark 4.2 and later call a worker between tasks? */
bool sp_task_name_idle(const char *name);

/* Does Spark name a thread so that works for a task beside the task's own: PySpark's writer (to
 * 3.5), the feeders of pipe() and of script transforms? */
bool sp_task_name_feeder(const char *name);

/* A thread of a native engine that works for one task and says so in its name, as Auron's do:
 * "auron-native-stage-5-part-3-tid-345" (Blaze's, before: "blaze-native-…"). Shared pools of such
 * engines (Comet, Velox, RAPIDS) name no task. Returns false where @name is none. */
bool sp_task_name_engine(const char *name, struct sp_task_name *ret);

/* "task 3.0 in stage 5.0 (TID 345)": what is known of @t, as a span's tag. Returns @buf. */
const char *sp_task_name_tag(const struct sp_task_name *t, char *buf, size_t size);

#endif
