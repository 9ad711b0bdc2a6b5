/* An output file that is either whole or not there: written under a temporary name in the same
 * directory and renamed when it is complete. Nothing that another user put in the way is followed
 * or written: see place.h. */
#ifndef SP_OUT_OUTFILE_H
#define SP_OUT_OUTFILE_H

#include <stdbool.h>

#include "base/err.h"
#include "out/place.h"

/* Who may read a new file. A file of ours that is replaced keeps its mode. */
enum sp_outfile_kind {
	SP_OUTFILE_REPORT,  /* as the umask says */
	SP_OUTFILE_PRIVATE, /* we alone: a recording, which holds command lines */
};

struct sp_outfile {
	int fd;		       /* write here; borrowed until commit or abort */
	char *path;	       /* owned; what the user wrote */
	char *temp;	       /* owned; NULL: written in place (stdout, a device, a pipe) */
	struct sp_place place; /* where it goes */
};

/* @path: "-" is standard output. What exists and is no regular file (/dev/stdout, a FIFO) is
 * written in place; the file behind a link of our own is replaced, not the link.
 * Returns: 0; -EPERM for a link, FIFO or file of another user; -EISDIR and other -errno; with a
 * sentence in @err. */
int sp_outfile_open(
	struct sp_outfile *o, const char *path, enum sp_outfile_kind kind, struct sp_err *err);

/* Gives the file its name. Returns 0 or -errno; then the temporary file is gone. */
int sp_outfile_commit(struct sp_outfile *o, struct sp_err *err);

/* Removes what was written; nothing happens after a commit. */
void sp_outfile_abort(struct sp_outfile *o);

#endif
