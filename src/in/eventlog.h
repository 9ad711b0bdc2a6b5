/* Spark's event logs: what the driver called its stages, jobs and SQL executions, and when tasks
 * ran. Launcher side. */
#ifndef SP_IN_EVENTLOG_H
#define SP_IN_EVENTLOG_H

#include "base/err.h"
#include "prof/spark/stage_names.h"

/* Reads a log: a file (plain, zstd, lz4 or snappy, finished or still being written) or the
 * directory of a rolling one (eventlog_v2_…). Adds to @ret, which the caller frees in any case.
 * Returns: 0, also where a log is cut, as one in progress is; -EBADMSG with a sentence where it is
 * no event log; another -errno with one. */
__attribute__((warn_unused_result)) int sp_eventlog_read(
	const char *path, struct sp_stage_names *ret, struct sp_err *err);

#endif
