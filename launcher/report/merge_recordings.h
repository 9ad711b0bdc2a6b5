/* Several recordings as one: their chunks one behind the other, native functions named. */
#ifndef SP_LAUNCHER_REPORT_MERGE_RECORDINGS_H
#define SP_LAUNCHER_REPORT_MERGE_RECORDINGS_H

#include "report_inputs.h"

/* Writes @path ("-" is stdout), whole or not at all. Damage is said, and what is readable is there.
 * Returns 0, or -errno with a sentence; -EINVAL where an input is no recording. */
int sp_merge_recordings(
	const struct sp_report_inputs *in, const char *path, bool redact, struct sp_err *err);

#endif
