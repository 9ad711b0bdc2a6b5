/* Finding the files of report and diff: see report_inputs.h. */
#include "report_inputs.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file_error.h"
#include "base/grow.h"
#include "base/hash.h"
#include "cli/message.h"
#include "python_sidecar.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMED 4 /* directories that a sentence names */

/* What a file is by whatever name. */
struct sp_input_file {
	uint64_t dev, ino;
	bool taken;
};

/* Where the file is in the table, or would be. */
static struct sp_input_file *place(
	struct sp_input_file *known, size_t cap, uint64_t dev, uint64_t ino)
{
	uint64_t key[2] = {dev, ino};
	size_t i = sp_hash_bytes(key, sizeof(key)) & (cap - 1);

	while (known[i].taken && (known[i].dev != dev || known[i].ino != ino))
		i = (i + 1) & (cap - 1);
	return &known[i];
}

/* Half of the places stay free. */
static int make_place(struct sp_report_inputs *in)
{
	size_t cap = in->known_cap ? in->known_cap * 2 : 64;
	struct sp_input_file *known;

	if (in->n_known * 2 < in->known_cap)
		return 0;
	known = calloc(cap, sizeof(*known));
	if (!known)
		return -ENOMEM;
	for (size_t i = 0; i < in->known_cap; i++)
		if (in->known[i].taken)
			*place(known, cap, in->known[i].dev, in->known[i].ino) = in->known[i];
	free(in->known);
	in->known = known;
	in->known_cap = cap;
	return 0;
}

/* A file that is there already, by whatever name; stdin is read once anyway. An application leaves
 * tens of thousands where each segment is a file: they are not asked for one by one. */
static bool is_known(const struct sp_report_inputs *in, const struct stat *st)
{
	return in->known_cap && S_ISREG(st->st_mode) &&
	       place(in->known, in->known_cap, st->st_dev, st->st_ino)->taken;
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcasecmp(name + n - m, end) == 0;
}

static int add_path(struct sp_report_inputs *in, const char *path, const struct stat *st)
{
	int r = make_place(in);

	if (r < 0)
		return r;
	if (sp_grow(&in->paths, &in->cap, in->n, sizeof(*in->paths), 16) < 0)
		return -ENOMEM;
	in->paths[in->n] = strdup(path);
	if (!in->paths[in->n])
		return -ENOMEM;
	in->n++;
	in->bytes += (uint64_t)st->st_size;
	in->sidecars += ends_with(path, SP_HALF_PYTHON);
	if (S_ISREG(st->st_mode)) {
		*place(in->known, in->known_cap, st->st_dev, st->st_ino) =
			(struct sp_input_file){st->st_dev, st->st_ino, true};
		in->n_known++;
	}
	return 0;
}

/* In a directory only files with the name of a recording are taken. */
static int is_recording(const struct dirent *d)
{
	static const char *const ends[] = {".jfr", ".jfr.gz", ".collapsed", ".collapsed.gz",
		".folded", ".folded.gz", ".pb.gz", ".pprof", ".perf", ".perf.gz"};

	for (size_t i = 0; i < SP_COUNT(ends); i++)
		if (d->d_name[0] != '.' && ends_with(d->d_name, ends[i]))
			return 1;
	return 0;
}

static bool is_named_jfr(const char *name)
{
	return ends_with(name, ".jfr") || ends_with(name, ".jfr.gz");
}

/* Whether a regular file begins as a JFR file, or as a gzipped one. */
static bool begins_as_jfr(const char *path)
{
	SP_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	char head[4];

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	       (memcmp(head, "FLR", 4) == 0 || memcmp(head, "\x1f\x8b", 2) == 0);
}

