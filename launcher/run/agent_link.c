/* Conversations with an agent: see agent_link.h. */
#include "agent_link.h"
#include "attach/agent_image.h"
#include "attach/agent_work.h"
#include "attach/attach_run.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/safe_print.h"
#include "proc/proc.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const uint64_t answer_ns = 30000000000ull;
enum {
	BUSY_TIMES = 10,
	SENTENCES = 200,   /* of one agent that are shown */
	PROGRESSES = 10000 /* before one answer: more than any agent sends */
};

static void warn(void *ctx, const char *sentence)
{
	sp_message_warn("%s", sentence);
}

/* What the agent says is a stranger's text: made safe before it reaches a terminal. */
static void set_said(struct sp_err *err, const struct sp_link *l, const char *text)
{
	SP_AUTO_BUF struct sp_buf safe;

	sp_buf_init(&safe);
	sp_safe_print_text(&safe, text, 0);
	sp_err_set(err, 0, "pid %d: %s", (int)l->pid, sp_buf_str(&safe));
}

const char *sp_link_when(uint64_t wall_ns, char ret[40])
{
	time_t t = (time_t)(wall_ns / 1000000000);
	struct tm tm;

	ret[0] = '\0';
	if (gmtime_r(&t, &tm))
		strftime(ret, 40, "%Y-%m-%d %H:%M:%S UTC", &tm);
	return ret;
}

/* The connection goes before the process is seen to end: it is given a second to. */
static bool target_ended(pid_t pid)
{
	SP_AUTO_CLOSE int procfd = sp_proc_root();

	for (int i = 0; i < 100; i++) {
		SP_AUTO_PROC struct sp_proc p = {.dir = -1};
		struct sp_proc_status status;
		int r = sp_proc_open(procfd, pid, &p);

		if (r == 0)
			r = sp_proc_read_status(&p, &status);
		if (r == -ESRCH || (r == 0 && strchr("ZX", status.state)))
			return true;
		poll(NULL, 0, 10);
	}
	return false;
}

static int gone(const struct sp_link *l, int r, struct sp_err *err)
{
	if (r == -EINTR)
		return sp_err_set(err, r, "interrupted");
	if (r == -ETIMEDOUT && sp_stopped_target_is(l->pid, NULL))
		return sp_err_set(err, r,
			"pid %d: it is stopped, and was not waited for any longer", (int)l->pid);
	if (r == -ETIMEDOUT)
		return sp_err_set(err, r, "pid %d: the agent did not answer in time", (int)l->pid);
	if (r == -ECONNRESET && target_ended(l->pid))
		return sp_err_set(err, -ESRCH, "pid %d: it ended meanwhile", (int)l->pid);
	if (r == -ECONNRESET)
		return sp_err_set(err, r, "pid %d: the agent closed the connection", (int)l->pid);
	return sp_err_set(err, r, "pid %d: control connection: %s", (int)l->pid, strerror(-r));
}

static void hand_on(struct sp_link *l, const struct sp_msg *m)
{
	int fd = l->chan.n_fds == 1 ? l->chan.fds[0] : -1;

	if (l->memory && m->num[0] <= INT32_MAX) {
		l->chan.n_fds = 0;
		l->memory(l->python_ctx, (pid_t)m->num[0], fd >= 0 ? 0 : EPERM, fd);
	}
	sp_chan_drop_fds(&l->chan);
}

/* A sentence of the agent's. One that never ends is not listened to for ever. */
static void show_sentence(struct sp_link *l, const char *text)
{
	struct sp_err said;

	if (l->sentences > SENTENCES)
		return;
	set_said(&said, l, text);
	if (l->sentences++ < SENTENCES)
		sp_message_warn("%s", said.text);
	else
		sp_message_warn("pid %d: its agent says more than is shown here", (int)l->pid);
}

