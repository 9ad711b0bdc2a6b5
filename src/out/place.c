/* Walks a path as the kernel would, and looks at the owner of every link: see place.h. Links are
 * opened themselves (O_PATH), so that the one that is looked at is the one that is followed. */
#include "out/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file_error.h"

#define LINKS 40 /* as many as the kernel follows */

struct walk {
	const char *path; /* as the user wrote it, for sentences */
	int dir;	  /* owned */
	char *rest;	  /* owned: what is still to be walked */
	unsigned links;
};

static void walk_done(struct walk *w)
{
	sp_cleanup_close(&w->dir);
	free(w->rest);
}

static int fail(const char *path, int code, struct sp_err *err)
{
	return sp_err_write(err, code, path);
}

static int refuse(const struct walk *w, const char *what, uid_t owner, struct sp_err *err)
{
	return sp_err_set(err, -EPERM,
		"%s: is %s of another user (uid %u); choose another name or directory", w->path,
		what, (unsigned)owner);
}

static bool is_trusted(uid_t owner)
{
	return owner == geteuid() || owner == 0;
}

/* The number of our own descriptor that @path means by its name alone; -1: none. */
static int own_descriptor(const char *path)
{
	static const char *const dirs[] = {"/dev/fd/", "/proc/self/fd/"};
	char *end;
	long n;

	if (strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	for (size_t i = 0; i < SP_COUNT(dirs); i++) {
		size_t len = strlen(dirs[i]);

		if (strncmp(path, dirs[i], len) != 0 || path[len] < '0' || path[len] > '9')
			continue;
		n = strtol(path + len, &end, 10);
		return *end || n > INT_MAX ? -1 : (int)n;
	}
	return -1;
}

/* Goes to where a walk of w->rest begins. Returns 0 or -errno. */
static int begin(struct walk *w)
{
	int dir = -1;

	if (w->rest[0] == '/')
		dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	else if (w->dir < 0)
		dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	else
		return 0;
	sp_cleanup_close(&w->dir);
	w->dir = dir;
	return dir < 0 ? -errno : 0;
}

/* Puts what the link @fd says before the rest. */
static int follow(struct walk *w, int fd, const struct stat *st, struct sp_err *err)
{
	char target[PATH_MAX];
	ssize_t n;
	char *rest;

	if (!is_trusted(st->st_uid))
		return refuse(w, "reached by a link", st->st_uid, err);
	if (++w->links > LINKS)
		return fail(w->path, -ELOOP, err);
	n = readlinkat(fd, "", target, sizeof(target) - 1);
	if (n < 0)
		return fail(w->path, -errno, err);
	target[n] = '\0';
	if (asprintf(&rest, "%s%s%s", target, w->rest[0] ? "/" : "", w->rest) < 0)
		return fail(w->path, -ENOMEM, err);
	free(w->rest);
	w->rest = rest;
	return 0;
}

/* Takes the first name out of w->rest; "" where there is none left. */
static void next_name(struct walk *w, char name[NAME_MAX + 1], bool *ret_long)
{
	size_t skip = strspn(w->rest, "/"), len = strcspn(w->rest + skip, "/");
	const char *tail = w->rest + skip + len;

	*ret_long = len > NAME_MAX;
	snprintf(name, NAME_MAX + 1, "%.*s", (int)len, w->rest + skip);
	tail += strspn(tail, "/");
	memmove(w->rest, tail, strlen(tail) + 1);
}

static int check_last(const struct walk *w, const struct stat *st, struct sp_err *err)
{
	struct stat dir;

	if (S_ISDIR(st->st_mode))
		return fail(w->path, -EISDIR, err);
	if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode) || st->st_uid == geteuid())
		return 0;
	if (!S_ISREG(st->st_mode))
		return is_trusted(st->st_uid) ? 0 : refuse(w, "a FIFO", st->st_uid, err);
	if (fstat(w->dir, &dir) < 0)
		return fail(w->path, -errno, err);
	return dir.st_mode & S_ISVTX ? refuse(w, "a file", st->st_uid, err) : 0;
}

