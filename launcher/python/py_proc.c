/* See py_proc.h. Everything read is small; what does not parse is as if it were not there. */
#include "py_proc.h"

#include "base/cleanup.h"
#include "base/thread_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t slurp(const char *path, char *buf, size_t size)
{
	SP_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -errno : read(fd, buf, size - 1);

	buf[n > 0 ? n : 0] = 0;
	return n;
}

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

size_t sp_pyproc_children(pid_t pid, bool main_only, pid_t *ret, size_t cap)
{
	char path[32];
	struct dirent *e;
	size_t n = 0;
	DIR *d;

	if (main_only)
		return children_of(pid, pid, ret, cap);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && n < cap && (e = readdir(d))) {
		long tid = strtol(e->d_name, NULL, 10);

		if (tid > 0)
			n += children_of(pid, (pid_t)tid, ret + n, cap - n);
	}
	if (d)
		closedir(d);
	return n;
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
	if (slurp(path, text, sizeof(text)) <= 0 || *behind_name(text) == 'Z')
		return 0;
	return stat_field(text, 22);
}

void sp_pyproc_command(pid_t pid, char *ret, size_t len)
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	n = slurp(path, ret, len);
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
	if (slurp(path, text, sizeof(text)) <= 0)
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
	if (slurp(path, text, sizeof(text)) <= 0)
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

pid_t sp_pyproc_thread(pid_t pid, uint32_t tid)
{
	char path[64];
	struct dirent *e;
	pid_t found = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task/%u", (int)pid, tid);
	if (tid && access(path, F_OK) == 0 && sp_pyproc_own_tid(pid, (pid_t)tid) == tid)
		return (pid_t)tid;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		long at = strtol(e->d_name, NULL, 10);

		if (at > 0 && tid && sp_pyproc_own_tid(pid, (pid_t)at) == tid)
			found = (pid_t)at;
	}
	if (d)
		closedir(d);
	return found;
}

static bool fd_mode(void *ctx, uint64_t fd, mode_t *ret)
{
	const pid_t *pid = ctx;
	char path[64];
	struct statx st;

	/* A file system that hangs must not keep the sampler: nobody asks its server. */
	snprintf(path, sizeof(path), "/proc/%d/fd/%llu", (int)*pid, (unsigned long long)fd);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &st) < 0)
		return false;
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

/* Where system calls may not be seen (yama) or are not told (no CONFIG_HAVE_ARCH_TRACEHOOK): only
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

static int look(pid_t pid, pid_t tid, int fds[2], struct sp_pyproc_look *ret)
{
	char text[256], *end;
	ssize_t n;

	n = read_state(pid, tid, &fds[0], text, sizeof(text) - 1);
	if (n <= 0)
		return n < 0 ? -errno : -ESRCH;
	text[n] = 0;
	ret->state = strchr(text, ')') ? state_by_stat(text) : state_of(pid, text);
	n = pread(fds[1], text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	ret->run_ns = strtoull(text, &end, 10);
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
	r = look(pid, tid, fds, ret);
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
	if (slurp(path, text, sizeof(text)) <= 0 || *behind_name(text) == 'Z')
		return -ESRCH;
	ret->cpu_ns = (stat_field(text, 14) + stat_field(text, 15)) * tick;
	ret->rss = stat_field(text, 24) * (uint64_t)sysconf(_SC_PAGESIZE);
	if (!with_pss)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	p = slurp(path, text, sizeof(text)) > 0 ? strstr(text, "\nPss:") : NULL;
	ret->pss = p ? strtoull(p + 5, NULL, 10) * 1024 : 0;
	return 0;
}
