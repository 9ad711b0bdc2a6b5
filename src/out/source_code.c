/* See source_code.h. One file is kept in memory: lines are asked for by method. */
#include "out/source_code.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"

enum { FILES = 200000, DEPTH = 40, SIZE = 8 << 20, SHOWN = 200 };

struct sp_source_code {
	char **paths; /* owned; shortest first */
	size_t count, cap;
	char *text;	    /* owned: of the file at hand */
	const char *opened; /* its path; borrowed from paths */
};

static bool is_source(const char *name)
{
	static const char *const ends[] = {".java", ".scala", ".kt", ".py"};
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < SP_COUNT(ends); i++)
		if (strcmp(dot, ends[i]) == 0)
			return true;
	return false;
}

static int keep_path(struct sp_source_code *s, const char *path)
{
	if (sp_grow(&s->paths, &s->cap, s->count, sizeof(*s->paths), 256) < 0)
		return -ENOMEM;
	s->paths[s->count] = strdup(path);
	return s->paths[s->count] ? (s->count++, 0) : -ENOMEM;
}

/* @path: of @fd, which is taken. */
static int list_files(struct sp_source_code *s, int fd, struct sp_buf *path, unsigned depth)
{
	DIR *dir = fdopendir(fd);
	size_t len = path->len;
	int r = 0;

	if (!dir) {
		close(fd);
		return 0;
	}
	for (struct dirent *e; r == 0 && s->count < FILES && (e = readdir(dir));) {
		struct stat st;

		if (e->d_name[0] == '.' ||
			fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		path->len = len;
		sp_buf_addf(path, "/%s", e->d_name);
		if (S_ISREG(st.st_mode) && is_source(e->d_name))
			r = path->failed ? -ENOMEM : keep_path(s, sp_buf_str(path));
		if (S_ISDIR(st.st_mode) && depth < DEPTH) {
			int sub = openat(dirfd(dir), e->d_name,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			r = sub < 0 ? 0 : list_files(s, sub, path, depth + 1);
		}
	}
	path->len = len;
	closedir(dir);
	return r;
}

static int by_length(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	size_t n = strlen(x), m = strlen(y);

	return n != m ? (n < m ? -1 : 1) : strcmp(x, y);
}

int sp_source_code_open(struct sp_source_code **ret, const char *dir)
{
	struct sp_source_code *s = calloc(1, sizeof(*s));
	int fd = s ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, r = 0;
	SP_AUTO_BUF struct sp_buf path = {0};

	if (!s)
		return -ENOMEM;
	sp_buf_adds(&path, dir);
	if (fd >= 0)
		r = list_files(s, fd, &path, 0);
	if (r < 0) {
		sp_source_code_close(s);
		return r;
	}
	if (s->count)
		qsort(s->paths, s->count, sizeof(*s->paths), by_length);
	*ret = s;
	return 0;
}

void sp_source_code_close(struct sp_source_code *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		free(s->paths[i]);
	free(s->paths);
	free(s->text);
	free(s);
}

/* The end of the frame's path, without ".java" of Java: "com/acme/Job" of com/acme/Job$Inner, or
 * "jobs/udf.py" of "clean (jobs/udf.py)". Returns whether it has one. */
static bool end_of_path(
	const struct sp_dict *d, const struct sp_frame_ref *f, struct sp_buf *ret, bool *ret_python)
{
	const struct sp_method *m = sp_dict_get_method(d, f->method);
	const char *cls, *name, *open;

	*ret_python = f->type == SP_FRAME_PYTHON;
	if (!m)
		return false;
	cls = sp_dict_get_string(d, m->class_id, NULL);
	name = sp_dict_get_string(d, m->name_id, NULL);
	if (*ret_python && cls[0]) {
		sp_buf_adds(ret, cls);
	} else if (*ret_python) {
		open = strrchr(name, '('); /* text of others */
		if (open)
			sp_buf_add(ret, open + 1, strcspn(open + 1, ")"));
	} else if (!m->native) {
		sp_buf_add(ret, cls, strcspn(cls, "$"));
	}
	return ret->len > 0;
}

static bool path_ends(const char *path, const char *end, bool python)
{
	static const char *const kinds[] = {".java", ".scala", ".kt"};
	size_t n = strlen(path), m = strlen(end);

	for (size_t i = 0; !python && i < SP_COUNT(kinds); i++) {
		size_t k = strlen(kinds[i]);

		if (n > k + m && strcmp(path + n - k, kinds[i]) == 0 &&
			strncmp(path + n - k - m, end, m) == 0 && path[n - k - m - 1] == '/')
			return true;
	}
	return python && n > m && strcmp(path + n - m, end) == 0 && path[n - m - 1] == '/';
}

static const char *find_path(const struct sp_source_code *s, const char *end, bool python)
{
	for (size_t i = 0; i < s->count; i++)
		if (path_ends(s->paths[i], end, python))
			return s->paths[i];
	return NULL;
}

static bool read_text(struct sp_source_code *s, const char *path)
{
	SP_AUTO_CLOSE int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	if (s->opened == path)
		return s->text != NULL;
	free(s->text);
	s->opened = path;
	s->text = fd >= 0 && fstat(fd, &st) == 0 && st.st_size < SIZE
			  ? malloc((size_t)st.st_size + 1)
			  : NULL;
	if (!s->text)
		return false;
	n = read(fd, s->text, (size_t)st.st_size);
	s->text[n > 0 ? n : 0] = 0;
	return true;
}

static bool add_line(const char *text, int32_t line, struct sp_buf *out)
{
	size_t n;

	for (int32_t at = 1; at < line && text; at++) {
		text = strchr(text, '\n');
		text += text != NULL;
	}
	if (!text || !*text)
		return false;
	text += strspn(text, " \t");
	n = strcspn(text, "\r\n");
	while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		n--;
	if (n > SHOWN)
		for (n = SHOWN; n && (text[n] & 0xc0) == 0x80;)
			n--;
	sp_buf_add(out, text, n);
	return n > 0;
}

bool sp_source_code_line(struct sp_source_code *s, const struct sp_dict *d,
	const struct sp_frame_ref *frame, int32_t line, struct sp_buf *out)
{
	SP_AUTO_BUF struct sp_buf end = {0};
	const char *path;
	bool python;

	if (!s || line < 1 || !end_of_path(d, frame, &end, &python))
		return false;
	path = find_path(s, sp_buf_str(&end), python);
	return path && read_text(s, path) && add_line(s->text, line, out);
}
