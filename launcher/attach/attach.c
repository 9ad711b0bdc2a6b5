/* Waking the attach listener and connecting to it: see attach.h. */
#include "attach.h"
#include "attach_child.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rootfs.h"
#include "proc/hsperf.h"
#include "proc/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int sp_attach_late(struct sp_attach_target *t, const char *what, struct sp_err *err)
{
	if (sp_attach_target_refresh(t) < 0)
		return sp_err_set(err, -ESRCH, "pid %d: it ended meanwhile", (int)t->pid);
	if (t->state == 'T' || t->state == 't')
		return sp_err_set(err, -ETIMEDOUT,
			"pid %d: it is stopped (%s), so %s; resume it (kill -CONT %d) and try "
			"again",
			(int)t->pid, t->state == 't' ? "by a debugger" : "SIGSTOP", what,
			(int)t->pid);
	if (t->state == 'D')
		return sp_err_set(err, -ETIMEDOUT,
			"pid %d: it waits in the kernel (state D, disk or network file system), so "
			"%s; "
			"try again, or give it longer with --attach-timeout",
			(int)t->pid, what);
	return sp_err_set(err, -ETIMEDOUT,
		"pid %d: it did not answer in time, so %s: it may be in a long safepoint (full "
		"garbage collection, heap dump) or get no CPU; allow more time with "
		"--attach-timeout",
		(int)t->pid, what);
}

/* One try. Returns a socket; -ENOENT there is none yet; -ECONNREFUSED a stale one; -EAGAIN busy;
 * -EPERM of another user. */
static int try_connect(const struct sp_target_fs *fs, pid_t nspid)
{
	SP_AUTO_CLOSE int place = -1;
	SP_AUTO_CLOSE int fd = -1;
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	char name[32];

	if (fs->places[0].fd < 0)
		return -ENOENT;
	snprintf(name, sizeof(name), ".java_pid%d", (int)nspid);
	place = sp_rootfs_open_own(fs->places[0].fd, name, fs->uid, S_IFSOCK, O_PATH);
	if (place < 0)
		return place;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	snprintf(to.sun_path, sizeof(to.sun_path), "/proc/self/fd/%d", place);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return -errno;
	return sp_steal_fd(&fd);
}

