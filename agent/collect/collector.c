/* See collector.h. The loop: every tick (at most 20 ms) look for threads, drain the engines, and
 * once a second write metrics and flush. */
#include "collector_in.h"

#include "base/clock.h"
#include "base/signals.h"
#include "hooks.h"
#include "nativemem.h"
#include "pieces.h"
#include "ring.h"
#include "sig/here.h"
#include "slice.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TICK_NS 20000000ull

static void say(struct sp_collector *c, const char *sentence)
{
	if (c->capture->say)
		c->capture->say(c->capture->say_ctx, sentence);
}

static void module_seen(void *ctx, const struct sp_module *m)
{
	struct sp_collector *c = ctx;

	sp_record_module(c->record, m);
}

static int open_all(struct sp_collector *c, struct sp_err *err)
{
	const struct sp_args *a = c->capture->args;
	int r = sp_dict_new(&c->dict, a->memory / 4);

	if (r < 0)
		return sp_err_set(err, r, "out of memory for the dictionary");
	r = sp_stacks_new(&c->stacks, c->capture, c->dict, a->memory / 4, err);
	if (r < 0)
		return r;
	c->intern = sp_stacks_intern(c->stacks);
	sp_intern_on_module(c->intern, module_seen, c);
	r = sp_metrics_new(&c->metrics);
	return r < 0 ? sp_err_set(err, r, "out of memory for the metrics") : 0;
}

int sp_collector_new(
	struct sp_collector **ret, struct sp_capture *capture, int out_fd, struct sp_err *err)
{
	struct sp_collector *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return sp_err_set(err, -ENOMEM, "out of memory");
	c->capture = capture;
	c->out_fd = out_fd;
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->finish_lock, NULL);
	pthread_cond_init(&c->done, NULL);
	r = open_all(c, err);
	if (r < 0) {
		sp_collector_free(c);
		return r;
	}
	capture->collector = c;
	*ret = c;
	return 0;
}

void sp_collector_free(struct sp_collector *c)
{
	if (!c)
		return;
	sp_metrics_free(c->metrics);
	sp_stacks_free(c->stacks);
	sp_dict_free(c->dict);
	pthread_cond_destroy(&c->done);
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->finish_lock);
	free(c);
}

struct sp_hotspot *sp_collector_hotspot(struct sp_collector *c)
{
	return sp_stacks_hotspot(c->stacks);
}

uint32_t sp_collector_epoch(const struct sp_collector *c)
{
	return sp_intern_epoch(c->intern);
}

static void count(_Atomic uint64_t *at, uint64_t n)
{
	if (n)
		atomic_fetch_add_explicit(at, n, memory_order_relaxed);
}

/* Unwinds and interns; counts what went wrong. Returns the stack's id or 0. */
static uint32_t stack_of(
	struct sp_collector *c, const struct sp_sample *s, struct sp_stack_facts *ret)
{
	uint32_t stack;

	memset(ret, 0, sizeof(*ret));
	stack = s->given ? sp_stacks_given(c->stacks, s->given, ret)
			 : sp_stacks_take(c->stacks, s, ret);
	if (!stack)
		return 0;
	count(&c->truncated, ret->cut);
	count(&c->too_deep, ret->too_deep);
	count(&c->unknown, ret->unknown);
	return stack;
}

/* New stacks come by the thousand while an application starts: the next flush may be too late. */
static uint32_t stack_with_room(
	struct sp_collector *c, const struct sp_sample *s, struct sp_stack_facts *ret)
{
	uint32_t stack = sp_record_full(c->record) ? 0 : stack_of(c, s, ret);

	if (stack || c->flush_status < 0 || !sp_record_full(c->record))
		return stack;
	sp_collector_flush_if_due(c);
	return stack_of(c, s, ret);
}

/* The thread as it was called at that time. */
static uint32_t thread_at(
	struct sp_collector *c, struct sp_tinfo *t, uint32_t tid, uint64_t time_ns)
{
	char name[SP_THREAD_NAME] = "";
	uint32_t version = t ? sp_threads_name_at(c->capture->threads, t, time_ns, name) : 0;

	return sp_intern_thread(c->intern, t, tid, name, version);
}

/* Whose @s is: the virtual thread on its stack, where that has a name, else its own thread. */
static uint32_t thread_of(
	struct sp_collector *c, const struct sp_sample *s, const struct sp_stack_facts *f)
{
	uint32_t virtual = 0;

