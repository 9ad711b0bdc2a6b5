/* See py_ptrace.h. */
#include "py_ptrace.h"

#include "base/clock.h"
#include "pysample/py_proc.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE = 1000 }; /* looks whether it has stopped, of 100 us each */

/* Whether a seized thread has stopped. Returns -EAGAIN: not yet; the signal that it is to get when
 * it goes on; -ESRCH. */
static int has_stopped(pid_t tid)
{
	int status;
	pid_t got = waitpid(tid, &status, __WALL | WNOHANG);

	if (got == 0)
		return -EAGAIN;
	if (got < 0 || !WIFSTOPPED(status))
		return -ESRCH;
	return status >> 16 ? 0 : WSTOPSIG(status);
}

static void let_go(pid_t tid, int sig)
{
	ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)sig);
}

/* A thread that was in the middle of something is let go as soon as it has stopped after all. */
static bool nobody_late(struct sp_pyptrace *s)
{
	int sig = s->late ? has_stopped(s->late) : -ESRCH;

	if (sig == -EAGAIN)
		return false;
	if (sig >= 0)
		let_go(s->late, sig);
	s->late = 0;
	return true;
}

void sp_pyptrace_tidy(struct sp_pyptrace *s)
{
	nobody_late(s);
}

int sp_pyptrace(struct sp_pyptrace *s, pid_t tid)
{
	int r = -EAGAIN;

	if (!nobody_late(s))
		return -EBUSY;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		return -errno;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0)
		return -errno; /* it has just ended: nothing is left to let go */
	for (int i = 0; i < PATIENCE && r == -EAGAIN; i++) {
		r = has_stopped(tid);
		if (r == -EAGAIN)
			usleep(i < 20 ? 5 : 100);
	}
	s->late = r == -EAGAIN ? tid : 0;
	s->since_ns = sp_clock_mono_ns();
	return r == -EAGAIN ? -ETIMEDOUT : r;
}

void sp_pyptrace_go(struct sp_pyptrace *s, pid_t tid, int stopped)
{
	uint64_t took;

	let_go(tid, stopped);
	took = sp_clock_mono_ns() - s->since_ns;
	s->stops.count++;
	s->stops.all_ns += took;
	s->stops.longest_ns = took > s->stops.longest_ns ? took : s->stops.longest_ns;
}

int sp_pyptrace_waiting(pid_t pid, pid_t tid, int (*look)(void *ctx), void *ctx)
{
	struct sp_pyproc_look before = {0}, after = {0};
	int fds[2] = {-1, -1};
	int r = sp_pyproc_look(pid, tid, fds, &before);

	if (r == 0)
		r = before.state == SP_STATE_RUNNING ? -EAGAIN : look(ctx);
	if (r == 0)
		r = sp_pyproc_look(pid, tid, fds, &after);
	if (r == 0 && (after.state == SP_STATE_RUNNING || after.run_ns != before.run_ns))
		r = -EAGAIN;
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return r;
}
