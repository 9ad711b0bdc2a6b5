/* Recordings that come from other hosts, while they grow: files in a directory of their own beside
 * the first output, each valid at every moment; at the end one report is made of all, and they go.
 */
#ifndef SP_LAUNCHER_VIA_RECEIVED_RECORDINGS_H
#define SP_LAUNCHER_VIA_RECEIVED_RECORDINGS_H

#include "base/err.h"
#include "cli/options.h"

struct sp_received_recordings {
	char *dir;    /* owned; NULL: none */
	char **paths; /* owned, each too; NULL: not created */
	size_t n, cap;
};

/* Makes the directory. */
int sp_received_recordings_open(
	struct sp_received_recordings *p, const struct sp_call *call, struct sp_err *err);

/* Creates the file of recording @i: each in its turn. Returns a descriptor owned by the caller, or
 * -errno with a sentence. */
int sp_received_recordings_create(struct sp_received_recordings *p, size_t i, struct sp_err *err);

/* What is in the file of recording @i was recorded by a clock that is ahead of ours by @ns. Returns
 * 0 or -errno. */
int sp_received_recordings_shift(struct sp_received_recordings *p, size_t i, int64_t ns);

/* Writes the outputs of @call from all files that hold something, and removes them; where that
 * fails they stay, and it is said where. Returns an exit code. */
int sp_received_recordings_report(struct sp_received_recordings *p, const struct sp_call *call);

void sp_received_recordings_remove(struct sp_received_recordings *p);
void sp_received_recordings_done(struct sp_received_recordings *p);

#endif
