/* Names of outputs and the place of the recording: see outputs.h. What is made of a recording is in
 * outputs_write.c. */
#include "outputs.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file_error.h"
#include "base/io.h"
#include "base/name_template.h"

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
	o->place = SP_PLACE_NONE;
}

void sp_outputs_done(struct sp_outputs *o)
{
	for (size_t i = 0; i < o->n; i++)
		free(o->list[i].path);
	free(o->recording);
	free(o->copy);
	sp_place_done(&o->place);
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
	const struct sp_name_template_vars *vars, struct sp_err *err)
{
	SP_AUTO_BUF struct sp_buf name;
	const char *path;
	int r;

	sp_buf_init(&name);
	r = sp_name_template_expand(from->path, vars, &name, err);
	if (r < 0)
		return r == -ENOENT ? -EINVAL : r;
	path = sp_buf_str(&name);
	for (size_t i = 0; i < o->n; i++) {
		if (strcmp(o->list[i].path, path) == 0)
			return sp_err_set(err, -EINVAL,
				"-f %s: two outputs get this name; give each one of its own", path);
	}
	r = add(o, path, from->format);
	return r < 0 ? sp_err_set(err, r, "-f %s: %s", path, strerror(-r)) : 0;
}

int sp_outputs_name(struct sp_outputs *o, const struct sp_call *call, const struct sp_jvm *target,
	struct sp_err *err)
{
	struct sp_name_template_vars vars = {.pid = target->pid,
		.time = time(NULL),
		.round = 1,
		.app_id = target->app_id,
		.executor_id = target->executor_id};
	bool kept = call->action == SP_ACTION_START || call->action == SP_ACTION_RESUME;
	int r = 0;

	for (size_t i = 0; i < call->n_outputs && r == 0; i++)
		r = name_one(o, &call->outputs[i], &vars, err);
	/* What a later `stop` writes is kept a name in a line. */
	for (size_t i = 0; kept && i < o->n && r == 0; i++)
		if (strchr(o->list[i].path, '\n'))
			r = sp_err_set(err, -EINVAL,
				"-f %s: a recording that goes on cannot have a name with a line "
				"break; give it another",
				o->list[i].path);
	return r;
}

int sp_outputs_text(const struct sp_outputs *o, struct sp_buf *ret)
{
	for (size_t i = 0; i < o->n; i++)
		sp_buf_addf(
			ret, "%s %s\n", sp_output_format_name(o->list[i].format), o->list[i].path);
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
			sp_output_format_parse(name, &format, NULL) < 0)
			return -EINVAL;
		r = add(o, path, format);
		text += line + (text[line] == '\n');
	}
	return r;
}

/* Nothing is left beside a device, nor beside a descriptor of ours. */
static bool is_plain(const struct sp_output *f)
{
	struct sp_place p;
	bool plain;

	if (sp_place_find(&p, f->path, NULL) < 0)
		return true; /* said when it is written */
	plain = p.fd < 0 && (!p.exists || S_ISREG(p.st.st_mode));
	sp_place_done(&p);
	return plain;
}

/* Where the recording belongs: the user's own JFR file, else beside the first file; NULL: only
 * stdout was asked for. */
