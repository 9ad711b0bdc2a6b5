/* The launcher's side of attaching: forks the child, waits for its report. See attach_run.h. */
#include "attach_run.h"
#include "attach.h"
#include "attach_child.h"
#include "attach_headroom.h"
#include "attach_target.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/interrupt.h"
#include "discover/jvm.h"
#include "proc/proc.h"
#include "proc/whoami.h"
#include "wire/chan.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child ends by its own deadline; this much later it is asked to, and then killed. */
static const uint64_t grace_ns = 5000000000ull, tidy_ns = 20000000000ull;

/* One report and the descriptor that may come with it. */
static int read_report(int from, struct sp_attach_child_report *ret, int *ret_fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {ret, sizeof(*ret)};
	struct msghdr h = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	ssize_t n = recvmsg(from, &h, MSG_CMSG_CLOEXEC);
	struct cmsghdr *cm;

	if (n < 0)
		return -errno;
	if (n != sizeof(*ret))
		return -EPIPE;
	ret->err.text[sizeof(ret->err.text) - 1] = '\0';
	cm = CMSG_FIRSTHDR(&h);
	if (cm && cm->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(cm), sizeof(int));
	return 0;
}

static int late(struct sp_err *err)
{
	return sp_err_set(err, -ETIMEDOUT,
		"the attach timed out, perhaps for lack of CPU: allow more time with "
		"--attach-timeout");
}

static int await_report(int from, pid_t child, uint64_t deadline_ns, sp_attach_note_fn *note,
	void *note_ctx, int *ret_fd, struct sp_err *err)
{
	bool asked = false, ended = false;

	for (;;) {
		struct sp_attach_child_report report;
		uint64_t look_ns = sp_clock_mono_ns() + 500000000;
		int r;

		/* A Ctrl-C, also one just before: the child tidies up and reports. */
		if (sp_interrupted() && !ended)
			ended = kill(child, SIGTERM) == 0;
		r = sp_chan_wait(from, look_ns < deadline_ns ? look_ns : deadline_ns);
		if (r == -EINTR || (r == 0 && look_ns < deadline_ns))
			continue;
		if (r == 0 && !asked) { /* it gets no CPU: killed, it would leave its files there */
			asked = true;
			kill(child, SIGTERM);
			deadline_ns += tidy_ns;
			continue;
		}
		if (r == 0) {
			kill(child, SIGKILL);
			return late(err);
		}
		r = read_report(from, &report, ret_fd);
		if (r < 0)
			return sp_err_set(err, r, "the attach ended unexpectedly");
		if (!report.done) {
			note(note_ctx, report.err.text);
			continue;
		}
		if (asked && report.code == -EINTR)
			return late(err);
		if (report.code == 0 && *ret_fd < 0)
			return sp_err_set(err, -EPROTO, "the attach brought no connection");
		*err = report.err;
		return report.code;
	}
}

/* In the child: give back nothing but the report. */
static void run_child(struct sp_attach_target *t, uint64_t deadline_ns, const char *who, int to)
{
	sp_attach_child_run(t, deadline_ns, who, to);
	_exit(0);
}

/* A `java` that has not mapped its libjvm yet is a JVM to be. */
static bool may_become_ready(const struct sp_jvm *j)
{
	const char *base = strrchr(j->exe, '/');

	return j->block == SP_BLOCK_STARTING ||
	       (j->block == SP_BLOCK_NOT_JVM && j->kind == SP_JVM_NONE && base &&
		       strcmp(base, "/java") == 0);
}

static int refuse_jvm(const struct sp_jvm *j, struct sp_err *err)
{
	bool permission = j->block == SP_BLOCK_USER || j->block == SP_BLOCK_UNSEEN ||
			  j->block == SP_BLOCK_ATTACH_OFF || j->block == SP_BLOCK_AGENTS_OFF;

	return sp_err_set(
		err, permission ? -EPERM : -ENOEXEC, "pid %d: %s", (int)j->pid, j->reason);
}

