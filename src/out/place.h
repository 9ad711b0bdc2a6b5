/* The place of a file that we write. Whoever runs us may be root, and the directory may be open to
 * all (/tmp): nothing that another user has put on the way is followed, opened or written.
 *
 * What is trusted: links that belong to us or to root; FIFOs likewise; any device; our own open
 * descriptors (/dev/stdout, /dev/fd/N), which are copied and not opened again. A file of another
 * user is left alone in a directory with the sticky bit; elsewhere it may be replaced, because
 * everybody who can write to that directory can do so.
 * The directory is held by a descriptor: what happens to the path later does not matter. */
#ifndef SP_OUT_PLACE_H
#define SP_OUT_PLACE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

struct sp_place {
	int dir;	/* owned: its directory; -1: none */
	int fd;		/* owned: a copy of our own descriptor that the path means; -1: none */
	char *name;	/* owned: its name in @dir; NULL with @fd */
	bool exists;	/* there is something now: */
	struct stat st; /* what it is; never a link */
};

#define SP_PLACE_NONE ((struct sp_place){.dir = -1, .fd = -1})

/* Finds the place that @path means. Creates and opens nothing.
 * Returns: 0; -EPERM for a link, FIFO or file of another user; -EISDIR; another -errno; each with a
 * sentence in @err. On failure there is nothing to free. */
int sp_place_find(struct sp_place *ret, const char *path, struct sp_err *err);

/* Opens what is there and no regular file (a FIFO, a device). Returns a descriptor owned by the
 * caller, or -errno. */
int sp_place_open(const struct sp_place *p, int flags);

/* Creates an empty file with a name of its own beside the place.
 * @private: nobody but us may read it; else the umask decides. A regular file of ours that is there
 * already gives its mode in both cases.
 * Returns: a descriptor (read and write) owned by the caller, and *ret_name, which is owned by the
 * caller, too; or -errno. */
int sp_place_temp(const struct sp_place *p, bool private, char **ret_name);

/* The same under the place's own name, which must be free. */
int sp_place_create(const struct sp_place *p, bool private);

/* Does the name mean the file @st now? */
bool sp_place_is(const struct sp_place *p, const struct stat *st);

void sp_place_done(struct sp_place *p);

#endif