/* Beside recordings, text and pprof were made of them: to add these would count a run twice. */
static bool has_jfr(const char *path, struct dirent *const *names, int n)
{
	bool found = false;

	for (int i = 0; i < n && !found; i++) {
		SP_AUTO_FREE char *whole = NULL;

		if (is_named_jfr(names[i]->d_name) &&
			asprintf(&whole, "%s/%s", path, names[i]->d_name) >= 0)
			found = begins_as_jfr(whole);
	}
	return found;
}

/* Adds the file @name of the directory. Returns 1, 0 where it is no regular file, -ENODATA where it
 * is empty, or -ENOMEM. */
static int add_entry(struct sp_report_inputs *in, const char *path, const char *name)
{
	SP_AUTO_FREE char *whole = NULL;
	struct stat st;
	int r = 0;

	if (asprintf(&whole, "%s/%s", path, name) < 0)
		return -ENOMEM;
	if (stat(whole, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (!st.st_size)
		return -ENODATA;
	if (!is_known(in, &st))
		r = add_path(in, whole, &st);
	return r < 0 ? r : 1;
}

static void warn_left_out(const char *path, size_t n)
{
	if (n)
		sp_message_warn("%s: %zu file%s of other formats left out: where a directory has "
				"JFR recordings, only those are read; name %s to add %s",
			path, n, n == 1 ? "" : "s", n == 1 ? "it" : "them", n == 1 ? "it" : "them");
}

/* A file is begun before its first chunk is in it, and a JVM may be killed between. They tell
 * nothing of an application but this. */
static int refuse_empty(
	const char *path, const char *first, size_t empty, size_t found, struct sp_err *err)
{
	char more[32] = "";

	if (!empty)
		return 0;
	if (empty > 1)
		snprintf(more, sizeof(more), " and %zu more", empty - 1);
	sp_err_set(err, 0, "%s: %s%s: empty (the JVM was killed before it wrote anything)", path,
		first, more);
	if (!found)
		return -ENODATA;
	sp_message_warn("%s", err->text);
	return 0;
}

/* Adds what is in the directory itself, @ret_found files. Returns 0 or -errno with a sentence. */
static int add_files(
	struct sp_report_inputs *in, const char *path, size_t *ret_found, struct sp_err *err)
{
	struct dirent **names;
	int n = scandir(path, &names, is_recording, alphasort), r = 0;
	size_t found = 0, left_out = 0, empty = 0;
	char first[256] = "";
	bool jfr_only;

	if (n < 0)
		return sp_err_read(err, -errno, path);
	jfr_only = has_jfr(path, names, n);
	for (int i = 0; i < n; i++) {
		if (jfr_only && !is_named_jfr(names[i]->d_name)) {
			left_out++;
		} else if (r >= 0 || r == -ENODATA) {
			r = add_entry(in, path, names[i]->d_name);
			found += r > 0;
			if (r == -ENODATA && empty++ == 0)
				snprintf(first, sizeof(first), "%s", names[i]->d_name);
		}
		free(names[i]);
	}
	free(names);
	if (r < 0 && r != -ENODATA)
		return sp_err_set(err, r, "out of memory");
	warn_left_out(path, left_out);
	*ret_found = found;
	return refuse_empty(path, first, empty, found, err);
}

static int is_visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* Whether there is a file with the name of a recording in the directory @name of @path. */
static bool has_recordings(const char *path, const char *name)
{
	SP_AUTO_FREE char *whole = NULL;
	struct dirent **names;
	bool found = false;
	int n;

	if (asprintf(&whole, "%s/%s", path, name) < 0)
		return false;
	n = scandir(whole, &names, is_recording, NULL);
	for (int i = 0; i < n; i++) {
		SP_AUTO_FREE char *file = NULL;
		struct stat st;

		if (!found && asprintf(&file, "%s/%s", whole, names[i]->d_name) >= 0)
			found = stat(file, &st) == 0 && S_ISREG(st.st_mode);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return found;
}

/* The directories of @path that have recordings: their number, the last as a path of its own in
 * *ret_last, and some of them, the last first, in @ret_names. Ids of applications rise with time.
 */
static size_t look_below(const char *path, char **ret_last, struct sp_buf *ret_names)
{
	struct dirent **names;
	int n = scandir(path, &names, is_visible, alphasort);
	size_t found = 0;

	for (int i = n - 1; i >= 0; i--) {
		if (has_recordings(path, names[i]->d_name)) {
			if (found == 0 && asprintf(ret_last, "%s/%s", path, names[i]->d_name) < 0)
				*ret_last = NULL;
			if (found < NAMED)
				sp_buf_addf(ret_names, "%s%s", found ? ", " : "", names[i]->d_name);
			found++;
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return found;
}

/* Autostart and Spark's plugin leave a directory for each application. One is meant; of several,
 * whose stages have nothing to do with each other, it must be said which. */
static int add_below(struct sp_report_inputs *in, const char *path, struct sp_err *err)
{
	SP_AUTO_FREE char *last = NULL;
	SP_AUTO_BUF struct sp_buf names;
	char more[32] = "";
	size_t n, found;

	sp_buf_init(&names);
	n = look_below(path, &last, &names);
	if (n == 1 && last)
		return add_files(in, last, &found, err);
	if (n > NAMED)
		snprintf(more, sizeof(more), " and %zu more", n - NAMED);
	if (n)
		return sp_err_set(err, -ENOENT,
			"%s: the recordings are in its subdirectories: %s%s; name the ones to "
			"merge",
			path, sp_buf_str(&names), more);
	return sp_err_set(err, -ENOENT,
		"%s: no recording in it; files that end in .jfr, .collapsed, .pb.gz, .pprof or "
		".perf are taken",
		path);
}

/* @given: may end as a shell completes it, "app/". */
static int add_directory(struct sp_report_inputs *in, const char *given, struct sp_err *err)
{
	SP_AUTO_FREE char *path = strdup(given);
	size_t found, len = path ? strlen(path) : 0;
	int r;

	if (!path)
		return sp_err_set(err, -ENOMEM, "out of memory");
	while (len > 1 && path[len - 1] == '/')
		path[--len] = 0;
	r = add_files(in, path, &found, err);
	return r < 0 || found ? r : add_below(in, path, err);
}

/* What is read with another file is not read by itself too. */
static void drop_sidecars(struct sp_report_inputs *in)
{
	size_t n = 0;

	if (!in->sidecars)
		return;
	for (size_t i = 0; i < in->n; i++) {
		size_t k = ends_with(in->paths[i], SP_HALF_PYTHON) ? 0 : in->n;

		while (k < in->n &&
			!(in->paths[k] && sp_python_sidecar_has(in->paths[k], in->paths[i])))
			k++;
		if (k < in->n) {
			free(in->paths[i]);
			in->paths[i] = NULL;
			in->sidecars--;
		}
	}
	for (size_t i = 0; i < in->n; i++)
		if (in->paths[i])
			in->paths[n++] = in->paths[i];
	in->n = n;
}

int sp_report_inputs_add(struct sp_report_inputs *in, const char *path, struct sp_err *err)
{
	struct stat st;
	int r;

	if (strcmp(path, "-") == 0)
		path = "/dev/stdin";
	if (stat(path, &st) < 0)
		return sp_err_read(err, -errno, path);
	if (is_known(in, &st)) {
		sp_message_warn("%s: given twice, and counted once", path);
		return 0;
	}
	if (S_ISDIR(st.st_mode)) {
		r = add_directory(in, path, err);
	} else {
		r = add_path(in, path, &st);
		if (r < 0)
			sp_err_set(err, r, "out of memory");
	}
	drop_sidecars(in);
	return r;
}

void sp_report_inputs_done(struct sp_report_inputs *in)
{
	for (size_t i = 0; i < in->n; i++)
		free(in->paths[i]);
	free(in->paths);
	free(in->known);
	memset(in, 0, sizeof(*in));
}
