/* The target as /proc shows it: see attach_target.h. */
#include "attach_target.h"
#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static int read_text(pid_t pid, const char *name, char *ret, size_t cap)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	n = sp_io_read_text(AT_FDCWD, path, ret, cap);
	return n < 0 ? (int)n : n > 0 ? 0 : -ESRCH;
}

/* The text behind "@key:" at the start of a line, or NULL. */
static const char *field(const char *status, const char *key)
{
	size_t len = strlen(key);

	for (const char *p = status; p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
		if (strncmp(p, key, len) == 0 && p[len] == ':')
			return p + len + 1;
	return NULL;
}

/* The last number on the line. */
static long last_number(const char *p)
{
	long v = 0;
	char *end;

	for (;;) {
		long next = strtol(p, &end, 10);

		if (end == p || memchr(p, '\n', (size_t)(end - p)))
			return v;
		v = next;
		p = end;
	}
}

/* Field 22 of /proc/PID/stat, counted from behind the command name, which may hold anything. */
static int read_start(pid_t pid, uint64_t *ret)
{
	char text[1024];
	const char *p;
	int r = read_text(pid, "stat", text, sizeof(text));

	if (r < 0)
		return r;
	p = strrchr(text, ')');
	for (int i = 2; p && i < 22; i++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	if (!p)
		return -EINVAL;
	*ret = strtoull(p, NULL, 10);
	return 0;
}

static int read_status(pid_t pid, struct sp_attach_target *t)
{
	char status[8192];
	const char *state, *uid, *gid, *nspid, *caught, *tgid;
	unsigned real, effective;
	int r = read_text(pid, "status", status, sizeof(status));

	if (r < 0)
		return r;
	state = field(status, "State");
	uid = field(status, "Uid");
	gid = field(status, "Gid");
	caught = field(status, "SigCgt");
	nspid = field(status, "NSpid"); /* Linux 4.1; before: the same pid, or no way to know */
	tgid = field(status, "Tgid");
	if (!state || !uid || !gid || !caught)
		return -EINVAL;
	if (tgid && strtol(tgid, NULL, 10) != pid)
		return -ESRCH; /* a thread: its process would take the signal for a wish to dump */
	t->state = state[strspn(state, "\t ")];
	if (sscanf(uid, "%u %u", &real, &effective) != 2)
		return -EINVAL;
	t->uid = effective;
	if (sscanf(gid, "%u %u", &real, &effective) != 2)
		return -EINVAL;
	t->gid = effective;
	t->nspid = nspid ? (pid_t)last_number(nspid) : pid;
	t->catches_quit = strtoull(caught, NULL, 16) >> (SIGQUIT - 1) & 1;
	t->catches_term = strtoull(caught, NULL, 16) >> (SIGTERM - 1) & 1;
	return 0;
}

int sp_attach_target_read(pid_t pid, struct sp_attach_target *ret, struct sp_err *err)
{
	struct sp_attach_target t = {.pid = pid, .pidfd = -1};
	int r = read_start(pid, &t.start_ticks);

	if (r == 0)
		r = read_status(pid, &t);
	if (r < 0)
		return sp_err_set(err, -ESRCH, "pid %d: no such process", (int)pid);
	if (t.state == 'Z' || t.state == 'X')
		return sp_err_set(err, -ESRCH, "pid %d: it has ended", (int)pid);
	t.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	*ret = t;
	return 0;
}

int sp_attach_target_refresh(struct sp_attach_target *t)
{
	uint64_t start;

	if (read_start(t->pid, &start) < 0 || start != t->start_ticks ||
		read_status(t->pid, t) < 0 || t->state == 'Z' || t->state == 'X')
		return -ESRCH;
	return 0;
}

int sp_attach_target_quit(struct sp_attach_target *t)
{
	if (t->pidfd >= 0 && syscall(SYS_pidfd_send_signal, t->pidfd, SIGQUIT, NULL, 0) == 0)
		return 0;
	if (t->pidfd >= 0 && errno != ENOSYS)
		return -errno;
	return kill(t->pid, SIGQUIT) < 0 ? -errno : 0;
}