	if (s->given)
		virtual = sp_intern_virtual(c->intern, s->given->vthread, sp_reports_name(s->given),
			s->given->name_len, s->snap.tid);
	else if (f->continuation)
		virtual = sp_intern_vthread(
			c->intern, sp_stacks_hotspot(c->stacks), f->continuation, s->snap.tid);
	return virtual ? virtual : thread_at(c, s->thread, s->snap.tid, s->snap.time_ns);
}

/* Who held the monitor when the wait for it began, by the name that it had then; 0: not known. */
static uint32_t holder_of(struct sp_collector *c, const struct sp_sig_record *rec)
{
	struct sp_tinfo *t = sp_threads_holder(c->capture->threads, rec->arg[3], rec->arg[0]);

	return t ? thread_at(c, t, t->tid, rec->arg[0]) : 0;
}

/* What a hook reported: its stack as any other, then the event that it is. */
static void take_report(
	struct sp_collector *c, struct sp_sample *s, const struct sp_sig_record *rec)
{
	struct sp_reports rs = {.args = c->capture->args,
		.dict = c->dict,
		.record = c->record,
		.live = c->capture->live,
		.callers = &c->callers};
	struct sp_stack_facts facts = {0};
	uint32_t stack = 0, thread;

	if (rec->kind != SP_HERE_FREE && s->thread &&
		(s->thread->agent || !atomic_load(&s->thread->sig->wanted))) {
		sp_reports_drop(&rs, rec);
		return;
	}
	s->trim = sp_reports_trim(rec->kind);
	if (rec->stack_len)
		stack = stack_with_room(c, s, &facts);
	rs.epoch = sp_intern_epoch(c->intern);
	thread = thread_of(c, s, &facts);
	if (rec->kind == SP_HERE_MONITOR)
		rs.holder = holder_of(c, rec);
	if (!thread || (rec->stack_len && !stack) || !sp_reports_write(&rs, rec, thread, stack)) {
		sp_reports_drop(&rs, rec);
		count(&c->lost[SP_LOSS_MEMORY], 1);
		return;
	}
	atomic_fetch_add_explicit(&c->samples, 1, memory_order_relaxed);
}

/* A timer that came while its thread could not take the signal (a long system call, a tick of the
 * kernel's that is longer than the interval) tells how often. */
static void record_cpu(
	struct sp_collector *c, const struct sp_sample *s, uint32_t thread, uint32_t stack)
{
	uint64_t each = c->capture->interval_ns, n = s->weight > each ? s->weight / each : 1;

	for (uint64_t i = n; i-- > 0;)
		sp_record_cpu(c->record, s->snap.time_ns - i * each, thread, stack);
	count(&c->samples, n);
}

void sp_collector_take(struct sp_collector *c, struct sp_sample *s)
{
	struct sp_stack_facts facts;
	uint32_t stack, thread;

	s->ret.stack = 0;
	if (!s->thread)
		s->thread = sp_threads_find(c->capture->threads, s->snap.tid);
	if (s->thread && (s->thread->agent || !atomic_load(&s->thread->sig->wanted)))
		return;
	/* The wall clock's looks are part of a round that a flush would settle. */
	stack = s->wall ? stack_of(c, s, &facts) : stack_with_room(c, s, &facts);
	thread = stack ? thread_of(c, s, &facts) : 0;
	if (!thread) {
		count(&c->lost[SP_LOSS_MEMORY], 1);
		return;
	}
	s->ret = (struct sp_standing){
		stack, facts.continuation ? thread : 0, sp_intern_epoch(c->intern)};
	if (s->wall)
		s->state = sp_intern_state(c->intern, stack, s->state, s->syscall_nr >= 0);
	if (s->wall)
		return; /* its time is written when it is known: sp_collector_stood() */
	/* A thread that came and went between two scans was never known to wall. */
	if (c->wall && s->thread)
		sp_wall_ran(c->wall, s);
	if (c->wall && strcmp(c->capture->args->event, "wall") == 0)
		return;
	record_cpu(c, s, thread, stack);
}

bool sp_collector_stood(struct sp_collector *c, struct sp_tinfo *t, const struct sp_standing *at,
	enum sp_state state, uint64_t from_ns, uint64_t span_ns, uint32_t looks)
{
	uint32_t thread;

