/* Temporary name, then rename: see outfile.h. */
#include "out/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cleanup.h"

static int fail(const char *path, int code, struct sp_err *err)
{
	return sp_err_set(err, code, "%s: cannot be written: %s", path, strerror(-code));
}

/* "dir/.name.tmp-<pid>-<n>", the name cut so that it fits. */
static char *temp_name(const char *path, unsigned n)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char *temp;

	if (asprintf(&temp, "%.*s.%.200s.tmp-%d-%x", (int)(name - path), path, name, (int)getpid(),
		    n) < 0)
		return NULL;
	return temp;
}

static int open_temp(struct sp_outfile *o, struct sp_err *err)
{
	unsigned n = (unsigned)sp_clock_mono_ns();

	for (int i = 0; i < 100; i++, n++) {
		o->temp = temp_name(o->path, n);
		if (!o->temp)
			return fail(o->path, -ENOMEM, err);
		o->fd = open(o->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (o->fd >= 0)
			return 0;
		free(sp_steal_ptr(o->temp));
		if (errno != EEXIST)
			break;
	}
	return fail(o->path, -errno, err);
}

int sp_outfile_open(struct sp_outfile *o, const char *path, struct sp_err *err)
{
	struct stat st;
	int r;

	*o = (struct sp_outfile){.fd = -1};
	if (strcmp(path, "-") == 0) {
		o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return o->fd < 0 ? fail("standard output", -errno, err) : 0;
	}
	if (stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return fail(path, -EISDIR, err);
		if (!S_ISREG(st.st_mode)) {
			o->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
			return o->fd < 0 ? fail(path, -errno, err) : 0;
		}
		o->path = realpath(path, NULL);
	} else {
		o->path = strdup(path);
	}
	if (!o->path)
		return fail(path, -errno, err);
	r = open_temp(o, err);
	if (r < 0)
		free(sp_steal_ptr(o->path));
	return r;
}

int sp_outfile_commit(struct sp_outfile *o, struct sp_err *err)
{
	int r = 0;

	/* close may be the first to tell of a full disk (NFS) */
	if (close(sp_steal_fd(&o->fd)) < 0)
		r = fail(o->path ? o->path : "standard output", -errno, err);
	if (r == 0 && o->temp && rename(o->temp, o->path) < 0)
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
		unlink(o->temp);
	free(sp_steal_ptr(o->temp));
	free(sp_steal_ptr(o->path));
}
