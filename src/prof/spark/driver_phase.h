/* What threads of a Spark driver do, which runs no tasks: phases of a query by frames, and what
 * Spark's own threads are there for by their names. */
#ifndef SP_PROF_SPARK_DRIVER_PHASE_H
#define SP_PROF_SPARK_DRIVER_PHASE_H

#include "base/buf.h"
#include "prof/model/profile.h"

/* The phase of a query that a stack is in, by the frame nearest to the leaf that shows it:
 * "parsing", "analysis", "optimisation", "planning", "codegen", "file listing", "collecting
 * results", "broadcast", "job" (it waits for one it has submitted); NULL: none. See driver_work.h.
 */
const char *sp_driver_phase(
	const struct sp_dict *d, const struct sp_frame_ref *frames, uint32_t count);

/* Appends what a thread is there for, by its name: "scheduler", "listeners", "broadcast",
 * "subquery", "connect OPERATION", "stream NAME QUERY-ID". Returns false where the name has
 * none. */
bool sp_driver_thread(const char *name, struct sp_buf *out);

/* Appends both, "stream f3a1…, planning". @phase: of the row's stack; NULL: none. Returns false
 * where there is neither. */
bool sp_driver_label(const struct sp_profile *p, const struct sp_sample *row, const char *phase,
	struct sp_buf *out);

#endif