static bool file_says_off(int tmp, const char *dir_name, const char *name, uid_t uid)
{
	SP_AUTO_CLOSE int dir =
		openat(tmp, dir_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	SP_AUTO_CLOSE int fd = dir < 0 ? -1 : sp_rootfs_open_own(dir, name, uid, S_IFREG, O_RDONLY);
	SP_AUTO_BUF struct sp_buf data;
	struct sp_hsperf perf;

	sp_buf_init(&data);
	return fd >= 0 && sp_buf_read_fd(&data, fd, SP_HSPERF_MAX_FILE) == 0 &&
	       sp_hsperf_parse(data.data, data.len, &perf) == 0 && perf.capabilities[0] == '0';
}

/* The target's hsperfdata file, by its number in any hsperfdata_* directory of its user. */
static bool perf_says_off(const struct sp_target_fs *fs, pid_t nspid)
{
	SP_AUTO_CLOSE int tmp = openat(fs->places[0].fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = tmp < 0 ? NULL : fdopendir(tmp);
	bool off = false;
	struct dirent *e;
	char name[16];

	if (!d)
		return false;
	tmp = -1;
	snprintf(name, sizeof(name), "%d", (int)nspid);
	while (!off && (e = readdir(d)))
		off = strncmp(e->d_name, "hsperfdata_", 11) == 0 &&
		      file_says_off(dirfd(d), e->d_name, name, fs->uid);
	closedir(d);
	return off;
}

/* The trigger file: in the working directory, where the JVM looks first, else in /tmp. Where
 * anybody may replace it, he can but make the attach fail: the JVM looks whose it is. */
struct trigger {
	int dir;
	char name[32];
	bool keep;
};

static void drop_trigger(struct trigger *g)
{
	if (g->dir >= 0 && !g->keep)
		unlinkat(g->dir, g->name, 0);
}

static int make_trigger(const struct sp_target_fs *fs, pid_t nspid, struct trigger *ret)
{
	const struct sp_target_fs_place *order[] = {&fs->places[1], &fs->places[0]};
	int r = -ENOENT;

	snprintf(ret->name, sizeof(ret->name), ".attach_pid%d", (int)nspid);
	for (size_t i = 0; i < SP_COUNT(order); i++) {
		SP_AUTO_CLOSE int fd = -1;

		if (!order[i]->writable && !order[i]->anybodys)
			continue;
		fd = openat(order[i]->fd, ret->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		r = fd >= 0 ? 0 : -errno;
		if (fd < 0 && r == -EEXIST) /* left by an attach that timed out: as good as new */
			fd = sp_rootfs_open_own(order[i]->fd, ret->name, fs->uid, S_IFREG, O_PATH);
		if (fd >= 0) {
			ret->dir = order[i]->fd;
			return 0;
		}
	}
	return r;
}

static int wake(const struct sp_target_fs *fs, struct sp_attach_target *t, struct trigger *g,
	struct sp_err *err)
{
	int r;

	if (perf_says_off(fs, t->nspid))
		return sp_err_set(err, -EPERM,
			"pid %d: it cannot be attached to: it runs with "
			"-XX:+DisableAttachMechanism",
			(int)t->pid);
	r = make_trigger(fs, t->nspid, g);
	if (r == -EEXIST)
		return sp_err_set(err, -EPERM,
			"pid %d: %s in %s of its file system is not its own; remove it",
			(int)t->pid, g->name,
			fs->places[0].writable || fs->places[0].anybodys ? "/tmp"
									 : "the working directory");
	if (r < 0)
		return sp_err_set(err, r,
			"pid %d: no trigger file can be put into its working directory (%s) or "
			"/tmp "
			"(%s)",
			(int)t->pid, fs->places[1].why[0] ? fs->places[1].why : strerror(-r),
			fs->places[0].why[0] ? fs->places[0].why : strerror(-r));
	r = sp_attach_target_quit(t);
	if (r < 0)
		return sp_err_set(err, r, "pid %d: SIGQUIT: %s", (int)t->pid, strerror(-r));
	return 0;
}

static int refused(const struct sp_attach_target *t, int r, struct sp_err *err)
{
	if (r == -EPERM)
		return sp_err_set(err, r,
			"pid %d: /tmp/.java_pid%d in its file system is not its own socket; "
			"remove it",
			(int)t->pid, (int)t->nspid);
	return sp_err_set(err, r, "pid %d: attach socket: %s", (int)t->pid, strerror(-r));
}

/* When SIGQUIT goes out, once. A JVM installs its handler first and removes a stale attach socket a
 * moment later (Threads::create_vm: AttachListener::vm_start); a signal in between would make it
 * remove the socket that the signal has just made. So a young JVM gets a moment first. */
struct waking {
	bool young, sent;
	uint64_t seen_ns; /* when the handler was there; 0: not yet */
};

static const uint64_t young_ns = 5000000000ull, settle_ns = 100000000ull;

static int wake_in_time(const struct sp_target_fs *fs, struct sp_attach_target *t, struct waking *w,
	struct trigger *g, struct sp_err *err)
{
	uint64_t now = sp_clock_mono_ns();

	if (w->sent || !t->catches_quit || t->state == 'T' || t->state == 't')
		return 0;
	if (!w->seen_ns)
		w->seen_ns = now;
	if (w->young && now - w->seen_ns < settle_ns)
		return 0;
	w->sent = true;
	return wake(fs, t, g, err);
}

int sp_attach_connect(const struct sp_target_fs *fs, struct sp_attach_target *t,
	uint64_t deadline_ns, struct sp_err *err)
{
	__attribute__((cleanup(drop_trigger))) struct trigger g = {.dir = -1};
	struct waking w = {.young = sp_proc_age_ns(t->start_ticks) < young_ns};

	for (unsigned ms = 1;; ms = ms < 20 ? ms * 2 : 20) {
		int r = try_connect(fs, t->nspid);

		if (r >= 0)
			return r;
		if (r != -ENOENT && r != -ECONNREFUSED && r != -EAGAIN)
			return refused(t, r, err);
		if (sp_attach_target_refresh(t) < 0)
			return sp_err_set(err, -ESRCH, "pid %d: it ended meanwhile", (int)t->pid);
		if (r != -EAGAIN && (r = wake_in_time(fs, t, &w, &g, err)) < 0)
			return r;
		if (sp_attach_child_sleep(ms) < 0 || sp_clock_mono_ns() >= deadline_ns) {
			g.keep = w.sent;
			if (sp_attach_child_interrupted())
				return sp_err_set(err, -EINTR, "interrupted");
			return sp_attach_late(t, "nothing was loaded", err);
		}
	}
}
