/* Which Spark task a PySpark worker works on, as its own memory has it:
 * pyspark.taskcontext.TaskContext._taskContext. */
#ifndef SP_PY_PYSPARK_TASK_H
#define SP_PY_PYSPARK_TASK_H

#include "py/stack_reader.h"

struct sp_pytask {
	int64_t stage, partition, attempt, tid; /* -1: not told */
};

/* Where it is kept. All zero: not looked for yet. */
struct sp_pytask_place {
	uint64_t type, dict, keys, slot;
};

/* Looks for the class in sys.modules: slow, a millisecond or so. Returns 0, or -ENOENT where this
 * is no PySpark worker, or not yet. */
int sp_pytask_find(struct sp_pyreader *r, struct sp_pytask_place *ret);

/* Returns 0; -ENOENT between tasks; -ESTALE where _find has to look again; -EAGAIN where a task is
 * only starting. */
int sp_pytask_read(struct sp_pyreader *r, const struct sp_pytask_place *p, struct sp_pytask *ret);

#endif
