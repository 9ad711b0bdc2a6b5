/* Who holds the recording: see recording_owner.h. One lock guards everything; it is held across
 * sp_session_start and _stop. No Java thread waits for it but the main one, in autostart, before
 * there are others. */
#include "recording_owner.h"
#include "base/clock.h"
#include "capture/perf_fd_inbox.h"
#include "jfr/concat.h"
#include "output/segments.h"
#include "recording_claim.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LEAVING_MS 5000

static struct {
	pthread_mutex_t lock;
	uint32_t ended;		    /* futex: bumped when a recording ends */
	struct sp_session *session; /* NULL: nothing records */
	struct sp_recording_owner_seat *holder;
	uint64_t since_ns; /* wall clock, to be shown */
	uint64_t end_ns;   /* monotonic: when it is over by itself; 0: never */
	char who[232], said[256], outputs[4096];
	struct sp_args args;
} g = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* @said has a lock of its own: a session speaks while it starts or stops, under g.lock. */
static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;

static void keep_said(void *ctx, const char *sentence)
{
	struct sp_recording_owner_seat *s = ctx;

	pthread_mutex_lock(&said_lock);
	snprintf(g.said, sizeof(g.said), "%s", sentence);
	pthread_mutex_unlock(&said_lock);
	if (s->say)
		s->say(s->say_ctx, sentence);
}

void sp_recording_owner_seat_init(struct sp_recording_owner_seat *s, sp_say_fn *say, void *ctx)
{
	memset(s, 0, sizeof(*s));
	s->pass_fd = s->beside_fd = -1;
	s->say = say;
	s->say_ctx = ctx;
}

/* Where nothing was started, or that failed. */
void sp_recording_owner_seat_done(struct sp_recording_owner_seat *s)
{
	if (s->beside_fd >= 0)
		close(s->beside_fd);
	s->beside_fd = -1;
}

static void fill_counts(uint64_t *num, const struct sp_counts *c)
{
	num[SP_PROGRESS_SAMPLES] = c->samples;
	num[SP_PROGRESS_LOST] = c->lost;
	num[SP_PROGRESS_TRUNCATED] = c->truncated;
	num[SP_PROGRESS_UNKNOWN] = c->unknown;
	num[SP_PROGRESS_BYTES] = c->bytes;
}

static void reply_failed(struct sp_msg *reply, int code, const struct sp_err *err)
{
	*reply = (struct sp_msg){
		.type = SP_MSG_FAILED, .num = {(uint64_t)-code}, .text = {err->text}};
}

static void busy(struct sp_recording_owner_seat *s, struct sp_msg *reply, uint64_t since_ns)
{
	*reply = (struct sp_msg){.type = SP_MSG_BUSY, .num = {since_ns}, .text = {s->who}};
}

void sp_recording_owner_exclude_self(void)
{
	pthread_mutex_lock(&g.lock);
	if (g.session)
		sp_session_exclude_self(g.session);
	pthread_mutex_unlock(&g.lock);
}

bool sp_recording_owner_active(void)
{
	bool active;

	pthread_mutex_lock(&g.lock);
	active = g.session != NULL;
	pthread_mutex_unlock(&g.lock);
	return active;
}

/* start --loop: files that we name and open ourselves take the place of @*fd. */
static int loop_locked(
	struct sp_recording_owner_seat *s, const struct sp_args *args, int *fd, struct sp_err *err)
{
	struct sp_spark_identity id;
	int first, r;

	if (!args->loop || !args->file[0] || s->segments)
		return 0;
	sp_spark_identity_early(&id);
	r = sp_segments_new(&s->segments, args, &id, &first, err);
	if (r < 0)
		return r;
	close(*fd);
	*fd = first;
	return 0;
}

static void drop_loop_locked(struct sp_recording_owner_seat *s)
{
	if (!s->segments || s->detached)
		return;
	sp_segments_discard(s->segments);
	sp_segments_free(s->segments);
	s->segments = NULL;
}

