/* See py_proc.h. Everything read is small; what does not parse is as if it were not there. */
#include "pysample/py_proc.h"

#include "base/cleanup.h"
#include "base/filtered.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/list_dir.h"
#include "base/thread_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t children_of(pid_t pid, pid_t tid, pid_t *ret, size_t cap)
{
	char path[64], text[4096];
	size_t n = 0, rest = 0;
	SP_AUTO_CLOSE int fd = -1;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* A number ends with a blank: what has none yet waits for the next piece. */
	while (fd >= 0 && (got = read(fd, text + rest, sizeof(text) - 1 - rest)) > 0) {
		char *p = text, *blank;

		text[rest += (size_t)got] = 0;
		for (; n < cap && (blank = strchr(p, ' ')); p = blank + 1)
			ret[n++] = (pid_t)strtol(p, NULL, 10);
		rest = strlen(p);
		if (n == cap || rest > 20)
			break;
		memmove(text, p, rest);
	}
	return n;
}

struct children {
	pid_t pid;
	pid_t *ret;
	size_t n, cap;
};

static void add_children(void *ctx, const char *name)
{
	struct children *c = ctx;
	long tid = strtol(name, NULL, 10);

	if (tid > 0 && c->n < c->cap)
		c->n += children_of(c->pid, (pid_t)tid, c->ret + c->n, c->cap - c->n);
}

size_t sp_pyproc_children(pid_t pid, bool main_only, pid_t *ret, size_t cap)
{
	struct children c = {pid, ret, 0, cap};
	char path[32];

	if (main_only)
		return children_of(pid, pid, ret, cap);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	sp_list_dir(path, add_children, &c);
	return c.n;
}

bool sp_pyproc_has_children(pid_t pid)
{
	siginfo_t none;

	return pid != getpid() || waitid(P_ALL, 0, &none, WEXITED | WNOHANG | WNOWAIT) == 0 ||
	       errno != ECHILD;
}

/* The fields of a stat file behind the name, which may hold anything. */
static const char *behind_name(const char *stat)
{
	const char *p = strrchr(stat, ')');

	return p && p[1] ? p + 2 : "";
}

/* Field @n of stat, as proc(5) counts them; n > 3. */
static uint64_t stat_field(const char *stat, int n)
{
	const char *p = behind_name(stat);

	for (int i = 3; *p && i < n; i++) {
		p = strchr(p, ' ');
		if (!p)
			return 0;
		p++;
	}
	return strtoull(p, NULL, 10);
}

uint64_t sp_pyproc_start(pid_t pid)
{
	char path[32], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (sp_io_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0 || *behind_name(text) == 'Z')
		return 0;
	return stat_field(text, 22);
}

void sp_pyproc_command(pid_t pid, char *ret, size_t len)
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	n = sp_io_read_text(AT_FDCWD, path, ret, len);
	for (ssize_t i = 0; i + 1 < n; i++)
		if ((unsigned char)ret[i] < ' ')
			ret[i] = ' ';
}

bool sp_pyproc_is_worker(const char *command)
{
	return strstr(command, " -m pyspark.worker") != NULL;
}

static bool below_java(pid_t pid)
{
	char path[32], text[1024];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (sp_io_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)stat_field(text, 4));
	n = readlink(path, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	return n > 5 && strcmp(text + n - 5, "/java") == 0;
}

bool sp_pyproc_is_daemon(pid_t pid, const char *command)
{
	if (sp_pyproc_is_worker(command))
		return false;
	return strstr(command, " -m pyspark.daemon") || strstr(command, " pyspark.worker") ||
	       (strstr(command, " -m ") && below_java(pid));
}

