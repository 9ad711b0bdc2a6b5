/* Readers of /proc/PID: see proc.h. */
#include "proc.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

int sp_proc_root(void)
{
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int sp_proc_open(int procfd, pid_t pid, struct sp_proc *ret)
{
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "%d", (int)pid);
	fd = openat(procfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	ret->dir = fd;
	ret->pid = pid;
	return 0;
}

void sp_proc_done(struct sp_proc *p)
{
	if (p->dir >= 0)
		close(p->dir);
	p->dir = -1;
}

static int open_entry(const struct sp_proc *p, const char *file)
{
	int fd = openat(p->dir, file, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd >= 0)
		return fd;
	/* the directory of a dead process stays open, but is empty */
	return errno == ENOENT && faccessat(p->dir, "status", F_OK, 0) < 0 ? -ESRCH : -errno;
}

int sp_proc_read(const struct sp_proc *p, const char *file, size_t max, struct sp_buf *ret)
{
	SP_AUTO_CLOSE int fd = open_entry(p, file);
	size_t before = ret->len;
	int r;

	if (fd < 0)
		return fd;
	r = sp_buf_read_fd(ret, fd, max);
	if (r == -EFBIG) {
		ret->len = before + max;
		r = 0;
	}
	return r;
}

int sp_proc_readlink(const struct sp_proc *p, const char *file, char *ret, size_t len)
{
	ssize_t n = readlinkat(p->dir, file, ret, len);

	if (n < 0)
		return -errno;
	if ((size_t)n >= len)
		return -ENAMETOOLONG;
	ret[n] = '\0';
	return 0;
}

/* The text behind "Name:\t" in a status, or NULL. */
static const char *status_field(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, n) == 0 && line[n] == ':')
			return line + n + 1 + strspn(line + n + 1, " \t");
	}
	return NULL;
}

static long status_number(const char *text, const char *name, int index, long otherwise)
{
	const char *s = status_field(text, name);
	char *end;
	long v = otherwise;

	for (; s && index >= 0; index--, s = end) {
		s += strspn(s, " \t");
		v = strtol(s, &end, 10);
		if (end == s)
			return otherwise;
	}
	return v;
}

/* NSpid lists the pid in every namespace, ours first, the innermost last. */
static void read_nspid(const char *text, struct sp_proc_status *st)
{
	const char *s = status_field(text, "NSpid");
	char *end;

	st->ns_depth = 0;
	for (; s; s = end) {
		s += strspn(s, " \t");
		long v = strtol(s, &end, 10);
		if (end == s || v <= 0 || v > INT_MAX)
			break;
		st->nspid = (pid_t)v;
		st->ns_depth++;
	}
}

int sp_proc_read_status(const struct sp_proc *p, struct sp_proc_status *ret)
{
	SP_AUTO_BUF struct sp_buf b = {0};
	struct sp_proc_status st = {.nspid = p->pid};
	const char *text, *s;
	int r;

	r = sp_proc_read(p, "status", 64 << 10, &b);
	if (r < 0)
		return r;
	text = sp_buf_str(&b);
	s = status_field(text, "State");
	if (!s)
		return -EINVAL;
	st.state = *s;
	s = status_field(text, "Name");
	if (s)
		snprintf(st.name, sizeof(st.name), "%.*s", (int)strcspn(s, "\n"), s);
	st.tgid = (pid_t)status_number(text, "Tgid", 0, 0);
	st.ppid = (pid_t)status_number(text, "PPid", 0, 0);
	st.threads = (int)status_number(text, "Threads", 0, 0);
	st.tracer = (pid_t)status_number(text, "TracerPid", 0, 0);
	st.uid = (uid_t)status_number(text, "Uid", 1, -1);
	st.gid = (gid_t)status_number(text, "Gid", 1, -1);
	s = status_field(text, "SigCgt");
	st.sigcgt = s ? strtoull(s, NULL, 16) : 0;
	read_nspid(text, &st);
	*ret = st;
	return 0;
}

