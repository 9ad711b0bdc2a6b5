/* Made-up directory trees in place of /proc and /sys/fs/cgroup. */
#ifndef SP_TESTS_TREE_H
#define SP_TESTS_TREE_H

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tree {
	char path[64];
	int fd;
};

static inline struct tree tree_new(void)
{
	struct tree t = {.path = "/tmp/sp-tree-XXXXXX"};

	cr_assert(mkdtemp(t.path));
	t.fd = open(t.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(t.fd, 0);
	return t;
}

static inline int tree_remove_one(
	const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static inline void tree_done(struct tree *t)
{
	close(t->fd);
	nftw(t->path, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Makes the directories that lead to @name. */
static inline void tree_parents(const struct tree *t, const char *name)
{
	char dir[512];

	for (const char *s = name; (s = strchr(s, '/')); s++) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(s - name), name);
		mkdirat(t->fd, dir, 0755);
	}
}

static inline void tree_put_bytes(
	const struct tree *t, const char *name, const void *data, size_t n)
{
	int fd;

	tree_parents(t, name);
	fd = openat(t->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	cr_assert_geq(fd, 0, "%s", name);
	cr_assert_eq(write(fd, data, n), (ssize_t)n);
	close(fd);
}

__attribute__((format(printf, 3, 4))) static inline void tree_put(
	const struct tree *t, const char *name, const char *fmt, ...)
{
	char text[8192];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tree_put_bytes(t, name, text, (size_t)n);
}

/* Words parted by '|', each written with a NUL behind it: cmdline, environ. */
static inline void tree_put_words(const struct tree *t, const char *name, const char *words)
{
	char text[8192];
	size_t n = strlen(words);

	memcpy(text, words, n + 1);
	for (char *s = text; (s = strchr(s, '|')); s++)
		*s = '\0';
	tree_put_bytes(t, name, text, n ? n + 1 : 0);
}

static inline void tree_link(const struct tree *t, const char *name, const char *target)
{
	tree_parents(t, name);
	cr_assert_eq(symlinkat(target, t->fd, name), 0, "%s", name);
}

#endif
