/* Names of outputs and the place of the recording: see outputs.h. What is made of a recording is in
 * outputs_write.c. */
#include "outputs.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/pattern.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void sp_outputs_init(struct sp_outputs *o)
{
	memset(o, 0, sizeof(*o));
	o->fd = -1;
}

void sp_outputs_done(struct sp_outputs *o)
{
	for (size_t i = 0; i < o->n; i++)
		free(o->list[i].path);
	free(o->recording);
	free(o->copy);
	if (o->fd >= 0)
		close(o->fd);
	sp_outputs_init(o);
}

static bool is_stdout(const struct sp_output *f)
{
	return strcmp(f->path, "-") == 0;
}

/* A later `stop` may run in another directory: names are kept absolute. */
static int add(struct sp_outputs *o, const char *path, enum sp_format format)
{
	SP_AUTO_FREE char *cwd = NULL;
	char *whole = NULL;

	if (path[0] == '/' || strcmp(path, "-") == 0)
		whole = strdup(path);
	else if (!(cwd = getcwd(NULL, 0)) || asprintf(&whole, "%s/%s", cwd, path) < 0)
		whole = NULL;
	if (!whole)
		return -ENOMEM;
	o->list[o->n++] = (struct sp_output){whole, format};
	return 0;
}

static int name_one(struct sp_outputs *o, const struct sp_call_output *from,
	const struct sp_pattern_vars *vars, struct sp_err *err)
{
	SP_AUTO_BUF struct sp_buf name;
	const char *path;
	int r;

	sp_buf_init(&name);
	r = sp_pattern_expand(from->path, vars, &name, err);
	if (r < 0)
		return r == -ENOENT ? -EINVAL : r;
	path = sp_buf_str(&name);
	for (size_t i = 0; i < o->n; i++) {
		if (strcmp(o->list[i].path, path) == 0)
			return sp_err_set(err, -EINVAL, "-f %s: two outputs get this name", path);
	}
	r = add(o, path, from->format);
	return r < 0 ? sp_err_set(err, r, "-f %s: %s", path, strerror(-r)) : 0;
}

int sp_outputs_name(struct sp_outputs *o, const struct sp_call *call, const struct sp_jvm *target,
	struct sp_err *err)
{
	struct sp_pattern_vars vars = {.pid = target->pid,
		.time = time(NULL),
		.round = 1,
		.app_id = target->app_id,
		.executor_id = target->executor_id};
	int r = 0;

	for (size_t i = 0; i < call->n_outputs && r == 0; i++)
		r = name_one(o, &call->outputs[i], &vars, err);
	return r;
}

int sp_outputs_text(const struct sp_outputs *o, struct sp_buf *ret)
{
	for (size_t i = 0; i < o->n; i++)
		sp_buf_addf(ret, "%s %s\n", sp_format_name(o->list[i].format), o->list[i].path);
	return ret->failed ? -ENOMEM : 0;
}

int sp_outputs_parse(struct sp_outputs *o, const char *text)
{
	int r = 0;

	while (*text && r == 0) {
		size_t word = strcspn(text, " \n"), line = strcspn(text, "\n");
		SP_AUTO_FREE char *name = strndup(text, word);
		SP_AUTO_FREE char *path =
			word < line ? strndup(text + word + 1, line - word - 1) : NULL;
		enum sp_format format;

		if (!name || !path || o->n == SP_CALL_MAX_OUTPUTS ||
			sp_format_parse(name, &format, NULL) < 0)
			return -EINVAL;
		r = add(o, path, format);
		text += line + (text[line] == '\n');
	}
	return r;
}

/* Where the recording belongs: the user's own JFR file, else beside the first file; NULL: only
 * stdout was asked for. */