int sp_proc_read_start(const struct sp_proc *p, uint64_t *ret_ticks)
{
	SP_AUTO_BUF struct sp_buf b = {0};
	const char *s;
	int r;

	r = sp_proc_read(p, "stat", 4096, &b);
	if (r < 0)
		return r;
	/* the name in parentheses may hold anything: count from the last ')' */
	s = strrchr(sp_buf_str(&b), ')');
	for (int field = 2; s && field < 22; field++) {
		s = strchr(s, ' ');
		s = s ? s + 1 : NULL;
	}
	if (!s || *s < '0' || *s > '9')
		return -EINVAL;
	*ret_ticks = strtoull(s, NULL, 10);
	return 0;
}

uint64_t sp_proc_age_ns(uint64_t start_ticks)
{
	uint64_t now = sp_clock_read(CLOCK_BOOTTIME);
	long hz = sysconf(_SC_CLK_TCK);
	uint64_t then = start_ticks * (1000000000ull / (uint64_t)(hz > 0 ? hz : 100));

	return now > then ? now - then : 0;
}

const char *sp_proc_next_string(const struct sp_buf *b, const char *prev)
{
	const char *s = prev ? prev + strlen(prev) + 1 : b->data;
	size_t left;

	if (!s || s >= b->data + b->len)
		return NULL;
	left = (size_t)(b->data + b->len - s);
	return memchr(s, '\0', left) ? s : NULL;
}

const char *sp_proc_env(const struct sp_buf *env, const char *name)
{
	size_t n = strlen(name);

	for (const char *s = NULL; (s = sp_proc_next_string(env, s));) {
		if (strncmp(s, name, n) == 0 && s[n] == '=')
			return s + n + 1;
	}
	return NULL;
}

int sp_proc_parse_map(char *line, struct sp_proc_map *ret)
{
	unsigned dev_major, dev_minor;
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		    &ret->start, &ret->end, ret->perms, &ret->offset, &dev_major, &dev_minor,
		    &ret->inode, &at) < 7)
		return -EINVAL;
	ret->dev = makedev(dev_major, dev_minor);
	ret->path = line + (at ? (size_t)at : strlen(line));
	return 0;
}

int sp_proc_each_map(
	const struct sp_proc *p, int (*each)(const struct sp_proc_map *m, void *arg), void *arg)
{
	SP_AUTO_CLOSE int fd = open_entry(p, "maps");
	SP_AUTO_FCLOSE FILE *f = NULL;
	SP_AUTO_FREE char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int r = 0;

	if (fd < 0)
		return fd;
	f = fdopen(fd, "r");
	if (!f)
		return -errno;
	sp_steal_fd(&fd);
	while (r == 0 && (n = getline(&line, &cap, f)) > 0) {
		struct sp_proc_map m;

		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		if (sp_proc_parse_map(line, &m) == 0 && *m.path)
			r = each(&m, arg);
	}
	return r == 0 && ferror(f) ? -EIO : r;
}

int sp_proc_user_name(int fd, uid_t uid, char *ret, size_t len)
{
	SP_AUTO_BUF struct sp_buf b = {0};

	snprintf(ret, len, "%u", (unsigned)uid);
	if (fd < 0 || sp_buf_read_fd(&b, fd, 4 << 20) < 0)
		return -ENOENT;
	for (const char *line = sp_buf_str(&b); line; line = strchr(line, '\n')) {
		const char *id;
		size_t n;
		char *end;

		line += *line == '\n';
		n = strcspn(line, ":\n");
		id = line + n + (line[n] == ':'); /* the password field */
		id += strcspn(id, ":\n");
		if (!n || *id != ':' || id[1] < '0' || id[1] > '9')
			continue;
		if (strtoul(id + 1, &end, 10) == uid && *end == ':') {
			snprintf(ret, len, "%.*s", (int)n, line);
			return 0;
		}
	}
	return -ENOENT;
}
