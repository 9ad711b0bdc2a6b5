/* Temporary name, then rename: see outfile.h. */
#include "out/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file_error.h"

static int fail(const char *path, int code, struct sp_err *err)
{
	if (code == -EBADF)
		return sp_err_set(err, code, "%s: cannot be written: it is closed", path);
	return sp_err_write(err, code, path);
}

static int open_place(struct sp_outfile *o, enum sp_outfile_kind kind)
{
	const struct sp_place *p = &o->place;

	if (p->fd >= 0)
		return sp_steal_fd(&o->place.fd);
	if (p->exists && !S_ISREG(p->st.st_mode))
		return sp_place_open(p, O_WRONLY);
	return sp_place_temp(p, kind == SP_OUTFILE_PRIVATE, &o->temp);
}

/* One that the caller has closed is open for reading only, if at all. */
static int open_stdout(struct sp_outfile *o, struct sp_err *err)
{
	int mode = fcntl(STDOUT_FILENO, F_GETFL);

	if (mode < 0 || (mode & O_ACCMODE) == O_RDONLY)
		return fail("standard output", -EBADF, err);
	o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	return o->fd < 0 ? fail("standard output", -errno, err) : 0;
}

int sp_outfile_open(
	struct sp_outfile *o, const char *path, enum sp_outfile_kind kind, struct sp_err *err)
{
	int r;

	*o = (struct sp_outfile){.fd = -1, .place = SP_PLACE_NONE};
	if (strcmp(path, "-") == 0)
		return open_stdout(o, err);
	r = sp_place_find(&o->place, path, err);
	if (r < 0)
		return r;
	o->path = strdup(path);
	r = o->path ? open_place(o, kind) : -ENOMEM;
	if (r < 0) {
		fail(path, r, err);
		sp_outfile_abort(o);
		return r;
	}
	o->fd = r;
	return 0;
}

int sp_outfile_commit(struct sp_outfile *o, struct sp_err *err)
{
	int r = 0;

	/* close may be the first to report a full disk (NFS) */
	if (close(sp_steal_fd(&o->fd)) < 0)
		r = fail(o->path ? o->path : "standard output", -errno, err);
	if (r == 0 && o->temp && renameat(o->place.dir, o->temp, o->place.dir, o->place.name) < 0)
		r = fail(o->path, -errno, err);
	if (r == 0)
		free(sp_steal_ptr(o->temp));
	sp_outfile_abort(o);
	return r;
}

void sp_outfile_abort(struct sp_outfile *o)
{
	sp_cleanup_close(&o->fd);
	o->fd = -1;
	if (o->temp)
		unlinkat(o->place.dir, o->temp, 0);
	free(sp_steal_ptr(o->temp));
	free(sp_steal_ptr(o->path));
	sp_place_done(&o->place);
}
