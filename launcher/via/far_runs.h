/* A call over the targets of several hosts: which are meant, one run of this program for each, and
 * what becomes of what they write. */
#ifndef SP_LAUNCHER_VIA_FAR_RUNS_H
#define SP_LAUNCHER_VIA_FAR_RUNS_H

#include "hosts.h"

/* Runs @call there and writes its outputs here. Returns an exit code. */
int sp_far_runs_execute(struct sp_via_hosts *hs, const struct sp_call *call);

/* Appends what would be run there, for --dry-run. */
void sp_far_runs_describe(const struct sp_call *call, struct sp_buf *ret);

#endif