/* What comes unasked. 1: it was that, and is done; 0: it was not; or -errno. */
static int serve(struct sp_link *l, const struct sp_msg *m)
{
	int r;

	switch (m->type) {
	case SP_MSG_PERF_WANTED:
		r = sp_perf_fd_server_serve(&l->perf, &l->chan, m);
		return r < 0 ? r : 1;
	case SP_MSG_MEMORY:
		hand_on(l, m);
		return 1;
	case SP_MSG_PYTHON_REFUSED:
		if (l->refused && m->num[0] <= INT32_MAX)
			l->refused(l->python_ctx, (pid_t)m->num[0]);
		return 1;
	case SP_MSG_LOG:
		show_sentence(l, m->text[0]);
		return 1;
	default:
		return 0;
	}
}

int sp_link_next(struct sp_link *l, struct sp_msg *ret, uint64_t deadline_ns, struct sp_err *err)
{
	for (;;) {
		int r = sp_chan_recv(&l->chan, ret, deadline_ns);

		if (r == 0)
			r = serve(l, ret);
		if (r == 0)
			return 0;
		/* Receiving looks at the time only where there is nothing to receive. */
		if (r > 0 && sp_clock_mono_ns() >= deadline_ns)
			r = -ETIMEDOUT;
		if (r < 0)
			return gone(l, r, err);
	}
}

/* Is @m what a request of this type is answered with? */
static bool answers(enum sp_msg_type request, const struct sp_msg *m)
{
	static const enum sp_msg_type expected[SP_MSG_TYPES] = {
		[SP_MSG_START] = SP_MSG_STARTED,
		[SP_MSG_STOP] = SP_MSG_STOPPED,
		[SP_MSG_FLUSH] = SP_MSG_FLUSHED,
		[SP_MSG_DETACH] = SP_MSG_DETACHED,
		[SP_MSG_STATUS] = SP_MSG_STATE,
		[SP_MSG_OWNERS_WANTED] = SP_MSG_OWNERS,
		[SP_MSG_PROBE] = SP_MSG_ROW,
	};

	return m->type == expected[request] ||
	       (request == SP_MSG_PROBE && m->type == SP_MSG_PROBED);
}

static int judge_reply(
	struct sp_link *l, enum sp_msg_type request, const struct sp_msg *m, struct sp_err *err)
{
	char when[40], text[400];
	int code;

	if (m->type == SP_MSG_BUSY) {
		snprintf(text, sizeof(text), "is being recorded already, by %.232s, since %s",
			m->text[0], sp_link_when(m->num[0], when));
		set_said(err, l, text);
		return -EBUSY;
	}
	if (m->type == SP_MSG_FAILED) {
		set_said(err, l, m->text[0]);
		code = m->num[0] > 0 && m->num[0] < 4096 ? (int)m->num[0] : EIO;
		return -code;
	}
	if (!answers(request, m))
		return sp_err_set(
			err, -EPROTO, "pid %d: unexpected answer from the agent", (int)l->pid);
	return 0;
}

/* A wait for one answer. */
struct wait {
	uint64_t until_ns, never_after_ns;
	uint64_t work; /* of the agent's threads, as seen last */
};

static struct wait begin_wait(const struct sp_link *l)
{
	uint64_t now = sp_clock_mono_ns();

	return (struct wait){
		now + l->answer_ns, now + l->answer_ns * BUSY_TIMES, sp_agent_work(l->pid)};
}

/* Its time is over, but its agent has worked since the last look: it gets as much again. */
static bool gets_more(const struct sp_link *l, struct wait *w)
{
	uint64_t work = sp_agent_work(l->pid), now = sp_clock_mono_ns();
	bool works = work != w->work;

	w->work = work;
	if (!works || now >= w->never_after_ns || sp_interrupted())
		return false;
	sp_message_warn("pid %d: its agent is busy and has not answered yet; waiting on (Ctrl-C "
			"ends that)",
		(int)l->pid);
	w->until_ns = now + l->answer_ns;
	return true;
}

