/* What the attach child does: see attach_run.h and attach_child.h. It never returns to the
 * launcher's code: sp_attach_child_run reports over its socket and the caller exits. */
#include "attach_child.h"
#include "agent_install.h"
#include "attach.h"
#include "attach_lock.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "target_fs.h"
#include "wire/chan.h"
#include "wire/token_proof.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

bool sp_attach_child_interrupted(void)
{
	return interrupted != 0;
}

int sp_attach_child_sleep(unsigned ms)
{
	if (!interrupted)
		poll(NULL, 0, (int)ms);
	return interrupted ? -EINTR : 0;
}

/* Every signal that ends a launcher only asks the child to tidy up; the launcher's death does too.
 */
static void mind_signals(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	struct sigaction sa = {.sa_handler = on_signal};
	sigset_t none;

	for (size_t i = 0; i < SP_COUNT(ends); i++)
		sigaction(ends[i], &sa, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

struct work {
	struct sp_attach_target *t;
	struct sp_target_fs fs;
	struct sp_attach_lock lock;
	struct sp_agent_install_file library, socket;
	uint64_t deadline_ns;
	const char *who;
	int to;
};

static void report(int to, const struct sp_attach_child_report *r, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {(void *)r, sizeof(*r)};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		struct cmsghdr *cm;

		h.msg_control = control.bytes;
		h.msg_controllen = sizeof(control.bytes);
		cm = CMSG_FIRSTHDR(&h);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cm), &fd, sizeof(int));
	}
	while (sendmsg(to, &h, MSG_NOSIGNAL) < 0 && errno == EINTR) {
	}
}

static void waits_for(void *ctx, const char *holder)
{
	struct work *w = ctx;
	struct sp_attach_child_report r = {0};

	sp_err_set(&r.err, 0, "pid %d: waiting, another sparkprof is attaching: %s", (int)w->t->pid,
		holder);
	report(w->to, &r, -1);
}

/* For good: there is no way back to the old ids, nor to capabilities. */
static int become_target(const struct sp_attach_target *t, struct sp_err *err)
{
	bool same = geteuid() == t->uid && getegid() == t->gid;

	if (geteuid() == 0 && setgroups(0, NULL) < 0 && !(same && errno == EPERM))
		return sp_err_set(err, -errno, "setgroups: %s", strerror(errno));
	if (setresgid(t->gid, t->gid, t->gid) < 0 || setresuid(t->uid, t->uid, t->uid) < 0)
		return sp_err_set(err, -EPERM,
			"pid %d: it runs as uid %u, gid %u, and this is uid %u: run sparkprof as "
			"that "
			"user, or with sudo",
			(int)t->pid, (unsigned)t->uid, (unsigned)t->gid, (unsigned)getuid());
	prctl(PR_SET_PDEATHSIG, SIGTERM); /* cleared by setresuid: so after it */
	return 0;
}

/* A JVM that listens before it is ready to load agents (-EAGAIN) is asked again. */
static int load_once(struct work *w, const char *path, const char *options, struct sp_err *err)
{
	for (;;) {
		SP_AUTO_CLOSE int fd = sp_attach_connect(&w->fs, w->t, w->deadline_ns, err);
		int r = fd < 0 ? fd : sp_attach_load(fd, w->t, path, options, w->deadline_ns, err);

		if (r != -EAGAIN || sp_clock_mono_ns() >= w->deadline_ns)
			return r;
		if (sp_attach_child_sleep(10) < 0)
			return sp_err_set(err, -EINTR, "interrupted");
	}
}

/* A library of this build that is mapped already is entered again; else a new one is put there. */
static int load(struct work *w, const char *options, struct sp_err *err)
{
	int r = -ELIBACC;

	if (sp_agent_install_loaded(&w->fs, &w->library))
		r = load_once(w, w->library.path, options, err);
	if (r != -ELIBACC)
		return r;
	r = sp_agent_install_library(&w->fs, &w->library, err);
	if (r == 0)
		r = load_once(w, w->library.path, options, err);
	sp_agent_install_remove(&w->library);
	return r;
}

/* Accepts until the one comes that is the target and knows the token. */
static int accept_agent(
	struct work *w, int listener, const struct sp_token *token, struct sp_err *err)
{
	for (;;) {
		int r = sp_chan_wait(listener, w->deadline_ns);
		SP_AUTO_CLOSE int fd = -1;
		struct ucred peer;
		socklen_t len = sizeof(peer);

		if (r == -EINTR || interrupted)
			return sp_err_set(err, -EINTR, "interrupted");
		if (r <= 0 || sp_clock_mono_ns() >= w->deadline_ns)
			return sp_attach_late(w->t, "the agent has not reported", err);
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
			peer.uid != w->t->uid || peer.pid != w->t->pid)
			continue;
		if (sp_token_proof_launcher(fd, token, w->deadline_ns) == 0)
			return sp_steal_fd(&fd);
	}
}

static int enter(struct work *w, struct sp_err *err)
{
	char hex[SP_TOKEN_HEX + 1], options[256];
	SP_AUTO_CLOSE int listener = -1;
	struct sp_token token;
	int r = sp_random(&token, sizeof(token));

	if (r < 0)
		return sp_err_set(err, r, "no random numbers: %s", strerror(-r));
	listener = sp_agent_install_socket(&w->fs, w->t->nspid, &w->socket, err);
	if (listener < 0)
		return listener;
	sp_token_format(&token, hex);
	snprintf(options, sizeof(options), "1 %s %s", hex, w->socket.path);
	r = load(w, options, err);
	return r < 0 ? r : accept_agent(w, listener, &token, err);
}

static int work_as_target(struct work *w, struct sp_err *err)
{
	int r;

	sp_target_fs_open_early(&w->fs, w->t);
	r = become_target(w->t, err);
	if (r == 0)
		r = sp_target_fs_open(&w->fs, w->t, err);
	if (r == 0)
		r = sp_attach_lock_take(
			&w->fs, w->t->nspid, w->who, w->deadline_ns, waits_for, w, &w->lock, err);
	return r < 0 ? r : enter(w, err);
}

void sp_attach_child_run(struct sp_attach_target *t, uint64_t deadline_ns, const char *who, int to)
{
	struct work w = {.t = t,
		.fs = {.root = -1, .cwd = -1, .maps = -1},
		.lock = {.fd = -1},
		.library = {.dir = -1, .memory = -1},
		.socket = {.dir = -1, .memory = -1},
		.deadline_ns = deadline_ns,
		.who = who,
		.to = to};
	struct sp_attach_child_report r = {.done = 1};
	int fd;

	mind_signals();
	fd = work_as_target(&w, &r.err);
	sp_agent_install_remove(&w.library);
	sp_agent_install_remove(&w.socket);
	sp_attach_lock_drop(&w.lock);
	r.code = fd < 0 ? fd : 0;
	report(to, &r, fd);
}
