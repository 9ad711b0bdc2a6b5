/* The control thread: see control.h. Connects, proves the token, answers until the socket closes.
 * What it serves (probe, recording) lives in src/probe/probe.c, recording_owner.c. */
#include "control.h"
#include "autostart.h"
#include "base/build_id.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "capture/perf_fd_inbox.h"
#include "child_memory.h"
#include "host/own_thread.h"
#include "probe/probe.h"
#include "recording_owner.h"
#include "vm/lock_owners.h"
#include "wire/chan.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { MS = 1000000 };
static const uint64_t handshake_ns = 10000ull * MS, send_ns = 2000ull * MS;
static const uint64_t progress_ns = 250ull * MS;

/* All that a connection needs, in one mapping that goes with it. */
struct control {
	struct sp_control_call call;
	struct sp_chan chan;
	pthread_mutex_t open; /* held while the collector sends, and while the socket goes */
	struct sp_recording_owner_seat seat; /* this connection's claim on the recording */
	bool detaching;			     /* the launcher has asked, and has yet to confirm */
	struct sp_perf_source launcher;
	struct sp_parcel parcel;
	struct sp_chan inner; /* the same socket: a question while a request is served, with texts
			       * that are in @chan */
};

int sp_control_parse(const char *options, struct sp_control_call *ret)
{
	struct sp_control_call call = *ret;
	size_t len;

	if (strncmp(options, "1 ", 2) != 0 || strlen(options) < 2 + SP_TOKEN_HEX + 2 ||
		sp_token_parse(options + 2, SP_TOKEN_HEX, &call.token) < 0 ||
		options[2 + SP_TOKEN_HEX] != ' ')
		return -EINVAL;
	options += 2 + SP_TOKEN_HEX + 1;
	len = strlen(options);
	if (len > SP_CONTROL_PATH_MAX)
		return -EINVAL;
	memcpy(call.path, options, len + 1);
	*ret = call;
	return 0;
}

/* Only a socket of our own user, whose listener is our own user (the launcher's door child has
 * taken our uid before it listened), is spoken to. */
static int connect_door(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	SP_AUTO_CLOSE int fd = -1;
	struct ucred peer;
	socklen_t len = sizeof(peer);
	struct stat st;

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (lstat(path, &st) < 0)
		return -errno;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return -EPERM;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return -errno;
	if (peer.uid != geteuid())
		return -EPERM;
	return sp_steal_fd(&fd);
}

static int send_msg(struct control *c, const struct sp_msg *m)
{
	return sp_chan_send(&c->chan, m, NULL, 0, sp_clock_mono_ns() + send_ns);
}

/* A reply, with the descriptors of the recording where the seat has one to pass. */
static int send_reply(struct control *c, const struct sp_msg *m)
{
	int fds[1 + SP_FLUSHED_PIECES], n = 0, r;

	if (c->seat.pass_fd < 0)
		return send_msg(c, m);
	fds[n++] = c->seat.pass_fd;
	for (size_t i = 0; i < c->seat.more; i++)
		fds[n++] = c->seat.more_fds[i];
	c->seat.pass_fd = -1;
	c->seat.more = 0;
	r = m->type == SP_MSG_FAILED
		    ? send_msg(c, m)
		    : sp_chan_send(&c->chan, m, fds, n, sp_clock_mono_ns() + send_ns);
	while (n)
		close(fds[--n]);
	return r;
}

extern const char __ehdr_start[] __attribute__((visibility("hidden"))); /* by the linker */

static int hello(struct control *c)
{
	char id[SP_BUILD_ID_HEX + 1];
	struct sp_msg m = {.type = SP_MSG_HELLO,
		.num = {(uint64_t)getpid(), geteuid(), sp_recording_owner_active()},
		.text = {id, c->call.jdk, SP_VERSION}};

	sp_build_id(__ehdr_start, id);
	return send_msg(c, &m);
}

static int send_row(void *ctx, const struct sp_probe_row *row)
{
	struct sp_msg m = {.type = SP_MSG_ROW,
		.num = {row->group, row->state},
		.text = {row->name, row->note}};

	return send_msg(ctx, &m);
}

static int probe(struct control *c)
{
	int r = sp_probe_run(send_row, c);

	return r < 0 ? r : send_msg(c, &(struct sp_msg){.type = SP_MSG_PROBED});
}

/* Takes the perf events out of a message; anything else among them is refused, and closed. */
static int take_parcel(struct sp_chan *from, const struct sp_msg *m, struct sp_parcel *ret)
{
	for (int i = 0; i < from->n_fds; i++)
		if (sp_chan_check_perf(from->fds[i]) < 0) {
			sp_chan_drop_fds(from);
			return -EPERM;
		}
	if (m->num[4]) /* an error brings nothing with it */
		sp_chan_drop_fds(from);
	*ret = (struct sp_parcel){.tid = (uint32_t)m->num[0],
		.ticket = (uint32_t)m->num[1],
		.outer_pid = (uint32_t)m->num[2],
		.outer_tid = (uint32_t)m->num[3],
		.error = m->num[4] < 4096 ? (int)m->num[4] : EIO,
		.n = (uint32_t)from->n_fds};
	memcpy(ret->fds, from->fds, sizeof(int) * (size_t)from->n_fds);
	from->n_fds = 0;
	return 0;
}