	if (at->epoch != sp_intern_epoch(c->intern))
		return false;
	thread = at->who ? at->who : thread_at(c, t, t->tid, from_ns);
	if (!thread) {
		count(&c->lost[SP_LOSS_MEMORY], 1);
		return true;
	}
	sp_record_wall(c->record, from_ns, thread, at->stack, state, span_ns, looks);
	/* a sample of wall is an interval, as in reports */
	count(&c->samples, (c->wall_left + span_ns) / c->wall_ns);
	c->wall_left = (c->wall_left + span_ns) % c->wall_ns;
	return true;
}

/* The handler's records, oldest first, unwound where they lie. */
static void drain_ring(struct sp_collector *c)
{
	struct sp_ring *ring = c->capture->ring;
	struct sp_ring_head *head;

	c->ring_filling = ring->base && sp_ring_used(ring) > ring->size / 8;

	while (ring->base && (head = sp_ring_peek(ring))) {
		struct sp_sig_record *rec = (struct sp_sig_record *)head;
		struct sp_sample s;

		sp_reports_sample(rec, &s);
		s.thread = sp_threads_find(c->capture->threads, rec->tid);
		if (s.thread)
			sp_threads_learn(c->capture->threads, s.thread, rec->regs[SP_REG_RSP]);
		if (rec->kind == SP_HERE_SAMPLE && c->engine->sampled)
			c->engine->sampled(c->capture, &s);
		else if (rec->kind == SP_HERE_SAMPLE)
			sp_collector_take(c, &s);
		else
			take_report(c, &s, rec);
		sp_ring_release(ring, head);
	}
}

static void count_losses(struct sp_collector *c)
{
	struct sp_ring *ring = c->capture->ring;

	count(&c->lost[SP_LOSS_NESTED], atomic_exchange(&sp_sig.reentered, 0));
	if (ring->base)
		count(&c->lost[SP_LOSS_RING], atomic_exchange(&ring->refused, 0));
	count(&c->lost[SP_LOSS_KERNEL], c->capture->lost);
	c->capture->lost = 0;
}

/* What Spark's threads have done since the last look. */
static void drain_tasks(struct sp_collector *c)
{
	struct sp_stage_about about;
	struct sp_task t;

	while (sp_tasks_next(c->capture->tasks, &t)) {
		struct sp_tinfo *info = sp_threads_find(c->capture->threads, t.tid);
		/* Under the name that it had to the end. */
		uint32_t thread = thread_at(c, info, t.tid, t.end_ns - 1);

		if (thread)
			sp_record_task(c->record, &t, thread);
	}
	while (sp_tasks_next_stage(c->capture->tasks, &about))
		sp_record_stage(c->record, &about);
}

static void drain(struct sp_collector *c)
{
	sp_stacks_refresh(c->stacks);
	sp_nativemem_look();
	if (c->engine->drain)
		c->engine->drain(c->capture);
	drain_ring(c);
	drain_tasks(c);
	count_losses(c);
}

static void sleep_until(struct sp_collector *c, uint64_t at_ns, uint32_t seen)
{
	uint64_t now = sp_clock_mono_ns();
	struct timespec left;

	if (now >= at_ns)
		return;
	left.tv_sec = (time_t)((at_ns - now) / 1000000000);
	left.tv_nsec = (long)((at_ns - now) % 1000000000);
	syscall(SYS_futex, &c->wake, FUTEX_WAIT_PRIVATE, seen, &left, NULL, 0);
}

static uint64_t drain_ns(const struct sp_collector *c)
{
	uint64_t i = c->capture->interval_ns;

	/* Short intervals fill rings faster. Of the kernel's we do not know how far. */
	if (c->ring_filling || i < 1000000 || (c->engine->drain && i == 1000000))
		return TICK_NS / 4;
	return TICK_NS;
}

static uint64_t tick_ns(const struct sp_collector *c)
{
	uint64_t ns = drain_ns(c);

	return c->wall && c->wall_ns < ns ? c->wall_ns : ns;
}

/* Many samples at once are cheaper than few at a time; who woke us waits for them. */
static void look(struct sp_collector *c, bool woken)
{
	uint64_t now = sp_clock_mono_ns();

	if (c->wall)
		sp_wall_tick(c->wall);
	if (now < c->next_drain_ns && !woken)
		return;
	c->next_drain_ns = now + drain_ns(c) - tick_ns(c) / 4;
	drain(c);
}

