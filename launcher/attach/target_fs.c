/* The target's files: see target_fs.h. */
#include "target_fs.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

/* linux/openat2.h, which old kernel headers lack. */
struct how {
	uint64_t flags, mode, resolve;
};
enum { IN_ROOT = 0x10, NO_MAGICLINKS = 0x02 };

/* One component at a time, no links: what kernels before 5.6 (or a seccomp filter) leave us. */
static int walk(int root, const char *path, int flags)
{
	SP_AUTO_CLOSE int at = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[256];

	if (at < 0)
		return -errno;
	while (*(path += strspn(path, "/"))) {
		size_t len = strcspn(path, "/");
		bool last = path[len + strspn(path + len, "/")] == '\0';
		struct stat st;
		int next;

		if (len >= sizeof(name) || (len == 2 && memcmp(path, "..", 2) == 0))
			return -ELOOP;
		memcpy(name, path, len);
		name[len] = '\0';
		next = openat(
			at, name, (last ? flags : O_PATH | O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return errno == ENOTDIR &&
					       fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
					       S_ISLNK(st.st_mode)
				       ? -ELOOP
				       : -errno;
		close(at);
		at = next;
		path += len;
	}
	return sp_steal_fd(&at);
}

int sp_target_fs_at(int root, const char *path, int flags)
{
	struct how how = {(uint64_t)flags | O_CLOEXEC, 0, IN_ROOT | NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (fd >= 0)
		return fd;
	return errno == ENOSYS || errno == EPERM ? walk(root, path, flags) : -errno;
}

int sp_target_fs_open_own(int dir, const char *name, uid_t uid, unsigned type, int flags)
{
	SP_AUTO_CLOSE int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char self[40];
	struct stat st;
	int opened;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if ((st.st_mode & S_IFMT) != type || st.st_uid != uid || st.st_nlink != 1)
		return -EPERM;
	if (flags & O_PATH)
		return sp_steal_fd(&fd);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	opened = open(self, flags | O_CLOEXEC);
	return opened < 0 ? -errno : opened;
}

static int open_proc(pid_t pid, const char *name, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The user who is root in the target's user namespace: he owns /tmp there, and could replace the
 * JVM itself. 0 where the file says so or cannot be read. */
static uid_t namespace_root(pid_t pid)
{
	SP_AUTO_CLOSE int fd = open_proc(pid, "uid_map", O_RDONLY);
	unsigned inside, outside = 0;
	char text[256];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	return sscanf(text, "%u %u", &inside, &outside) == 2 && inside == 0 ? outside : 0;
}

void sp_target_fs_open_early(struct sp_target_fs *fs, const struct sp_attach_target *t)
{
	if (fs->root < 0) {
		fs->root = open_proc(t->pid, "root", O_PATH | O_DIRECTORY);
		fs->root_errno = fs->root < 0 ? -fs->root : 0;
	}
	if (fs->cwd < 0)
		fs->cwd = open_proc(t->pid, "cwd", O_PATH | O_DIRECTORY);
	if (fs->maps < 0)
		fs->maps = open_proc(t->pid, "maps", O_RDONLY);
	fs->roots[1] = namespace_root(t->pid);
}

/* A directory is trusted if nobody but root and the target's user can replace a name in it that the
 * target's user owns: theirs, and not writable by others, or sticky. Not by glibc's faccessat: it
 * tries faccessat2 first, and older container runtimes answer EPERM to what they do not know. */
static void judge(const struct sp_target_fs *fs, struct sp_target_fs_place *p)
{
	struct statvfs vfs;
	struct stat st;

	if (fstat(p->fd, &st) < 0 || !S_ISDIR(st.st_mode)) {
		snprintf(p->why, sizeof(p->why), "not a directory");
	} else if (st.st_uid != fs->uid && st.st_uid != fs->roots[0] && st.st_uid != fs->roots[1]) {
		snprintf(p->why, sizeof(p->why), "belongs to user %u", (unsigned)st.st_uid);
	} else if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX)) {
		snprintf(p->why, sizeof(p->why), "anybody may replace files in it (no sticky bit)");
	} else if (syscall(SYS_faccessat, p->fd, ".", W_OK | X_OK) < 0) {
		snprintf(p->why, sizeof(p->why), "%s", strerror(errno));
	} else {
		p->writable = true;
		p->noexec = fstatvfs(p->fd, &vfs) == 0 && (vfs.f_flag & ST_NOEXEC);
		if (p->noexec)
			snprintf(p->why, sizeof(p->why), "mounted noexec");
	}
}

static void open_place(struct sp_target_fs *fs, struct sp_target_fs_place *p)
{
	if (strcmp(p->path, ".") == 0)
		p->fd = fs->cwd < 0 ? -EACCES
				    : openat(fs->cwd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	else
		p->fd = sp_target_fs_at(fs->root, p->path, O_PATH | O_DIRECTORY);
	if (p->fd == -ELOOP)
		snprintf(p->why, sizeof(p->why),
			"a symbolic link, which this kernel cannot follow safely (openat2)");
	else if (p->fd < 0)
		snprintf(p->why, sizeof(p->why), "%s", strerror(p->fd == -1 ? errno : -p->fd));
	else
		judge(fs, p);
	if (p->fd < 0)
		p->fd = -1;
}

int sp_target_fs_open(struct sp_target_fs *fs, const struct sp_attach_target *t, struct sp_err *err)
{
	static const struct {
		char letter;
		const char *path;
	} places[SP_DOOR_PLACES] = {
		{'t', "/tmp"}, {'c', "."}, {'s', "/dev/shm"}, {'v', "/var/tmp"}};

	sp_target_fs_open_early(fs, t);
	if (fs->root < 0 && (fs->root_errno == ENOENT || fs->root_errno == ESRCH))
		return sp_err_set(err, -ESRCH, "pid %d: it ended meanwhile", (int)t->pid);
	if (fs->root < 0)
		return sp_err_set(err, -fs->root_errno,
			"pid %d: its file system cannot be reached (/proc/%d/root: %s); run "
			"sparkprof as its user (uid %u) or as root",
			(int)t->pid, (int)t->pid, strerror(fs->root_errno), (unsigned)t->uid);
	fs->uid = t->uid;
	for (int i = 0; i < SP_DOOR_PLACES; i++) {
		struct sp_target_fs_place *p = &fs->places[i];

		*p = (struct sp_target_fs_place){
			.letter = places[i].letter, .path = places[i].path, .fd = -1};
		open_place(fs, p);
	}
	return 0;
}