/* The launcher waits for the answer to its START and serves this meanwhile. */
static int ask_rings(void *ctx, struct sp_parcel *ret)
{
	struct control *c = ctx;
	struct sp_msg m;
	int r = send_msg(c, &(struct sp_msg){.type = SP_MSG_PERF_WANTED});

	c->inner.fd = c->chan.fd;
	if (r == 0)
		r = sp_chan_recv(&c->inner, &m, sp_clock_mono_ns() + send_ns);
	if (r == 0 && m.type != SP_MSG_PERF)
		r = -EBADMSG;
	if (r == 0)
		r = take_parcel(&c->inner, &m, ret);
	sp_chan_drop_fds(&c->inner);
	return r;
}

/* Sends from the collector, which outlives the socket after DETACH: by then its number may be a
 * descriptor of the host. */
static int send_aside(struct control *c, const struct sp_msg *m, uint64_t deadline_ns)
{
	int r;

	pthread_mutex_lock(&c->open);
	r = c->chan.fd < 0 ? -ENOTCONN : sp_chan_send(&c->chan, m, NULL, 0, deadline_ns);
	pthread_mutex_unlock(&c->open);
	return r;
}

static void close_socket(struct control *c)
{
	pthread_mutex_lock(&c->open);
	close(c->chan.fd);
	c->chan.fd = -1;
	pthread_mutex_unlock(&c->open);
}

/* From the collector: never waits. */
static int ask_thread(
	void *ctx, uint32_t tid, uint32_t ticket, uint32_t window, uint64_t interval_ns)
{
	struct control *c = ctx;
	struct sp_msg m = {.type = SP_MSG_PERF_WANTED, .num = {tid, ticket, window, interval_ns}};

	return send_aside(c, &m, 1);
}

/* From the thread that samples Python: never waits. */
static int tell_refused(void *ctx, uint32_t pid)
{
	struct sp_msg m = {.type = SP_MSG_PYTHON_REFUSED, .num = {pid}};

	return send_aside(ctx, &m, 1);
}

/* No request either: the launcher goes on meanwhile. */
static int open_memory(struct control *c, const struct sp_msg *m)
{
	SP_AUTO_CLOSE int fd = m->num[0] <= INT32_MAX ? sp_child_memory((pid_t)m->num[0]) : -ESRCH;
	struct sp_msg answer = {
		.type = SP_MSG_MEMORY, .num = {m->num[0], fd < 0 ? (uint64_t)-fd : 0}};

	return sp_chan_send(&c->chan, &answer, &fd, fd >= 0, sp_clock_mono_ns() + send_ns);
}

/* Who holds the locks that threads wait for. */
static void find_owners(struct control *c, struct sp_msg *reply, struct sp_err *err)
{
	const char *text;
	int r = sp_lock_owners(c->call.vm, sp_recording_owner_exclude_self, &text);

	*reply = (struct sp_msg){.type = SP_MSG_OWNERS, .text = {text}};
	if (r == 0)
		return;
	sp_err_set(err, r,
		r == -ENOTSUP ? "the JVM has no module java.management"
			      : "the JVM did not answer in 3 s");
	*reply = (struct sp_msg){SP_MSG_FAILED, {(uint64_t)-r}, {err->text}};
}

/* Takes the output out of the message, and what the launcher samples into itself; every other
 * descriptor is closed. */
static int take_output(struct control *c, struct sp_msg *reply, struct sp_err *err)
{
	bool good = c->chan.n_fds == 1 || c->chan.n_fds == 2;
	int fd;

	for (int i = 0; good && i < c->chan.n_fds; i++)
		good = sp_chan_check_output(c->chan.fds[i]) == 0;
	if (!good || c->seat.beside_fd >= 0) {
		sp_chan_drop_fds(&c->chan);
		sp_err_set(err, 0, "the output is not a file or pipe open for writing");
		*reply = (struct sp_msg){SP_MSG_FAILED, {EPERM}, {err->text}};
		return -EPERM;
	}
	fd = c->chan.fds[0];
	c->seat.beside_fd = c->chan.n_fds == 2 ? c->chan.fds[1] : -1;
	c->launcher.refused = c->chan.n_fds == 2 ? tell_refused : NULL;
	c->chan.n_fds = 0;
	return fd;
}

static void start(
	struct control *c, const struct sp_msg *m, struct sp_msg *reply, struct sp_err *err)
{
	struct sp_record_options options;
	struct sp_args args;
	int r, fd = take_output(c, reply, err);

	if (fd < 0)
		return;
	sp_record_options_get(m, &options);
	r = sp_args_from_record(&args, &options, err);
	if (r == 0) {
		sp_recording_owner_start(
			&c->seat, c->call.vm, &args, m->text[0], m->text[1], fd, reply, err);
	} else {
		*reply = (struct sp_msg){SP_MSG_FAILED, {(uint64_t)-r}, {err->text}};
		close(fd);
	}
	if (reply->type != SP_MSG_STARTED)
		sp_recording_owner_seat_done(&c->seat);
}