/* Looks before anything is done; waits for a JVM that is still starting. A stopped one is let
 * through: it may go on in time, and else the child says so. */
static int preflight(pid_t pid, uint64_t deadline_ns, bool *ret_listening, struct sp_err *err)
{
	SP_AUTO_CLOSE int procfd = sp_proc_root();
	struct sp_jvm j;

	if (procfd < 0)
		return sp_err_set(err, procfd, "/proc: %s", strerror(-procfd));
	for (;;) {
		int r = sp_jvm_inspect(procfd, pid, &j);

		if (r < 0)
			return sp_err_set(err, -ESRCH, "pid %d: no such process", (int)pid);
		*ret_listening = j.attach_listening;
		if (j.attach != SP_ATTACH_NO || j.block == SP_BLOCK_STOPPED)
			return 0;
		if (!may_become_ready(&j) || sp_clock_mono_ns() >= deadline_ns)
			return refuse_jvm(&j, err);
		if (poll(NULL, 0, 10) < 0)
			return sp_err_set(err, -EINTR, "interrupted");
	}
}

/* Newer JDKs catch SIGQUIT early and SIGTERM once java.lang.Terminator runs, after everything that
 * matters here; one that is old and does not catch SIGTERM has an application that wants it so. */
static bool is_up(const struct sp_attach_target *t)
{
	static const uint64_t young_ns = 5000000000ull;

	return t->catches_quit && (t->catches_term || sp_proc_age_ns(t->start_ticks) >= young_ns);
}

/* Waits until the JVM is up (or listens already). Only then is its working directory the one it
 * keeps: while it makes its hsperfdata file it sits in that directory (perfMemory_posix.cpp), and a
 * trigger file put there is not found later: seen as a thread dump on its stdout. */
static int await_handler(
	struct sp_attach_target *t, bool listening, uint64_t deadline_ns, struct sp_err *err)
{
	while (!is_up(t) && !listening) {
		if (sp_clock_mono_ns() >= deadline_ns)
			return sp_attach_late(t, "nothing was loaded", err);
		if (poll(NULL, 0, 10) < 0)
			return sp_err_set(err, -EINTR, "interrupted");
		if (sp_attach_target_refresh(t) < 0)
			return sp_err_set(err, -ESRCH, "pid %d: it ended meanwhile", (int)t->pid);
	}
	return 0;
}

static int open_by_child(struct sp_attach_target *t, uint64_t deadline_ns, sp_attach_note_fn *note,
	void *note_ctx, int *ret_fd, struct sp_err *err)
{
	char who[SP_WHO_LEN];
	int pair[2], fd = -1, r;
	pid_t child;

	sp_whoami(who);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return sp_err_set(err, -errno, "socketpair: %s", strerror(errno));
	child = fork();
	if (child == 0)
		run_child(t, deadline_ns, who, pair[1]);
	close(pair[1]);
	r = child < 0 ? sp_err_set(err, -errno, "fork: %s", strerror(errno))
		      : await_report(
				pair[0], child, deadline_ns + grace_ns, note, note_ctx, &fd, err);
	close(pair[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
	}
	if (r == 0)
		*ret_fd = fd;
	return r;
}

int sp_attach_run(pid_t pid, uint64_t timeout_ns, sp_attach_note_fn *note, void *note_ctx,
	int *ret_fd, struct sp_err *err)
{
	uint64_t deadline_ns = sp_clock_mono_ns() + timeout_ns;
	struct sp_attach_target t;
	bool listening = false;
	int r = preflight(pid, deadline_ns, &listening, err);

	if (r == 0 && !listening)
		r = sp_attach_headroom_check(pid, err);
	if (r == 0)
		r = sp_attach_target_read(pid, &t, err);
	if (r < 0)
		return r;
	r = await_handler(&t, listening, deadline_ns, err);
	if (r == 0)
		r = open_by_child(&t, deadline_ns, note, note_ctx, ret_fd, err);
	if (t.pidfd >= 0)
		close(t.pidfd);
	return r;
}