static int place(struct sp_outputs *o)
{
	const struct sp_output *beside = NULL;
	struct stat st;

	for (size_t i = 0; i < o->n; i++) {
		if (is_stdout(&o->list[i]))
			continue;
		if (o->list[i].format == SP_FORMAT_JFR) {
			o->keep = true;
			o->recording = strdup(o->list[i].path);
			return o->recording ? 0 : -ENOMEM;
		}
		/* nothing is left beside a device */
		if (stat(o->list[i].path, &st) == 0 && !S_ISREG(st.st_mode))
			continue;
		beside = beside ? beside : &o->list[i];
	}
	if (beside && asprintf(&o->recording, "%s.jfr", beside->path) < 0) {
		o->recording = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int open_named(const char *path, struct sp_err *err)
{
	struct stat st;
	int fd;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return sp_err_set(err, -EINVAL,
			"%s: is no regular file; a recording needs one, or -o jfr -f - to stream",
			path);
	if (unlink(path) < 0 && errno != ENOENT)
		return sp_err_set(err, -errno, "%s: cannot be replaced: %s", path, strerror(errno));
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return sp_err_set(err, -errno, "%s: cannot be created: %s", path, strerror(errno));
	return fd;
}

/* A file without a name, in the first directory that takes one. */
static int open_unnamed(struct sp_err *err)
{
	const char *dirs[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", ".", "/dev/shm"};

	for (size_t i = 0; i < SP_COUNT(dirs); i++) {
		SP_AUTO_FREE char *name = NULL;
		int fd;

		if (!dirs[i])
			continue;
		fd = open(dirs[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (fd >= 0)
			return fd;
		if (asprintf(&name, "%s/.sparkprof-XXXXXX", dirs[i]) < 0)
			return sp_err_set(err, -ENOMEM, "out of memory");
		fd = mkostemp(name, O_CLOEXEC);
		if (fd >= 0) {
			unlink(name);
			return fd;
		}
	}
	return sp_err_set(err, -EROFS,
		"no directory for the recording can be written: give one with -f DIR/out.jfr, or "
		"stream it with -o jfr -f -");
}

static int open_stream(struct sp_outputs *o, struct sp_err *err)
{
	o->stream = true;
	o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	return o->fd < 0 ? sp_err_set(err, -errno, "stdout: %s", strerror(errno)) : 0;
}

static int check_place(const char *path, struct sp_err *err)
{
	const char *slash = strrchr(path, '/');
	SP_AUTO_FREE char *dir =
		slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	struct stat st;

	if (!dir)
		return sp_err_set(err, -ENOMEM, "out of memory");
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return sp_err_set(err, -EISDIR,
			"%s: is a directory; name a file in it, such as %s/out.html", path, path);
	if (access(dir, W_OK | X_OK) < 0)
		return sp_err_set(err, -errno, "%s: cannot be created: %s", path, strerror(errno));
	return 0;
}

int sp_outputs_check(const struct sp_outputs *o, struct sp_err *err)
{
	int r = 0;

	for (size_t i = 0; i < o->n && r == 0; i++)
		if (!is_stdout(&o->list[i]))
			r = check_place(o->list[i].path, err);
	return r;
}

int sp_outputs_record(struct sp_outputs *o, struct sp_err *err)
{
	if (o->n == 1 && is_stdout(&o->list[0]) && o->list[0].format == SP_FORMAT_JFR)
		return open_stream(o, err);
	if (place(o) < 0)
		return sp_err_set(err, -ENOMEM, "out of memory");
	o->fd = o->recording ? open_named(o->recording, err) : open_unnamed(err);
	return o->fd < 0 ? o->fd : 0;
}

void sp_outputs_adopt(struct sp_outputs *o, int fd)
{
	struct stat a, b;

	o->fd = fd;
	if (place(o) < 0)
		return;
	/* Ours to finish only if the name still means the file that the agent wrote. */
	if (o->recording && (stat(o->recording, &a) < 0 || fstat(fd, &b) < 0 ||
				    a.st_dev != b.st_dev || a.st_ino != b.st_ino)) {
		free(sp_steal_ptr(o->recording));
		o->keep = false;
	}
}

static int copy_all(int from, int to, const char *path, struct sp_err *err)
{
	static char block[1 << 16];
	ssize_t n = 0, done;

	while ((n = copy_file_range(from, NULL, to, NULL, 1 << 30, 0)) > 0)
		;
	if (n == 0)
		return 0;
	/* Not between these file systems, or not in this kernel (4.5): where it stopped. */
	while ((n = read(from, block, sizeof(block))) > 0)
		for (ssize_t at = 0; at < n; at += done) {
			done = write(to, block + at, (size_t)(n - at));
			if (done < 0)
				return sp_err_set(err, -errno, "%s: cannot be copied: %s", path,
					strerror(errno));
		}
	return n < 0 ? sp_err_set(err, -errno, "%s: cannot be read: %s", path, strerror(errno)) : 0;
}

/* The copy belongs to whom the recording belonged, if we may say so. */
static int open_copy(struct sp_outputs *o, int from, const struct stat *st, struct sp_err *err)
{
	if (asprintf(&o->copy, "%s.XXXXXX", o->recording) < 0) {
		o->copy = NULL;
		return sp_err_set(err, -ENOMEM, "out of memory");
	}
	o->fd = mkostemp(o->copy, O_CLOEXEC);
	if (o->fd < 0) {
		int r = sp_err_set(
			err, -errno, "%s: cannot be created: %s", o->copy, strerror(errno));

		free(sp_steal_ptr(o->copy));
		return r;
	}
	if (fchown(o->fd, st->st_uid, st->st_gid) == 0 || st->st_uid == geteuid())
		fchmod(o->fd, st->st_mode & 0777);
	return copy_all(from, o->fd, o->recording, err);
}

int sp_outputs_reopen(struct sp_outputs *o, struct sp_err *err)
{
	SP_AUTO_CLOSE int from = -1;
	struct stat st;
	int r;

	if (place(o) < 0)
		return sp_err_set(err, -ENOMEM, "out of memory");
	if (!o->keep)
		return sp_err_set(
			err, -EINVAL, "resume: name the recording to go on with: -f FILE.jfr");
	from = open(o->recording, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (from < 0 || fstat(from, &st) < 0)
		return sp_err_set(err, -EINVAL, "resume: %s: %s; 'start' begins a new recording",
			o->recording, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return sp_err_set(err, -EINVAL, "resume: %s: is no regular file", o->recording);
	r = open_copy(o, from, &st, err);
	if (r < 0)
		sp_outputs_discard(o);
	return r;
}

int sp_outputs_settle(struct sp_outputs *o, struct sp_err *err)
{
	if (!o->copy)
		return 0;
	if (rename(o->copy, o->recording) < 0)
		return sp_err_set(
			err, -errno, "%s: cannot be replaced: %s", o->recording, strerror(errno));
	free(sp_steal_ptr(o->copy));
	return 0;
}

void sp_outputs_discard(struct sp_outputs *o)
{
	if (o->copy) {
		unlink(o->copy);
		free(sp_steal_ptr(o->copy));
	} else if (o->recording) {
		unlink(o->recording);
	}
}
