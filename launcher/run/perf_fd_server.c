/* See perf_fd_server.h. */
#include "perf_fd_server.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "proc/proc.h"
#include "wire/perf_attr.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t send_ns = 2000000000, shortest_ns = 100000, longest_ns = 3600000000000;

/* The number of a task of @dir (/proc/PID/task) in its own pid namespace. -ESRCH: it has ended. */
static pid_t inner_of(int dir, pid_t outer)
{
	SP_AUTO_PROC struct sp_proc p = {.dir = -1};
	struct sp_proc_status status;
	char name[16];
	int r;

	snprintf(name, sizeof(name), "%d", (int)outer);
	p.dir = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p.dir < 0)
		return -ESRCH;
	r = sp_proc_read_status(&p, &status);
	return r < 0 ? -ESRCH : status.nspid;
}

static int task_dir(pid_t pid)
{
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -ESRCH : fd;
}

static pid_t look_up(const struct sp_perf_fd_server *p, pid_t inner)
{
	for (size_t i = p->n; i-- > 0;) {
		if (p->pairs[i].inner == inner)
			return p->pairs[i].outer;
	}
	return -ESRCH;
}

static int add_pair(struct sp_perf_fd_server *p, pid_t inner, pid_t outer)
{
	if (sp_grow(&p->pairs, &p->cap, p->n, sizeof(*p->pairs), 256) < 0)
		return -ENOMEM;
	p->pairs[p->n++] = (struct sp_perf_pair){inner, outer};
	return 0;
}

static int scan(struct sp_perf_fd_server *p, int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	int r = 0;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return -ESRCH;
	}
	p->n = 0;
	for (struct dirent *e; r == 0 && (e = readdir(d));) {
		pid_t outer = atoi(e->d_name), inner = outer > 0 ? inner_of(dir, outer) : -ESRCH;

		if (inner > 0)
			r = add_pair(p, inner, outer);
	}
	closedir(d);
	return r;
}

/* The target's thread @inner as this side calls it. */
static pid_t outer_of(struct sp_perf_fd_server *p, int dir, pid_t inner)
{
	pid_t outer;
	int r;

	if (!p->namespaced)
		return inner_of(dir, inner) < 0 ? -ESRCH : inner;
	outer = look_up(p, inner);
	if (outer > 0 && inner_of(dir, outer) == inner)
		return outer;
	r = scan(p, dir);
	return r < 0 ? r : look_up(p, inner);
}

/* One event per CPU that is there. Returns how many, or -errno and none is open. */
static int open_all(struct perf_event_attr *attr, pid_t tid, int *ret_fds)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int n = 0, r = sp_chan_perf_allowed(tid, 0) ? 0 : -EPERM;

	for (int cpu = 0; r == 0 && cpu < cpus; cpu++) {
		int fd = n < SP_MSG_FDS ? sp_perf_attr_open(attr, tid, cpu) : -E2BIG;

		if (fd >= 0)
			ret_fds[n++] = fd;
		else if (fd != -ENODEV) /* else this CPU is off */
			r = fd;
	}
	while (r < 0 && n > 0)
		close(ret_fds[--n]);
	return r < 0 ? r : n;
}

static void make_attr(const struct sp_msg *wanted, struct perf_event_attr *ret)
{
	uint64_t interval = wanted->num[3], window = wanted->num[2];

	if (wanted->num[0] == 0) {
		sp_perf_attr_owner(ret);
		return;
	}
	interval = interval < shortest_ns ? shortest_ns : interval;
	sp_perf_attr_clock(ret, interval > longest_ns ? longest_ns : interval);
	sp_perf_attr_ring(ret, sp_perf_attr_window(window, UINT64_MAX));
}

static int open_wanted(
	struct sp_perf_fd_server *p, const struct sp_msg *wanted, pid_t *ret_outer, int *ret_fds)
{
	SP_AUTO_CLOSE int dir = p->on ? task_dir(p->pid) : -EPERM;
	struct perf_event_attr attr;
	pid_t outer;
	int n;

	if (dir < 0)
		return dir;
	if (wanted->num[0] > INT32_MAX)
		return -EINVAL;
	outer = wanted->num[0] ? outer_of(p, dir, (pid_t)wanted->num[0]) : p->pid;
	if (outer < 0)
		return outer;
	make_attr(wanted, &attr);
	n = open_all(&attr, outer, ret_fds);
	/* Had the number gone to a stranger's thread meanwhile, it would not be here any more. */
	if (n >= 0 && inner_of(dir, outer) < 0) {
		while (n > 0)
			close(ret_fds[--n]);
		return -ESRCH;
	}
	*ret_outer = outer;
	return n;
}

int sp_perf_fd_server_serve(
	struct sp_perf_fd_server *p, struct sp_chan *chan, const struct sp_msg *wanted)
{
	int fds[SP_MSG_FDS], r;
	pid_t outer = 0;
	int n = open_wanted(p, wanted, &outer, fds);
	struct sp_msg m = {.type = SP_MSG_PERF,
		.num = {wanted->num[0], wanted->num[1], (uint64_t)p->pid, (uint64_t)outer,
			n < 0 ? (uint64_t)-n : 0}};

	r = sp_chan_send(chan, &m, fds, n < 0 ? 0 : n, sp_clock_mono_ns() + send_ns);
	while (n > 0)
		close(fds[--n]);
	return r;
}

bool sp_perf_fd_server_init(struct sp_perf_fd_server *p, pid_t pid)
{
	SP_AUTO_CLOSE int procfd = sp_proc_root();
	SP_AUTO_PROC struct sp_proc proc = {.dir = -1};
	struct sp_proc_status status;
	struct perf_event_attr attr;
	int fd;

	memset(p, 0, sizeof(*p));
	p->pid = pid;
	if (procfd < 0 || sp_proc_open(procfd, pid, &proc) < 0 ||
		sp_proc_read_status(&proc, &status) < 0)
		return false;
	p->namespaced = status.ns_depth > 1;
	sp_perf_attr_clock(&attr, longest_ns);
	attr.disabled = 1;
	fd = sp_perf_attr_open(&attr, pid, -1);
	if (fd < 0)
		return false;
	close(fd);
	p->on = true;
	return true;
}

void sp_perf_fd_server_done(struct sp_perf_fd_server *p)
{
	free(p->pairs);
	memset(p, 0, sizeof(*p));
}
