/* Which Spark task a PySpark worker works on, as its own memory has it:
 * pyspark.taskcontext.TaskContext._taskContext. */
#ifndef SP_PY_PYSPARK_TASK_H
#define SP_PY_PYSPARK_TASK_H

#include "py/stack_reader.h"

struct sp_pytask {
	int64_t stage, partition, attempt, tid; /* -1: unknown */
};

/* What an answer was read from: as long as that memory is the same, so is the answer. */
enum { SP_PYTASK_READS = 24, SP_PYTASK_BYTES = 1536 };
struct sp_pytask_known {
	size_t count, bytes; /* count 0: nothing is known */
	bool partly;	     /* there was no room for all */
	struct {
		uint64_t addr;
		size_t len, at;	       /* where in the text */
	} reads[SP_PYTASK_READS];      /* by address */
	uint8_t text[SP_PYTASK_BYTES]; /* of all */
	struct sp_pytask task;
	int result;
};

/* Where it is kept. All zero: not looked for yet. */
struct sp_pytask_place {
	uint64_t type, dict, keys, slot;
	struct sp_pytask_known known;
};

/* Looks for the class in sys.modules: slow, a millisecond or so. Returns 0, or -ENOENT where this
 * is no PySpark worker, or not yet. */
int sp_pytask_find(struct sp_pyreader *r, struct sp_pytask_place *ret);

/* Mostly in one call: a worker is asked fifty times a second, and its answer changes with its
 * tasks. Returns 0; -ENOENT between tasks; -ESTALE where _find has to look again; -EAGAIN where a
 * task is only starting. */
int sp_pytask_read(struct sp_pyreader *r, struct sp_pytask_place *p, struct sp_pytask *ret);

#endif
