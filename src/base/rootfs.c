/* Opening files below the root directory of another process: see rootfs.h. The walk keeps a
 * descriptor for every directory on the way down, so that ".." means the one it came through and a
 * directory moved meanwhile cannot lead out. */
#include "base/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MAX_LINKS    40
#define MAX_DEPTH    128
#define PROC_FS_TYPE 0x9fa0 /* PROC_SUPER_MAGIC of linux/magic.h */

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
	int depth;	    /* index of the current directory */
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

/* Links of /proc that jump without a path (exe, root, fd/3) say "/…" or "type:[number]"; its real
 * links (self, mounts) are relative. */
static bool is_magic(int link_fd, const char *text)
{
	struct statfs fs;

	return (text[0] == '/' || strchr(text, ':')) && fstatfs(link_fd, &fs) == 0 &&
	       fs.f_type == PROC_FS_TYPE;
}

/* Puts a link's text before the rest; an absolute one starts again at the root. */
static int follow(struct walk *w, int link_fd)
{
	char text[PATH_MAX + 1];
	size_t rest = strlen(w->rest) + 1;
	ssize_t n;

	if (++w->links > MAX_LINKS)
		return -ELOOP;
	n = readlinkat(link_fd, "", text, PATH_MAX - 1);
	if (n <= 0)
		return n < 0 ? -errno : -ENOENT;
	text[n] = '\0';
	if (is_magic(link_fd, text))
		return -ELOOP;
	if ((size_t)n + 1 + rest > sizeof(w->rest))
		return -ENAMETOOLONG;
	if (rest > 1)
		text[n++] = '/';
	memmove(w->rest + n, w->rest, rest);
	memcpy(w->rest, text, (size_t)n);
	if (text[0] == '/')
		walk_done(w);
	return 0;
}

static int step(struct walk *w, const char *name)
{
	SP_AUTO_CLOSE int fd = -1;
	struct stat st;

	if (fstat(w->fds[w->depth], &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
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
	if (!path[0])
		return -ENOENT;
	memcpy(w.rest, path, strlen(path) + 1);
	while (r == 0 && next_component(&w, name))
		r = step(&w, name);
	if (r == 0 && w.rest[strspn(w.rest, "/")])
		r = -ENAMETOOLONG; /* a component beyond NAME_MAX */
	else if (r == 0 && w.rest[0])
		r = step(&w, "."); /* what a slash ends is a directory */
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

int sp_rootfs_reopen(int path_fd, int flags)
{
	char self[40];
	int fd;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	fd = open(self, flags | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/* Holds a regular file and fills *ret_st; anything else is refused. */
static int hold_regular(int root_fd, const char *path, struct stat *ret_st)
{
	SP_AUTO_CLOSE int at = sp_rootfs_open_path(root_fd, path);

	if (at < 0)
		return at;
	if (fstat(at, ret_st) < 0)
		return -errno;
	return S_ISREG(ret_st->st_mode) ? sp_steal_fd(&at) : -EINVAL;
}

int sp_rootfs_open_regular(int root_fd, const char *path, struct stat *ret_st)
{
	struct stat st;
	SP_AUTO_CLOSE int at = hold_regular(root_fd, path, &st);
	int fd;

	if (at < 0)
		return at;
	fd = sp_rootfs_reopen(at, O_RDONLY);
	if (fd >= 0 && ret_st)
		*ret_st = st;
	return fd;
}

int sp_rootfs_open_of(int root_fd, const char *path, uid_t uid, bool public)
{
	struct stat st;
	SP_AUTO_CLOSE int at = hold_regular(root_fd, path, &st);

	if (at < 0)
		return at;
	if (st.st_uid != uid && !(public && st.st_mode & S_IROTH))
		return -EPERM;
	return sp_rootfs_reopen(at, O_RDONLY);
}

int sp_rootfs_open_dir(int root_fd, const char *path)
{
	SP_AUTO_CLOSE int at = sp_rootfs_open_path(root_fd, path);

	return at < 0 ? at : sp_rootfs_reopen(at, O_RDONLY | O_DIRECTORY);
}

int sp_rootfs_open_own(int dir_fd, const char *name, uid_t uid, unsigned type, int flags)
{
	SP_AUTO_CLOSE int at = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (at < 0 || fstat(at, &st) < 0)
		return -errno;
	if ((st.st_mode & S_IFMT) != type || st.st_uid != uid || st.st_nlink != 1)
		return -EPERM;
	return flags & O_PATH ? sp_steal_fd(&at) : sp_rootfs_reopen(at, flags);
}
