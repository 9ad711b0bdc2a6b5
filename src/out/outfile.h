/* An output file that is either whole or not there: written under a temporary name in the same
 * directory and renamed when it is complete. */
#ifndef SP_OUT_OUTFILE_H
#define SP_OUT_OUTFILE_H

#include <stdbool.h>

#include "base/err.h"

struct sp_outfile {
	int fd;	    /* write here; borrowed until commit or abort */
	char *path; /* owned; what the user wrote, links resolved */
	char *temp; /* owned; NULL: written in place (stdout, a device, a pipe) */
};

/* @path: "-" is standard output. A path that exists and is no regular file (/dev/stdout, a FIFO) is
 * written in place; the file behind a symbolic link is replaced, not the link.
 * Returns: 0; -EISDIR and other -errno with a sentence in @err. */
int sp_outfile_open(struct sp_outfile *o, const char *path, struct sp_err *err);

/* Gives the file its name. Returns 0 or -errno; then the temporary file is gone. */
int sp_outfile_commit(struct sp_outfile *o, struct sp_err *err);

/* Removes what was written; nothing happens after a commit. */
void sp_outfile_abort(struct sp_outfile *o);

#endif