/* The last act: engines off, what they took written, the recording complete. */
static void finish(struct sp_collector *c)
{
	struct sp_counts counts;
	uint64_t bytes, lost = 0;

	sp_hooks_silence(c->capture);
	c->engine->stop(c->capture);
	sp_tasks_close(c->capture->tasks, sp_clock_mono_ns());
	sp_somebody_say(&c->somebody, c->capture);
	drain(c);
	if (sp_tasks_lost(c->capture->tasks))
		say(c, "some of Spark's tasks were more than could be kept: their samples name "
		       "none");
	if (c->capture->live)
		count(&c->samples,
			sp_reports_live(c->capture->live, c->record, c->dict, true, &lost));
	count(&c->lost[SP_LOSS_MEMORY], lost);
	sp_reports_rest(&c->callers, c->record, sp_intern_epoch(c->intern));
	if (c->wall)
		sp_wall_settle(c->wall, true);
	sp_wall_free(c->wall);
	c->wall = NULL;
	if (c->engine->done)
		c->engine->done(c->capture);
	sp_collector_identify(c);
	sp_collector_tell_python(c);
	sp_collector_last_room(c);
	sp_collector_piece_counts(c, &counts);
	bytes = sp_record_bytes(c->record);
	atomic_store(&c->bytes, c->bytes_before + bytes);
	c->finish_status = sp_record_close(c->record, &counts, &c->finish_err);
	c->record = NULL;
	if (c->capture->pieces)
		sp_pieces_finish(c->capture->pieces, bytes, counts.samples);
	pthread_mutex_lock(&c->lock);
	c->finished = true;
	c->flush_done = c->flush_wanted;
	pthread_cond_broadcast(&c->done);
	pthread_mutex_unlock(&c->lock);
}

static void *run(void *arg)
{
	struct sp_collector *c = arg;
	uint64_t next = sp_clock_mono_ns();
	uint32_t before = 0;

	sp_threads_exclude_self(c->capture->threads);
	sp_slice_early();
	while (!atomic_load(&c->stop)) {
		uint32_t seen = atomic_load(&c->wake);
		uint64_t now;

		sp_threads_scan(c->capture->threads, sp_stacks_hotspot(c->stacks), false);
		sp_somebody_look(&c->somebody, c->capture);
		look(c, seen != before);
		before = seen;
		sp_collector_flush_if_due(c);
		now = sp_clock_mono_ns();
		/* A recording that cannot be written is not worth a sample. */
		if (c->flush_status < 0) {
			say(c, c->flush_err.text);
			break;
		}
		if (c->end_ns && now >= c->end_ns)
			break;
		next += tick_ns(c);
		if (next < now)
			next = now + tick_ns(c) / 4; /* late: catch up without spinning */
		sleep_until(c, next, seen);
	}
	finish(c);
	if (c->flush_status < 0 && c->capture->pieces)
		sp_pieces_failed(c->capture->pieces);
	return NULL;
}

static int open_record(struct sp_collector *c, const struct sp_engine *engine, uint64_t wall_ns,
	struct sp_err *err)
{
	const struct sp_args *a = c->capture->args;
	struct sp_counts none = {0};
	int r = sp_record_open(&c->record, a, c->out_fd, c->dict, engine->name,
		c->capture->interval_ns, c->capture->notes, a->memory / 8, err);

	if (r == 0)
		sp_collector_identify(c);
	if (r < 0 || !wall_ns)
		return r;
	c->wall_ns = wall_ns;
	c->wall_left = wall_ns - 1;
	r = sp_wall_start(&c->wall, c->capture, wall_ns, err);
	if (r < 0)
		sp_record_close(c->record, &none, NULL);
	return r;
}

int sp_collector_start(struct sp_collector *c, const struct sp_engine *engine, uint64_t wall_ns,
	struct sp_err *err)
{
	const struct sp_args *a = c->capture->args;
	sigset_t all, old;
	int r = open_record(c, engine, wall_ns, err);

	if (r < 0)
		return r;
	c->engine = engine;
	c->next_flush_ns = sp_clock_mono_ns() + a->flush_ns;
	c->end_ns = a->timeout_ns ? sp_clock_mono_ns() + a->timeout_ns : 0;
	sp_signals_from_elsewhere(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = -pthread_create(&c->thread, NULL, run, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r < 0) {
		struct sp_counts none = {0};

		sp_record_close(c->record, &none, NULL);
		sp_wall_free(c->wall);
		c->wall = NULL;
		return sp_err_set(err, r, "cannot start a thread in the target: %s", strerror(-r));
	}
	pthread_setname_np(c->thread, "sparkprof");
	c->started = true;
	return 0;
}
