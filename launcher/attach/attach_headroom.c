/* Room for attaching: see attach_headroom.h. */
#include "attach_headroom.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cgroup.h"
#include "proc/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t threads_enough = 8; /* its listener, ours, and some that others start */
static const uint64_t bytes_enough = 64ull << 20; /* their stacks, and the agent's memory */

static int refuse_limit(
	pid_t pid, struct sp_err *err, const char *who, uint64_t left, const char *limit)
{
	return sp_err_set(err, -EAGAIN,
		"pid %d: %s room for %llu more %s, and a JVM that cannot start a thread for "
		"attaching exits: nothing was sent to it",
		(int)pid, who, (unsigned long long)left, limit);
}

/* Threads of all processes of @uid, which RLIMIT_NPROC counts. */
static uint64_t threads_of(int procfd, uid_t uid)
{
	uint64_t sum = 0;
	struct dirent *e;
	int fd = openat(procfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	while (d && (e = readdir(d)) != NULL) {
		SP_AUTO_PROC struct sp_proc p = {.dir = -1};
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		struct sp_proc_status status;

		if (pid > 0 && sp_proc_open(procfd, pid, &p) == 0 &&
			sp_proc_read_status(&p, &status) == 0 && status.uid == uid)
			sum += (uint64_t)status.threads;
	}
	if (d)
		closedir(d);
	return sum;
}

/* Bytes that @p has mapped. */
static uint64_t mapped(const struct sp_proc *p)
{
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	if (sp_proc_read(p, "statm", 256, &b) < 0)
		return 0;
	return strtoull(sp_buf_str(&b), NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The soft limit @name in the text of /proc/PID/limits, UINT64_MAX where there is none. */
static uint64_t limit(struct sp_buf *limits, const char *name)
{
	const char *at = strstr(sp_buf_str(limits), name);
	char *end;
	uint64_t n;

	if (!at)
		return UINT64_MAX;
	n = strtoull(at + strlen(name), &end, 10);
	return end == at + strlen(name) ? UINT64_MAX : n;
}

int sp_attach_headroom_check(pid_t pid, struct sp_err *err)
{
	SP_AUTO_CLOSE int procfd = sp_proc_root();
	SP_AUTO_PROC struct sp_proc p = {.dir = -1};
	SP_AUTO_BUF struct sp_buf limits;
	struct sp_proc_status status;
	uint64_t left, threads, bytes, used;

	sp_buf_init(&limits);
	if (sp_cgroup_threads_left(pid, &left) == 0 && left < threads_enough)
		return refuse_limit(pid, err, "its cgroup has", left, "threads only (pids.max)");
	if (sp_proc_open(procfd, pid, &p) < 0 || sp_proc_read_status(&p, &status) < 0 ||
		sp_proc_read(&p, "limits", 4096, &limits) < 0)
		return 0;
	threads = status.uid == 0 ? UINT64_MAX : limit(&limits, "Max processes ");
	used = threads == UINT64_MAX ? 0 : threads_of(procfd, status.uid);
	if (threads < used + threads_enough)
		return refuse_limit(pid, err, "its user has", threads > used ? threads - used : 0,
			"threads only (ulimit -u)");
	bytes = limit(&limits, "Max address space ");
	used = mapped(&p);
	if (bytes < used + bytes_enough)
		return refuse_limit(pid, err, "it has", bytes > used ? (bytes - used) >> 10 : 0,
			"KiB of memory only (ulimit -v)");
	return 0;
}
