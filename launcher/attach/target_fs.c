/* The target's files: see target_fs.h. */
#include "target_fs.h"
#include "base/cleanup.h"
#include "base/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

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
static void judge_place(const struct sp_target_fs *fs, struct sp_target_fs_place *p)
{
	struct statvfs vfs;
	struct stat st;

	if (fstat(p->fd, &st) < 0) {
		snprintf(p->why, sizeof(p->why), "%s", strerror(errno));
	} else if (st.st_uid != fs->uid && st.st_uid != fs->roots[0] && st.st_uid != fs->roots[1]) {
		snprintf(p->why, sizeof(p->why), "belongs to user %u", (unsigned)st.st_uid);
	} else if (syscall(SYS_faccessat, p->fd, ".", W_OK | X_OK) < 0) {
		snprintf(p->why, sizeof(p->why), "%s", strerror(errno));
	} else if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX)) {
		p->anybodys = true;
		snprintf(p->why, sizeof(p->why), "anybody may replace files in it (no sticky bit)");
	} else {
		p->writable = true;
		p->noexec = fstatvfs(p->fd, &vfs) == 0 && (vfs.f_flag & ST_NOEXEC);
		if (p->noexec)
			snprintf(p->why, sizeof(p->why), "mounted noexec");
	}
}

/* A target may have anything for /tmp. */
static int open_directory(int root, const char *path)
{
	SP_AUTO_CLOSE int fd = sp_rootfs_open_path(root, path);
	struct stat st;

	if (fd < 0)
		return fd;
	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? sp_steal_fd(&fd) : -ENOTDIR;
}

static void open_place(struct sp_target_fs *fs, struct sp_target_fs_place *p)
{
	if (strcmp(p->path, ".") == 0)
		p->fd = fs->cwd < 0 ? -EACCES
				    : openat(fs->cwd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	else
		p->fd = open_directory(fs->root, p->path);
	if (p->fd < 0)
		snprintf(p->why, sizeof(p->why), "%s", strerror(p->fd == -1 ? errno : -p->fd));
	else
		judge_place(fs, p);
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
	fs->pid = t->pid;
	for (int i = 0; i < SP_DOOR_PLACES; i++) {
		struct sp_target_fs_place *p = &fs->places[i];

		*p = (struct sp_target_fs_place){
			.letter = places[i].letter, .path = places[i].path, .fd = -1};
		open_place(fs, p);
	}
	return 0;
}