uint32_t sp_pyproc_own_tid(pid_t pid, pid_t tid)
{
	char path[64], text[4096], *p, *end;
	uint32_t id = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	if (sp_io_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return 0;
	p = strstr(text, "\nNSpid:");
	if (!p)
		return (uint32_t)tid;
	for (p += 7; *p == ' ' || *p == '\t'; p = end) {
		id = (uint32_t)strtoul(p, &end, 10);
		if (end == p)
			break;
	}
	return id;
}

struct wanted_thread {
	pid_t pid;
	uint32_t tid;
	pid_t found;
};

static void find_thread(void *ctx, const char *name)
{
	struct wanted_thread *t = ctx;
	long at = strtol(name, NULL, 10);

	if (!t->found && at > 0 && sp_pyproc_own_tid(t->pid, (pid_t)at) == t->tid)
		t->found = (pid_t)at;
}

pid_t sp_pyproc_thread(pid_t pid, uint32_t tid)
{
	struct wanted_thread t = {pid, tid, 0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%u", (int)pid, tid);
	if (tid && access(path, F_OK) == 0 && sp_pyproc_own_tid(pid, (pid_t)tid) == tid)
		return (pid_t)tid;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	if (tid)
		sp_list_dir(path, find_thread, &t);
	return t.found;
}

/* What is a file by its name is taken for a plain one. */
static bool mode_by_name(const char *path, mode_t *ret)
{
	char to[16] = "";

	if (readlink(path, to, sizeof(to) - 1) <= 0)
		return false;
	*ret = strncmp(to, "socket:", 7) == 0		      ? S_IFSOCK
	       : to[0] == '/' && strncmp(to, "/dev/", 5) != 0 ? S_IFREG
							      : S_IFIFO;
	return true;
}

static bool fd_mode(void *ctx, uint64_t fd, mode_t *ret)
{
	const pid_t *pid = ctx;
	char path[64];
	struct statx st;

	/* A file system that hangs must not keep the sampler: nobody asks its server. The call is
	 * the kernel's: glibc has it since 2.28. */
	snprintf(path, sizeof(path), "/proc/%d/fd/%llu", (int)*pid, (unsigned long long)fd);
	if (sp_filtered() ||
		syscall(SYS_statx, AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &st) < 0)
		return mode_by_name(path, ret);
	*ret = st.stx_mode;
	return true;
}

/* "running", "-1 sp pc" or "nr args… sp pc" (proc(5)). */
static enum sp_state state_of(pid_t pid, const char *text)
{
	char *args;
	long nr = strtol(text, &args, 10);

	if (args == text)
		return SP_STATE_RUNNING;
	return sp_thread_state(nr, strtoull(args, NULL, 0), fd_mode, &pid);
}

static int open_one(pid_t pid, pid_t tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Where system calls may not be seen (yama) or are not shown (no CONFIG_HAVE_ARCH_TRACEHOOK): only
 * that it sleeps. */
static enum sp_state state_by_stat(const char *stat)
{
	char c = *behind_name(stat);

	return c == 'R' ? SP_STATE_RUNNING : c == 'D' ? SP_STATE_DISK : SP_STATE_BLOCKED;
}

static ssize_t read_state(pid_t pid, pid_t tid, int *fd, char *ret, size_t size)
{
	ssize_t n = *fd < 0 ? -1 : pread(*fd, ret, size, 0);

	if (n < 0 && (*fd < 0 || errno == EPERM || errno == EACCES)) {
		if (*fd >= 0)
			close(*fd);
		*fd = open_one(pid, tid, "stat");
		n = *fd < 0 ? -1 : pread(*fd, ret, size, 0);
	}
	return n;
}

static void close_both(int fds[2])
{
	for (int i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* The lowest number that is free is taken: one beyond the half means that half of them are in use,
 * and the rest is for those that come and go. */
static bool may_keep(const int fds[2])
{
	long most = sysconf(_SC_OPEN_MAX);

	return fds[0] < most / 2 && fds[1] < most / 2;
}

static int read_thread(pid_t pid, pid_t tid, int fds[2], struct sp_pyproc_look *ret)
{
	char text[256], times[256], *end;
	uint64_t where, run_ns;
	ssize_t n;

	n = read_state(pid, tid, &fds[0], text, sizeof(text) - 1);
	if (n <= 0)
		return n < 0 ? -errno : -ESRCH;
	text[n] = 0;
	where = sp_hash_bytes(text, (size_t)n);
	n = pread(fds[1], times, sizeof(times) - 1, 0);
	times[n > 0 ? n : 0] = 0;
	run_ns = strtoull(times, &end, 10);
	/* What file it waits for is asked once for each wait. */
	if (where != ret->where || run_ns != ret->run_ns)
		ret->state = strchr(text, ')') ? state_by_stat(text) : state_of(pid, text);
	ret->where = where;
	ret->run_ns = run_ns;
	ret->delay_ns = strtoull(end, NULL, 10);
	return 0;
}

int sp_pyproc_look(pid_t pid, pid_t tid, int fds[2], struct sp_pyproc_look *ret)
{
	bool keep = true;
	int r;

	if (fds[0] < 0) {
		close_both(fds);
		fds[0] = open_one(pid, tid, "syscall");
		fds[1] = open_one(pid, tid, "schedstat");
		keep = may_keep(fds);
	}
	r = read_thread(pid, tid, fds, ret);
	if (!keep)
		close_both(fds);
	return r;
}

int sp_pyproc_use(pid_t pid, bool with_pss, struct sp_pyproc_use *ret)
{
	char path[48], text[4096], *p;
	uint64_t tick = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);

	memset(ret, 0, sizeof(*ret));
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (sp_io_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0 || *behind_name(text) == 'Z')
		return -ESRCH;
	ret->cpu_ns = (stat_field(text, 14) + stat_field(text, 15)) * tick;
	ret->rss = stat_field(text, 24) * (uint64_t)sysconf(_SC_PAGESIZE);
	if (!with_pss)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	p = sp_io_read_text(AT_FDCWD, path, text, sizeof(text)) > 0 ? strstr(text, "\nPss:") : NULL;
	ret->pss = p ? strtoull(p + 5, NULL, 10) * 1024 : 0;
	return 0;
}