/* As sp_link_next, with an eye on the target: one that is stopped does not answer. */
static int next_or_halted(struct sp_link *l, struct sp_msg *ret, struct wait *w, struct sp_err *err)
{
	for (;;) {
		uint64_t slice_ns = sp_clock_mono_ns() + 500000000;
		bool last = slice_ns >= w->until_ns;
		int r = sp_link_next(l, ret, last ? w->until_ns : slice_ns, err);

		if (r < 0 && l->halted.times > 1 && !l->patient && sp_interrupted())
			return gone(l, -ETIMEDOUT, err);
		if (r != -ETIMEDOUT || (last && !gets_more(l, w)))
			return r;
		sp_stopped_target_look(&l->halted, l->pid,
			"its agent cannot answer; waiting 30 s (Ctrl-C ends the wait)");
	}
}

int sp_link_ask(struct sp_link *l, const struct sp_msg *request, const int *fds, int n_fds,
	struct sp_msg *ret, struct sp_err *err)
{
	struct wait w = begin_wait(l);
	int r = sp_chan_send(&l->chan, request, fds, n_fds, w.until_ns), n = 0;

	if (r < 0)
		return gone(l, r, err);
	do
		r = next_or_halted(l, ret, &w, err);
	while (r == 0 && ret->type == SP_MSG_PROGRESS && n++ < PROGRESSES);
	return r < 0 ? r : judge_reply(l, request->type, ret, err);
}

int sp_link_send(struct sp_link *l, const struct sp_msg *m, struct sp_err *err)
{
	int r = sp_chan_send(&l->chan, m, NULL, 0, sp_clock_mono_ns() + l->answer_ns);

	return r < 0 ? gone(l, r, err) : 0;
}

static int read_hello(struct sp_link *l, struct sp_err *err)
{
	char id[SP_BUILD_ID_HEX + 1];
	struct sp_msg hello;
	int r = sp_link_next(l, &hello, sp_clock_mono_ns() + answer_ns, err);

	if (r < 0)
		return r;
	sp_agent_image_id(id);
	if (hello.type != SP_MSG_HELLO || strcmp(hello.text[0], id) != 0)
		return sp_err_set(
			err, -EPROTO, "pid %d: another build of the agent answered", (int)l->pid);
	snprintf(l->jdk, sizeof(l->jdk), "%s", hello.text[1]);
	return 0;
}

int sp_link_open(struct sp_link *l, pid_t pid, uint64_t attach_timeout_ns, struct sp_err *err)
{
	int r;

	l->pid = pid;
	l->jdk[0] = '\0';
	l->chan.fd = -1;
	l->chan.n_fds = 0;
	memset(&l->perf, 0, sizeof(l->perf));
	memset(&l->halted, 0, sizeof(l->halted));
	l->patient = false;
	l->sentences = 0;
	l->answer_ns = answer_ns;
	l->memory = NULL;
	r = sp_attach_run(pid, attach_timeout_ns, warn, NULL, &l->chan.fd, err);
	if (r == 0)
		r = read_hello(l, err);
	if (r < 0)
		sp_link_close(l);
	return r;
}

void sp_link_close(struct sp_link *l)
{
	sp_perf_fd_server_done(&l->perf);
	sp_chan_drop_fds(&l->chan);
	if (l->chan.fd >= 0)
		close(l->chan.fd);
	l->chan.fd = -1;
}

int sp_link_exit_code(int error)
{
	switch (-error) {
	case EINVAL:
		return SP_EXIT_USAGE;
	case ESRCH:
	case ENOEXEC:
	case EPERM:
	case EACCES:
	case EAGAIN:
	case ETIMEDOUT:
	case EBUSY:
	case ELIBACC:
	case EREMOTEIO:
	case EROFS:
		return SP_EXIT_TARGET;
	default:
		return SP_EXIT_FAILED;
	}
}
