/* Opening files inside of a stranger's root directory: see rootfs.h. The walk keeps a descriptor
 * for every directory on the way down, so that ".." means the one it came through and a directory
 * moved meanwhile cannot lead out. */
#include "base/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MAX_LINKS 40
#define MAX_DEPTH 128

/* linux/openat2.h is younger than the kernels that this is built for. */
struct how {
	uint64_t flags, mode, resolve;
};
#define RESOLVE_NO_MAGICLINKS_ 0x02
#define RESOLVE_IN_ROOT_       0x10
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

struct walk {
	int fds[MAX_DEPTH]; /* fds[0] is the root, borrowed; the others are owned */
	int depth;	    /* index of the directory that we stand in */
	int links;
	char rest[PATH_MAX]; /* what is still to be walked */
};

static void walk_done(struct walk *w)
{
	while (w->depth > 0)
		close(w->fds[w->depth--]);
}

/* Takes the first component off @w->rest; NULL at the end. */
static char *next_component(struct walk *w, char *buf)
{
	const char *p = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(p, "/");

	if (n == 0 || n > NAME_MAX)
		return NULL;
	memcpy(buf, p, n);
	buf[n] = 0;
	memmove(w->rest, p + n, strlen(p + n) + 1);
	return buf;
}

/* Puts a link's text before the rest; an absolute one starts again at the root. */
static int follow(struct walk *w, int link_fd)
{
	char text[PATH_MAX];
	size_t rest = strlen(w->rest) + 1;
	ssize_t n;

	if (++w->links > MAX_LINKS)
		return -ELOOP;
	n = readlinkat(link_fd, "", text, sizeof(text) - 1);
	if (n <= 0)
		return n < 0 ? -errno : -ENOENT;
	if ((size_t)n + 1 + rest > sizeof(w->rest))
		return -ENAMETOOLONG;
	memmove(w->rest + n + 1, w->rest, rest);
	memcpy(w->rest, text, (size_t)n);
	w->rest[n] = '/';
	if (text[0] == '/')
		walk_done(w);
	return 0;
}

static int step(struct walk *w, const char *name)
{
	SP_AUTO_CLOSE int fd = -1;
	struct stat st;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		if (w->depth > 0)
			close(w->fds[w->depth--]);
		return 0;
	}
	fd = openat(w->fds[w->depth], name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return follow(w, fd);
	if (w->depth + 1 >= MAX_DEPTH)
		return -ENAMETOOLONG;
	w->fds[++w->depth] = sp_steal_fd(&fd);
	return 0;
}

int sp_rootfs_walk(int root_fd, const char *path)
{
	struct walk w = {.fds = {root_fd}};
	char name[NAME_MAX + 1];
	int r = 0, fd;

	if (strlen(path) >= sizeof(w.rest))
		return -ENAMETOOLONG;
	memcpy(w.rest, path, strlen(path) + 1);
	while (r == 0 && next_component(&w, name))
		r = step(&w, name);
	if (r == 0 && w.rest[strspn(w.rest, "/")])
		r = -ENAMETOOLONG; /* a component beyond NAME_MAX */
	if (r == 0) {
		fd = w.depth ? w.fds[w.depth--] : fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
		r = fd < 0 ? -errno : fd;
	}
	walk_done(&w);
	return r;
}

int sp_rootfs_open_path(int root_fd, const char *path)
{
	struct how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT_ | RESOLVE_NO_MAGICLINKS_,
	};
	long fd = -1;

	/* -EAGAIN: a rename raced with a ".." in the path (openat2(2)) */
	for (int i = 0; i < 8; i++) {
		fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	if (fd >= 0)
		return (int)fd;
	if (errno != ENOSYS && errno != EPERM && errno != EAGAIN)
		return -errno;
	return sp_rootfs_walk(root_fd, path);
}

int sp_rootfs_open_regular(int root_fd, const char *path, struct stat *ret_st)
{
	char link[48];
	struct stat st;
	SP_AUTO_CLOSE int at = sp_rootfs_open_path(root_fd, path);
	int fd;

	if (at < 0)
		return at;
	if (fstat(at, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", at);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (ret_st)
		*ret_st = st;
	return fd;
}