static int start_locked(struct sp_recording_owner_seat *s, JavaVM *vm, const struct sp_args *args,
	const char *who, const char *outputs, int *out_fd, struct sp_err *err)
{
	int r;

	pthread_mutex_lock(&said_lock);
	g.said[0] = '\0'; /* what the one before had to say */
	pthread_mutex_unlock(&said_lock);
	r = loop_locked(s, args, out_fd, err);
	if (r == 0)
		r = sp_session_start(
			&g.session, vm, args, *out_fd, s->segments, s->launcher, keep_said, s, err);
	if (r < 0) {
		g.session = NULL;
		drop_loop_locked(s);
		sp_recording_claim_release();
		return r;
	}
	g.holder = s;
	g.since_ns = sp_clock_wall_ns();
	g.end_ns = args->timeout_ns ? sp_clock_mono_ns() + args->timeout_ns : 0;
	snprintf(g.who, sizeof(g.who), "%s", who);
	g.args = *args;
	snprintf(g.outputs, sizeof(g.outputs), "%s", outputs);
	s->holds = true;
	return 0;
}

/* Ends the recording, whoever holds it; the holder's thread is woken. */
static int stop_locked(struct sp_counts *ret, struct sp_err *err)
{
	struct sp_session *session = g.session;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = sp_session_stop(session, ret, err);
	g.session = NULL;
	sp_segments_free(g.holder->segments);
	g.holder->segments = NULL;
	g.holder->holds = false;
	sp_recording_owner_seat_done(g.holder);
	g.holder = NULL;
	sp_recording_claim_release();
	__atomic_fetch_add(&g.ended, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &g.ended, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	return r;
}

/* The same where no launcher is there to end it: what that sampled itself is added. */
static void stop_alone_locked(void)
{
	struct sp_counts counts;
	struct sp_err err;
	int beside = g.holder->beside_fd, to = beside < 0 ? -1 : sp_session_dup(g.session), r;

	g.holder->beside_fd = -1;
	stop_locked(&counts, &err);
	if (to >= 0) {
		r = sp_jfr_concat_join(beside, to);
		(void)r; /* nobody is left to hear of it */
		close(to);
	}
	if (beside >= 0)
		close(beside);
}

/* Who holds the recording while its launcher has gone; NULL: nobody. */
static struct sp_recording_owner_seat *orphan_locked(const struct sp_recording_owner_seat *asks)
{
	struct sp_recording_owner_seat *h = g.session ? g.holder : NULL;
	bool may_be = h && h != asks && !h->detached && h->is_gone;

	return may_be && h->is_gone(h->say_ctx) ? h : NULL;
}

/* A launcher that was killed bars nobody: its own thread may not have noticed yet. Nor may it have
 * read that the recording is to go on: that is waited for. */
static void end_abandoned_locked(const struct sp_recording_owner_seat *asks)
{
	struct sp_recording_owner_seat *h = orphan_locked(asks);
	struct timespec ms = {0, 1000000};

	for (int i = 0; i < LEAVING_MS && h && h->leaving; i++) {
		pthread_mutex_unlock(&g.lock);
		nanosleep(&ms, NULL);
		pthread_mutex_lock(&g.lock);
		h = orphan_locked(asks);
	}
	if (h)
		stop_alone_locked();
}

void sp_recording_owner_start(struct sp_recording_owner_seat *s, JavaVM *vm,
	const struct sp_args *args, const char *who, const char *outputs, int out_fd,
	struct sp_msg *reply, struct sp_err *err)
{
	uint64_t since = 0;
	int r;

	pthread_mutex_lock(&g.lock);
	end_abandoned_locked(s);
	*reply = (struct sp_msg){.type = SP_MSG_STARTED};
	if (g.session) {
		snprintf(s->who, sizeof(s->who), "%s", g.who);
		busy(s, reply, g.since_ns);
	} else if (!sp_recording_claim_claim(who, &since, s->who, sizeof(s->who))) {
		busy(s, reply, since);
	} else {
		r = start_locked(s, vm, args, who, outputs, &out_fd, err);
		if (r == 0)
			out_fd = -1;
		else
			reply_failed(reply, r, err);
	}
	pthread_mutex_unlock(&g.lock);
	if (out_fd >= 0)
		close(out_fd);
}

int sp_recording_owner_autostart(struct sp_recording_owner_seat *s, JavaVM *vm,
	const struct sp_args *args, struct sp_segments *segments, int out_fd, struct sp_err *err)
{
	static const char who[] = "the JVM's own option -agentpath";
	struct sp_msg reply;

	s->detached = true;
	s->segments = segments;
	sp_recording_owner_start(s, vm, args, who, "", out_fd, &reply, err);
	if (reply.type != SP_MSG_STARTED)
		s->segments = NULL;
	if (reply.type == SP_MSG_BUSY)
		return sp_err_set(err, -EBUSY, "this JVM is being recorded already, by %s", s->who);
	return reply.type == SP_MSG_STARTED ? 0 : -(int)reply.num[0];
}

static const char *outputs(struct sp_recording_owner_seat *s)
{
	if (g.holder->segments)
		sp_segments_outputs(g.holder->segments, s->outputs, sizeof(s->outputs));
	else
		snprintf(s->outputs, sizeof(s->outputs), "%s", g.outputs);
	return s->outputs;
}

/* A seat that did not start the recording gets a way to read it. */
static void hand_over(struct sp_recording_owner_seat *s, struct sp_msg *reply)
{
	reply->text[0] = outputs(s);
	if (g.holder != s)
		s->pass_fd = sp_session_dup(g.session);
}

void sp_recording_owner_look(struct sp_recording_owner_seat *s)
{
	pthread_mutex_lock(&g.lock);
	if (g.session && g.holder == s && g.end_ns && sp_clock_mono_ns() >= g.end_ns) {
		sp_session_missing(g.session, s->said, sizeof(s->said));
		s->over_code = stop_locked(&s->over_counts, &s->over_err);
		s->over = true;
	}
	pthread_mutex_unlock(&g.lock);
}

static void answer_over(struct sp_recording_owner_seat *s, struct sp_msg *reply, struct sp_err *err)
{
	*reply = (struct sp_msg){.type = SP_MSG_STOPPED, .text = {"", s->said}};
	fill_counts(reply->num, &s->over_counts);
	*err = s->over_err;
	if (s->over_code < 0)
		reply_failed(reply, s->over_code, err);
	s->over = false;
}

void sp_recording_owner_stop(
	struct sp_recording_owner_seat *s, struct sp_msg *reply, struct sp_err *err)
{
	struct sp_counts counts;
	uint64_t since;
	int r;

	if (s->over) {
		answer_over(s, reply, err);
		return;
	}
	pthread_mutex_lock(&g.lock);
	end_abandoned_locked(s);
	*reply = (struct sp_msg){.type = SP_MSG_STOPPED};
	if (g.session && g.holder != s && !g.holder->detached) {
		snprintf(s->who, sizeof(s->who), "%s", g.who);
		busy(s, reply, g.since_ns);
	} else if (g.session) {
		hand_over(s, reply);
		reply->text[1] = sp_session_missing(g.session, s->said, sizeof(s->said));
		r = stop_locked(&counts, err);
		fill_counts(reply->num, &counts);
		if (r < 0)
			reply_failed(reply, r, err);
	} else if (sp_recording_claim_other(&since, s->who, sizeof(s->who))) {
		busy(s, reply, since);
	} else {
		reply_failed(
			reply, -ENOENT, (sp_err_set(err, 0, "nothing is being recorded"), err));
	}
	pthread_mutex_unlock(&g.lock);
}

void sp_recording_owner_flush(
	struct sp_recording_owner_seat *s, struct sp_msg *reply, struct sp_err *err)
{
	struct sp_counts counts;
	int r = -ENOENT;

	pthread_mutex_lock(&g.lock);
	*reply = (struct sp_msg){.type = SP_MSG_FLUSHED};
	if (g.session)
		r = sp_session_flush(g.session, err);
	else
		sp_err_set(err, 0, "nothing is being recorded");
	if (r == 0) {
		hand_over(s, reply);
		reply->text[1] = s->said;
		s->said[0] = '\0';
		if (s->pass_fd >= 0 && g.holder->segments)
			s->more = sp_segments_here(g.holder->segments, s->pass_fd, s->more_fds,
				SP_FLUSHED_PIECES, s->said, sizeof(s->said));
		sp_session_counts(g.session, &counts);
		fill_counts(reply->num, &counts);
	} else {
		reply_failed(reply, r, err);
	}
	pthread_mutex_unlock(&g.lock);
}

void sp_recording_owner_state(
	struct sp_recording_owner_seat *s, struct sp_msg *reply, struct sp_err *err)
{
	struct sp_record_options options;
	struct sp_counts counts;
	uint64_t since = 0;

	*reply = (struct sp_msg){.type = SP_MSG_STATE, .text = {s->who, s->said}};
	s->who[0] = s->said[0] = '\0';
	pthread_mutex_lock(&g.lock);
	if (g.session) {
		sp_session_counts(g.session, &counts);
		fill_counts(reply->num + SP_STATE_PROGRESS, &counts);
		reply->num[0] = 1;
		reply->num[1] = g.holder->detached || g.holder->leaving;
		reply->num[2] = g.since_ns;
		if (g.end_ns)
			reply->num[3] = sp_clock_wall_ns() + g.end_ns - sp_clock_mono_ns();
		reply->text[2] = outputs(s);
		snprintf(s->who, sizeof(s->who), "%s", g.who);
		s->args = g.args;
		sp_args_to_record(&s->args, &options);
		sp_record_options_put(&options, reply);
	} else if (sp_recording_claim_other(&since, s->who, sizeof(s->who))) {
		reply->num[0] = 1;
		reply->num[2] = since;
		snprintf(s->said, sizeof(s->said), "%s", "another build of the agent is recording");
	}
	if (g.session) {
		pthread_mutex_lock(&said_lock);
		snprintf(s->said, sizeof(s->said), "%s", g.said);
		pthread_mutex_unlock(&said_lock);
	}
	pthread_mutex_unlock(&g.lock);
}

void sp_recording_owner_may_detach(
	struct sp_recording_owner_seat *s, struct sp_msg *reply, struct sp_err *err)
{
	s->leaving = sp_recording_owner_holds(s);
	if (s->leaving)
		*reply = (struct sp_msg){.type = SP_MSG_DETACHED};
	else
		reply_failed(
			reply, -ENOENT, (sp_err_set(err, 0, "this launcher records nothing"), err));
}

int sp_recording_owner_detach(struct sp_recording_owner_seat *s)
{
	int r = 0;

	pthread_mutex_lock(&g.lock);
	if (g.session && g.holder == s)
		r = s->detached = true;
	pthread_mutex_unlock(&g.lock);
	return r;
}

void sp_recording_owner_perf(struct sp_recording_owner_seat *s, const struct sp_parcel *parcel)
{
	pthread_mutex_lock(&g.lock);
	if (g.session && g.holder == s)
		sp_session_perf(g.session, parcel);
	else
		sp_parcel_drop(parcel);
	pthread_mutex_unlock(&g.lock);
}

bool sp_recording_owner_progress(struct sp_recording_owner_seat *s, struct sp_msg *ret)
{
	struct sp_counts counts;
	bool mine;

	pthread_mutex_lock(&g.lock);
	mine = g.session && g.holder == s;
	*ret = (struct sp_msg){.type = SP_MSG_PROGRESS};
	if (mine) {
		sp_session_counts(g.session, &counts);
		fill_counts(ret->num, &counts);
		ret->text[0] = sp_session_stages(g.session, s->stages, sizeof(s->stages));
	}
	pthread_mutex_unlock(&g.lock);
	return mine;
}

/* Waits until a command stops the recording or its time is over; true in the second case. A futex
 * and not a condition variable: its relative timeouts follow the monotonic clock, so that a step of
 * the wall clock neither ends a recording nor prolongs it. */
static bool time_over_locked(struct sp_recording_owner_seat *s)
{
	while (g.session && g.holder == s) {
		uint64_t now = sp_clock_mono_ns(), left = g.end_ns - now;
		struct timespec wait = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
		uint32_t seen = __atomic_load_n(&g.ended, __ATOMIC_ACQUIRE);
		bool limited = g.end_ns != 0;

		if (limited && now >= g.end_ns)
			return true;
		pthread_mutex_unlock(&g.lock);
		syscall(SYS_futex, &g.ended, FUTEX_WAIT_PRIVATE, seen, limited ? &wait : NULL, NULL,
			0);
		pthread_mutex_lock(&g.lock);
	}
	return false;
}

void sp_recording_owner_leave(struct sp_recording_owner_seat *s)
{
	pthread_mutex_lock(&g.lock);
	if (g.session && g.holder == s && (!s->detached || time_over_locked(s)))
		stop_alone_locked();
	pthread_mutex_unlock(&g.lock);
}

bool sp_recording_owner_holds(const struct sp_recording_owner_seat *s)
{
	bool held;

	pthread_mutex_lock(&g.lock);
	held = g.session && g.holder == s;
	pthread_mutex_unlock(&g.lock);
	return held;
}

bool sp_recording_owner_end(struct sp_recording_owner_seat *s)
{
	bool held;

	pthread_mutex_lock(&g.lock);
	held = g.session && g.holder == s;
	if (held)
		stop_alone_locked();
	pthread_mutex_unlock(&g.lock);
	return held;
}
