/* Opening files of another process below its own root: see sp_proc_open_file in proc.h.
 * The path is walked one name at a time with O_NOFOLLOW, so that it needs no openat2 (Linux 5.6)
 * and no link that the target swaps in between can lead out. */
#include "proc.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_LINKS = 32 };

struct walk {
	int root; /* borrowed */
	int at;	  /* the directory reached so far, owned */
	int links;
	char rest[PATH_MAX]; /* what is still to be walked */
};

static int walk_restart(struct walk *w)
{
	int fd = openat(w->root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (w->at >= 0)
		close(w->at);
	w->at = fd;
	return 0;
}

/* Cuts the first name off the rest. Returns false when nothing is left. */
static bool take_name(struct walk *w, char name[NAME_MAX + 1])
{
	size_t skip = strspn(w->rest, "/");
	size_t n = strcspn(w->rest + skip, "/");

	if (n == 0 || n > NAME_MAX)
		return false;
	memcpy(name, w->rest + skip, n);
	name[n] = '\0';
	skip += n;
	memmove(w->rest, w->rest + skip, strlen(w->rest + skip) + 1);
	return true;
}

/* Puts what a link holds before the rest. */
static int follow(struct walk *w, int link)
{
	char target[PATH_MAX], joined[PATH_MAX];
	ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	if (++w->links > MAX_LINKS)
		return -ELOOP;
	if (snprintf(joined, sizeof(joined), "%s/%s", target, w->rest) >= (int)sizeof(joined))
		return -ENAMETOOLONG;
	memcpy(w->rest, joined, sizeof(joined));
	return target[0] == '/' ? walk_restart(w) : 0;
}

/* Walks to the end. Returns an O_PATH descriptor of what is there (never a link), or -errno. */
static int walk(struct walk *w)
{
	char name[NAME_MAX + 1];
	struct stat st;

	while (take_name(w, name)) {
		SP_AUTO_CLOSE int fd = -1;

		if (strcmp(name, ".") == 0)
			continue;
		if (strcmp(name, "..") == 0)
			return -EXDEV;
		fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) < 0)
			return -errno;
		if (S_ISLNK(st.st_mode)) {
			int r = follow(w, fd);
			if (r < 0)
				return r;
			continue;
		}
		close(w->at);
		w->at = sp_steal_fd(&fd);
	}
	return w->rest[strspn(w->rest, "/")] ? -ENAMETOOLONG : sp_steal_fd(&w->at);
}

static int open_path(const struct sp_proc *p, const char *path)
{
	SP_AUTO_CLOSE int root = openat(p->dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct walk w = {.root = root, .at = -1};
	int r;

	if (root < 0)
		return -errno;
	if (snprintf(w.rest, sizeof(w.rest), "%s", path) >= (int)sizeof(w.rest))
		return -ENAMETOOLONG;
	r = walk_restart(&w);
	if (r < 0)
		return r;
	r = walk(&w);
	sp_cleanup_close(&w.at);
	return r;
}

/* Opens for reading what an O_PATH descriptor already holds: its kind cannot change any more. */
static int reopen(int pathfd, int flags)
{
	char self[32];
	int fd;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", pathfd);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags);
	return fd < 0 ? -errno : fd;
}

static int open_regular(const struct sp_proc *p, const char *path, uid_t uid, bool public)
{
	SP_AUTO_CLOSE int fd = open_path(p, path);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_uid != uid && !(public && st.st_mode & S_IROTH))
		return -EPERM;
	return reopen(fd, 0);
}

int sp_proc_open_file(const struct sp_proc *p, const char *path, uid_t uid)
{
	return open_regular(p, path, uid, false);
}

int sp_proc_open_readable(const struct sp_proc *p, const char *path, uid_t uid)
{
	return open_regular(p, path, uid, true);
}

int sp_proc_open_dir(const struct sp_proc *p, const char *path)
{
	SP_AUTO_CLOSE int fd = open_path(p, path);

	return fd < 0 ? fd : reopen(fd, O_DIRECTORY);
}