static int place(struct sp_outputs *o)
{
	const struct sp_output *beside = NULL;

	for (size_t i = 0; i < o->n; i++) {
		if (is_stdout(&o->list[i]))
			continue;
		if (o->list[i].format == SP_FORMAT_JFR) {
			o->keep = true;
			o->recording = strdup(o->list[i].path);
			return o->recording ? 0 : -ENOMEM;
		}
		if (!beside && is_plain(&o->list[i]))
			beside = &o->list[i];
	}
	if (beside && asprintf(&o->recording, "%s.jfr", beside->path) < 0) {
		o->recording = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int open_named(struct sp_outputs *o, struct sp_err *err)
{
	const struct sp_place *p = &o->place;
	int fd = sp_place_find(&o->place, o->recording, err);

	if (fd < 0)
		return fd;
	if (p->fd >= 0 || (p->exists && !S_ISREG(p->st.st_mode)))
		return sp_err_set(err, -EINVAL,
			"%s: is no regular file; a recording needs one, or -o jfr -f - to stream",
			o->recording);
	if (p->exists && unlinkat(p->dir, p->name, 0) < 0 && errno != ENOENT)
		return sp_err_set(
			err, -errno, "%s: cannot be replaced: %s", o->recording, strerror(errno));
	fd = sp_place_create(p, true);
	if (fd < 0)
		return sp_err_write(err, fd, o->recording);
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

static int check_stdout(struct sp_err *err)
{
	int mode = fcntl(STDOUT_FILENO, F_GETFL);

	if (mode < 0 || (mode & O_ACCMODE) == O_RDONLY)
		return sp_err_set(err, -EBADF, "standard output: cannot be written: it is closed");
	return 0;
}

static int check_place(const char *path, struct sp_err *err)
{
	struct sp_place p;
	int r = sp_place_find(&p, path, err);

	if (r == -EISDIR)
		return sp_err_set(err, r,
			"%s: is a directory; name a file in it, such as %s/out.html", path, path);
	if (r < 0)
		return r;
	if (p.fd < 0 && faccessat(p.dir, ".", W_OK | X_OK, AT_EACCESS) < 0)
		r = sp_err_write(err, -errno, path);
	sp_place_done(&p);
	return r;
}

int sp_outputs_check(const struct sp_outputs *o, struct sp_err *err)
{
	int r = 0;

	for (size_t i = 0; i < o->n && r == 0; i++)
		r = is_stdout(&o->list[i]) ? check_stdout(err) : check_place(o->list[i].path, err);
	return r;
}

int sp_outputs_record(struct sp_outputs *o, struct sp_err *err)
{
	if (o->n == 1 && is_stdout(&o->list[0]) && o->list[0].format == SP_FORMAT_JFR)
		return open_stream(o, err);
	if (place(o) < 0)
		return sp_err_set(err, -ENOMEM, "out of memory");
	o->fd = o->recording ? open_named(o, err) : open_unnamed(err);
	return o->fd < 0 ? o->fd : 0;
}

void sp_outputs_adopt(struct sp_outputs *o, int fd)
{
	struct stat st;

	o->fd = fd;
	if (place(o) < 0 || !o->recording)
		return;
	/* Ours to finish only if the name still means the file that the agent wrote. */
	if (sp_place_find(&o->place, o->recording, NULL) < 0 || fstat(fd, &st) < 0 ||
		!sp_place_is(&o->place, &st)) {
		free(sp_steal_ptr(o->recording));
		o->keep = false;
	}
}

static int copy_all(int from, int to, const char *path, struct sp_err *err)
{
	static char block[1 << 16];
	ssize_t n = 0;
	int r;

	while ((n = copy_file_range(from, NULL, to, NULL, 1 << 30, 0)) > 0)
		;
	if (n == 0)
		return 0;
	/* Not between these file systems, or not in this kernel (4.5): where it stopped. */
	while ((n = read(from, block, sizeof(block))) > 0) {
		r = sp_io_write_all(to, block, (size_t)n);
		if (r < 0)
			return sp_err_write(err, r, path);
	}
	return n < 0 ? sp_err_read(err, -errno, path) : 0;
}

/* The copy has the owner of the recording, if we may give it to him. */
static int open_copy(struct sp_outputs *o, int from, struct sp_err *err)
{
	const struct stat *st = &o->place.st;

	o->fd = sp_place_temp(&o->place, true, &o->copy);
	if (o->fd < 0)
		return sp_err_set(err, o->fd, "%s: no copy can be made beside it: %s", o->recording,
			strerror(-o->fd));
	if (fchown(o->fd, st->st_uid, st->st_gid) == 0 || st->st_uid == geteuid())
		fchmod(o->fd, st->st_mode & 0777);
	return copy_all(from, o->fd, o->recording, err);
}

static int open_recording(struct sp_outputs *o, struct sp_err *err)
{
	int fd = sp_place_find(&o->place, o->recording, err);

	if (fd < 0)
		return fd;
	if (o->place.fd >= 0 || (o->place.exists && !S_ISREG(o->place.st.st_mode)))
		return sp_err_set(err, -EINVAL, "resume: %s: is no regular file", o->recording);
	fd = sp_place_open(&o->place, O_RDONLY);
	if (fd < 0)
		return sp_err_set(err, -EINVAL, "resume: %s: %s; 'start' begins a new recording",
			o->recording, strerror(-fd));
	return fd;
}

int sp_outputs_reopen(struct sp_outputs *o, struct sp_err *err)
{
	SP_AUTO_CLOSE int from = -1;
	int r;

	if (place(o) < 0)
		return sp_err_set(err, -ENOMEM, "out of memory");
	if (!o->keep)
		return sp_err_set(
			err, -EINVAL, "resume: name the recording to go on with: -f FILE.jfr");
	from = open_recording(o, err);
	if (from < 0)
		return from;
	r = open_copy(o, from, err);
	if (r < 0 && o->copy)
		sp_outputs_discard(o);
	return r;
}

int sp_outputs_settle(struct sp_outputs *o, struct sp_err *err)
{
	const struct sp_place *p = &o->place;

	if (!o->copy)
		return 0;
	if (renameat(p->dir, o->copy, p->dir, p->name) < 0)
		return sp_err_set(
			err, -errno, "%s: cannot be replaced: %s", o->recording, strerror(errno));
	free(sp_steal_ptr(o->copy));
	return 0;
}

void sp_outputs_remove(struct sp_outputs *o)
{
	if (o->place.name)
		unlinkat(o->place.dir, o->place.name, 0);
}

void sp_outputs_discard(struct sp_outputs *o)
{
	if (!o->copy) {
		sp_outputs_remove(o);
	} else {
		unlinkat(o->place.dir, o->copy, 0);
		free(sp_steal_ptr(o->copy));
	}
}
