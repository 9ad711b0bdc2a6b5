/* See python_sidecar.h. */
#include "python_sidecar.h"

#include "base/cleanup.h"
#include "jfr/concat.h"
#include "prof/load/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_recording(int fd)
{
	struct stat st;
	char magic[4];

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && pread(fd, magic, 4, 0) == 4 &&
	       memcmp(magic, "FLR", 4) == 0;
}

/* A half that an earlier run left has another time. */
static bool same_time(int a, int b)
{
	uint64_t from[2], to[2];

	return is_recording(a) && is_recording(b) && sp_load_times(a, &from[0], &to[0]) == 0 &&
	       sp_load_times(b, &from[1], &to[1]) == 0 && from[0] <= to[1] && from[1] <= to[0];
}

/* Another user can put a file of that name into a directory that is open to all. */
static bool same_owner(int a, int b)
{
	struct stat st[2];

	return fstat(a, &st[0]) == 0 && fstat(b, &st[1]) == 0 && st[0].st_uid == st[1].st_uid;
}

/* The other half; -1: there is none. */
static int open_half(const char *path, int whole)
{
	SP_AUTO_FREE char *name = NULL;
	int fd;

	if (asprintf(&name, "%s" SP_HALF_PYTHON, path) < 0)
		return -1;
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0 && !(same_owner(whole, fd) && same_time(whole, fd))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Both behind one another in @to. */
static int join_files(int fd, int half, int to)
{
	int r = to < 0 ? -errno : sp_jfr_concat_append(fd, to);

	if (r == 0)
		r = sp_jfr_concat_separator(to, half);
	if (r == 0)
		r = sp_jfr_concat_append(half, to);
	if (r == 0 && lseek(to, 0, SEEK_SET) < 0)
		r = -errno;
	if (r < 0 && to >= 0)
		close(to);
	return r < 0 ? r : to;
}

int sp_python_sidecar_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), r;
	SP_AUTO_CLOSE int half = fd < 0 ? -1 : open_half(path, fd);

	if (fd < 0)
		return -errno;
	if (half < 0)
		return fd;
	r = join_files(fd, half, open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
	if (r < 0)
		r = join_files(fd, half, memfd_create("sparkprof", MFD_CLOEXEC));
	close(fd);
	return r;
}

bool sp_python_sidecar_has(const char *path, const char *other)
{
	size_t n = strlen(path);
	int fd, half;

	if (strncmp(path, other, n) != 0 || strcmp(other + n, SP_HALF_PYTHON) != 0)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	half = fd < 0 ? -1 : open_half(path, fd);
	if (fd >= 0)
		close(fd);
	if (half >= 0)
		close(half);
	return half >= 0;
}
