/* See file_error.h. */
#include "base/file_error.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

struct remedy {
	int code;
	const char *try;
};

static const struct remedy reading[] = {
	{ENOENT, "check the name, and in which directory it is"},
	{ENOTDIR, "a part of the path is a file, not a directory"},
	{EACCES, "run sparkprof as the owner of the file, or with sudo"},
	{EPERM, "run sparkprof as the owner of the file, or with sudo"},
	{ELOOP, "its links lead in a circle: name the file itself"},
	{ENAMETOOLONG, "check the name"},
	{EMFILE, "raise the limit of open files (ulimit -n)"},
	{EIO, "the disk or the remote file system fails: copy the file first"},
};

static const struct remedy writing[] = {
	{ENOENT, "make its directory first, or name another file with -f"},
	{ENOTDIR, "a part of the path is a file, not a directory: name another file with -f"},
	{EACCES, "name a file in a directory that you may write to with -f, as /tmp"},
	{EPERM, "name a file in a directory that you may write to with -f, as /tmp"},
	{EROFS, "name a file in a directory that you may write to with -f, as /tmp"},
	{ENOSPC, "make room there, or name a file on another disk with -f"},
	{EDQUOT, "make room there, or name a file on another disk with -f"},
	{EFBIG, "raise the limit of a file's size (ulimit -f)"},
	{EISDIR, "name a file in it with -f"},
	{ENAMETOOLONG, "name a shorter one with -f"},
	{EMFILE, "raise the limit of open files (ulimit -n)"},
	{EIO, "name a file on another disk with -f"},
};

static int set_error(struct sp_err *err, int code, const char *path, const char *what,
	const struct remedy *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].code == -code)
			return sp_err_set(err, code, "%s: cannot be %s: %s; %s", path, what,
				strerror(-code), list[i].try);
	return sp_err_set(err, code, "%s: cannot be %s: %s", path, what, strerror(-code));
}

int sp_err_read(struct sp_err *err, int code, const char *path)
{
	return set_error(err, code, path, "read", reading, SP_COUNT(reading));
}

int sp_err_write(struct sp_err *err, int code, const char *path)
{
	return set_error(err, code, path, "written", writing, SP_COUNT(writing));
}