/* Serves one request. Returns 0 to go on, 1 when the thread may leave the socket, -errno to close.
 */
static int serve(struct control *c, const struct sp_msg *m)
{
	struct sp_msg reply = {.type = SP_MSG_FAILED};
	struct sp_err err = {""};
	int fd;

	switch (m->type) {
	case SP_MSG_PROBE:
		return probe(c);
	case SP_MSG_START:
		start(c, m, &reply, &err);
		break;
	case SP_MSG_STOP:
		sp_recording_owner_stop(&c->seat, &reply, &err);
		if (reply.type == SP_MSG_STOPPED)
			sp_autostart_forget(); /* the launcher has it now */
		break;
	case SP_MSG_FLUSH:
		sp_recording_owner_flush(&c->seat, &reply, &err);
		break;
	case SP_MSG_STATUS:
		sp_recording_owner_state(&c->seat, &reply, &err);
		break;
	case SP_MSG_PERF: /* no request: an answer */
		fd = take_parcel(&c->chan, m, &c->parcel);
		if (fd == 0)
			sp_recording_owner_perf(&c->seat, &c->parcel);
		return fd;
	case SP_MSG_MEMORY_WANTED:
		return open_memory(c, m);
	case SP_MSG_OWNERS_WANTED:
		find_owners(c, &reply, &err);
		break;
	case SP_MSG_DETACH:
		if (c->detaching)
			return sp_recording_owner_detach(&c->seat);
		sp_recording_owner_may_detach(&c->seat, &reply, &err);
		c->detaching = reply.type == SP_MSG_DETACHED;
		break;
	default:
		return -EBADMSG;
	}
	return send_reply(c, &reply);
}

/* How far the recording of this connection is. A launcher that is stopped does not read: it is not
 * waited for, and its recording ends by its own clock. */
static int tell_progress(struct control *c)
{
	struct sp_msg progress;
	int r;

	sp_recording_owner_look(&c->seat);
	if (!sp_recording_owner_progress(&c->seat, &progress))
		return 0;
	r = sp_chan_send(&c->chan, &progress, NULL, 0, 1);
	return r == -ETIMEDOUT ? 0 : r;
}

/* Until the launcher leaves. While this connection records, its counts go out four times a second.
 */
static void serve_all(struct control *c)
{
	struct sp_msg m;
	int r = hello(c);

	while (r == 0) {
		uint64_t deadline = c->seat.holds ? sp_clock_mono_ns() + progress_ns : 0;

		r = sp_chan_wait(c->chan.fd, deadline);
		if (r == 0) {
			r = tell_progress(c);
			continue;
		}
		if (r > 0 && (r = sp_chan_recv(&c->chan, &m, sp_clock_mono_ns() + send_ns)) == 0)
			r = serve(c, &m);
	}
	sp_chan_drop_fds(&c->chan);
}

/* A log line for the launcher; called by the session from the control thread or the collector. One
 * packet is one send, so two threads do not mix their bytes. */
static void send_log(void *ctx, const char *sentence)
{
	struct control *c = ctx;
	struct sp_msg m = {.type = SP_MSG_LOG, .text = {sentence}};

	(void)send_aside(c, &m, sp_clock_mono_ns() + send_ns);
}

/* From another connection's thread. */
static bool is_gone(void *ctx)
{
	struct control *c = ctx;
	bool gone;

	pthread_mutex_lock(&c->open);
	gone = c->chan.fd < 0;
	if (!gone) {
		struct pollfd p = {.fd = c->chan.fd, .events = POLLRDHUP};

		gone = poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLRDHUP | POLLERR);
	}
	pthread_mutex_unlock(&c->open);
	return gone;
}

static void *control_main(void *arg)
{
	struct control *c = arg;
	uint64_t deadline = sp_clock_mono_ns() + handshake_ns;
	int fd;

	fd = connect_door(c->call.path);
	if (fd >= 0 && sp_token_proof_agent(fd, &c->call.token, deadline) == 0) {
		c->chan.fd = fd;
		sp_recording_owner_seat_init(&c->seat, send_log, c);
		c->launcher = (struct sp_perf_source){c, ask_rings, ask_thread, NULL};
		c->seat.launcher = &c->launcher;
		c->seat.is_gone = is_gone;
		serve_all(c);
		if (!c->seat.detached) /* while the collector may still write to the socket */
			sp_recording_owner_leave(&c->seat);
		close_socket(c);
		fd = -1;
		sp_recording_owner_leave(&c->seat);
		sp_recording_owner_seat_done(&c->seat);
	}
	if (fd >= 0)
		close(fd);
	munmap(c, sizeof(*c));
	return NULL;
}

int sp_control_start(const struct sp_control_call *call)
{
	struct control *c =
		mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r;

	if (c == MAP_FAILED)
		return -errno;
	c->call = *call;
	c->chan.fd = -1;
	pthread_mutex_init(&c->open, NULL);
	r = sp_own_thread_start_alone("sparkprof", SP_STACK_PLAIN, control_main, c);
	if (r < 0)
		munmap(c, sizeof(*c));
	return r;
}
