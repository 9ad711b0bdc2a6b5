/* The attach lock: see attach_lock.h. */
#include "attach_lock.h"
#include "attach_child.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Opens or makes the lock file; -EPERM if the name is taken by something that is not ours. */
static int open_file(int dir, const char *name, uid_t uid)
{
	for (int tries = 0; tries < 100; tries++) {
		int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

		if (fd >= 0 || errno != EEXIST)
			return fd >= 0 ? fd : -errno;
		fd = sp_rootfs_open_own(dir, name, uid, S_IFREG, O_RDWR);
		if (fd != -ENOENT) /* else: its holder has just removed it */
			return fd;
	}
	return -EAGAIN;
}

/* The name may have been removed, or made again, between open and flock. */
static bool still_named(int dir, const char *name, int fd)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && fstatat(dir, name, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void read_holder(int fd, char *ret, size_t cap)
{
	ssize_t n = pread(fd, ret, cap - 1, 0);

	ret[n > 0 ? n : 0] = '\0';
	for (char *p = ret; *p; p++)
		if ((unsigned char)*p < 32 || *p == 127)
			*p = ' ';
	if (!*ret)
		snprintf(ret, cap, "another sparkprof");
}

static void write_holder(int fd, const char *who)
{
	char text[320], when[40] = "";
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm);
	snprintf(text, sizeof(text), "%s, since %s", who, when);
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, strlen(text), 0) < 0)
		return; /* the lock holds without its label */
}

static int take_in(int dir, const struct sp_target_fs *fs, const char *who, uint64_t deadline_ns,
	sp_attach_lock_wait_fn *waits, void *ctx, struct sp_attach_lock *l, struct sp_err *err)
{
	char holder[320];
	bool said = false;

	for (;;) {
		SP_AUTO_CLOSE int fd = open_file(dir, l->name, fs->uid);

		if (fd < 0)
			return fd;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			if (!still_named(dir, l->name, fd))
				continue;
			write_holder(fd, who);
			l->fd = sp_steal_fd(&fd);
			l->dir = dir;
			return 0;
		}
		if (errno != EWOULDBLOCK)
			return -errno;
		read_holder(fd, holder, sizeof(holder));
		if (!said)
			waits(ctx, holder);
		said = true;
		if (sp_attach_child_sleep(20) < 0)
			return sp_err_set(err, -EINTR, "interrupted");
		if (sp_clock_mono_ns() >= deadline_ns)
			return sp_err_set(
				err, -EBUSY, "another sparkprof is attaching there: %s", holder);
	}
}

int sp_attach_lock_take(const struct sp_target_fs *fs, pid_t nspid, const char *who,
	uint64_t deadline_ns, sp_attach_lock_wait_fn *waits, void *ctx, struct sp_attach_lock *ret,
	struct sp_err *err)
{
	*ret = (struct sp_attach_lock){.fd = -1, .dir = -1};
	snprintf(ret->name, sizeof(ret->name), ".sparkprof-%d.lock", (int)nspid);
	for (int i = 0; i < SP_DOOR_PLACES; i++) {
		int r = fs->places[i].writable ? take_in(fs->places[i].fd, fs, who, deadline_ns,
							 waits, ctx, ret, err)
					       : -EACCES;

		if (r == 0 || r == -EBUSY || r == -EINTR)
			return r;
	}
	return 0;
}

void sp_attach_lock_drop(struct sp_attach_lock *l)
{
	if (l->fd < 0)
		return;
	if (still_named(l->dir, l->name, l->fd))
		unlinkat(l->dir, l->name, 0);
	close(l->fd);
	l->fd = -1;
}