/* One name further. Returns 1 where @ret is found, 0 to go on, or -errno with a sentence. */
static int step(struct walk *w, struct sp_place *ret, struct sp_err *err)
{
	SP_AUTO_CLOSE int fd = -1;
	char name[NAME_MAX + 1];
	bool too_long;
	int r;

	next_name(w, name, &too_long);
	if (!name[0] || too_long)
		return fail(w->path, too_long ? -ENAMETOOLONG : -EISDIR, err);
	fd = openat(w->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &ret->st) < 0)
		return fail(w->path, -errno, err);
	if (fd < 0 && (errno != ENOENT || w->rest[0]))
		return fail(w->path, -errno, err);
	ret->exists = fd >= 0;
	if (fd >= 0 && S_ISLNK(ret->st.st_mode)) {
		r = follow(w, fd, &ret->st, err);
		return r < 0 ? r : 0;
	}
	if (w->rest[0]) {
		if (!S_ISDIR(ret->st.st_mode))
			return fail(w->path, -ENOTDIR, err);
		sp_cleanup_close(&w->dir);
		w->dir = sp_steal_fd(&fd);
		return 0;
	}
	r = fd < 0 ? 0 : check_last(w, &ret->st, err);
	ret->name = r == 0 ? strdup(name) : NULL;
	return r < 0 ? r : ret->name ? 1 : fail(w->path, -ENOMEM, err);
}

int sp_place_find(struct sp_place *ret, const char *path, struct sp_err *err)
{
	__attribute__((cleanup(walk_done))) struct walk w = {
		.path = path, .dir = -1, .rest = strdup(path)};
	int r = w.rest ? 0 : fail(path, -ENOMEM, err), own;

	*ret = SP_PLACE_NONE;
	while (r == 0) {
		own = own_descriptor(w.rest);
		if (own >= 0) {
			ret->fd = fcntl(own, F_DUPFD_CLOEXEC, 3);
			ret->exists = fstat(own, &ret->st) == 0;
			return ret->fd < 0 ? fail(path, -errno, err) : 0;
		}
		r = begin(&w);
		r = r < 0 ? fail(path, r, err) : step(&w, ret, err);
	}
	ret->dir = sp_steal_fd(&w.dir);
	if (r > 0 && path[strlen(path) - 1] == '/')
		r = fail(path, -EISDIR, err);
	if (r < 0)
		sp_place_done(ret);
	return r < 0 ? r : 0;
}

int sp_place_open(const struct sp_place *p, int flags)
{
	SP_AUTO_CLOSE int fd = openat(p->dir, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char path[32];
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_dev != p->st.st_dev || st.st_ino != p->st.st_ino)
		return -ESTALE;
	/* This very file, whatever the name means by now. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = open(path, flags | O_CLOEXEC | O_NOCTTY);
	return r < 0 ? -errno : r;
}

static int create(const struct sp_place *p, const char *name, bool private)
{
	int fd = openat(p->dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		private ? 0600 : 0666);

	if (fd < 0)
		return -errno;
	if (p->exists && S_ISREG(p->st.st_mode) && p->st.st_uid == geteuid())
		fchmod(fd, p->st.st_mode & 0777);
	return fd;
}

int sp_place_create(const struct sp_place *p, bool private)
{
	return create(p, p->name, private);
}

int sp_place_temp(const struct sp_place *p, bool private, char **ret_name)
{
	unsigned n = (unsigned)sp_clock_mono_ns();
	int fd = -EEXIST;

	for (int i = 0; i < 100 && fd == -EEXIST; i++, n++) {
		SP_AUTO_FREE char *name = NULL;

		if (asprintf(&name, ".%.200s.tmp-%d-%x", p->name, (int)getpid(), n) < 0) {
			name = NULL;
			return -ENOMEM;
		}
		fd = create(p, name, private);
		if (fd >= 0)
			*ret_name = sp_steal_ptr(name);
	}
	return fd;
}

bool sp_place_is(const struct sp_place *p, const struct stat *st)
{
	struct stat now;

	return p->name && fstatat(p->dir, p->name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       now.st_dev == st->st_dev && now.st_ino == st->st_ino;
}

void sp_place_done(struct sp_place *p)
{
	sp_cleanup_close(&p->dir);
	sp_cleanup_close(&p->fd);
	free(p->name);
	*p = SP_PLACE_NONE;
}
