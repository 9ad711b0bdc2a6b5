/* What becomes of one sample or report of a hook: unwound, numbered, written. See
 * collector_internal.h. */
#include "collector_internal.h"

#include "sig/hook_capture.h"

#include <string.h>

/* Unwinds and interns; counts what went wrong. Returns the stack's id or 0. */
static uint32_t stack_of(
	struct sp_collector *c, const struct sp_raw_sample *s, struct sp_stack_facts *ret)
{
	uint32_t stack;

	memset(ret, 0, sizeof(*ret));
	stack = s->given ? sp_sample_stack_given(c->stacks, s->given, ret)
			 : sp_sample_stack_take(c->stacks, s, ret);
	if (!stack)
		return 0;
	sp_collector_count(&c->truncated, ret->cut);
	sp_collector_count(&c->too_deep, ret->too_deep);
	sp_collector_count(&c->unknown, ret->unknown);
	return stack;
}

/* New stacks come by the thousand while an application starts: the next flush may be too late. */
static uint32_t stack_with_room(
	struct sp_collector *c, const struct sp_raw_sample *s, struct sp_stack_facts *ret)
{
	uint32_t stack = sp_event_writer_full(c->record) ? 0 : stack_of(c, s, ret);

	if (stack || c->flush_status < 0 || !sp_event_writer_full(c->record))
		return stack;
	sp_collector_flush_if_due(c);
	return stack_of(c, s, ret);
}

uint32_t sp_collector_thread_at(
	struct sp_collector *c, struct sp_tinfo *t, uint32_t tid, uint64_t time_ns)
{
	char name[SP_THREAD_NAME] = "";
	uint32_t version = t ? sp_threads_name_at(c->capture->threads, t, time_ns, name) : 0;

	return sp_intern_thread(c->intern, t, tid, name, version);
}

/* Whose @s is: the virtual thread on its stack, where that has a name, else its own thread. */
static uint32_t thread_of(
	struct sp_collector *c, const struct sp_raw_sample *s, const struct sp_stack_facts *f)
{
	uint32_t virtual = 0;

	if (s->given)
		virtual = sp_intern_virtual(c->intern, s->given->vthread,
			sp_hook_events_name(s->given), s->given->name_len, s->snap.tid);
	else if (f->continuation)
		virtual = sp_intern_vthread(c->intern, sp_sample_stack_hotspot(c->stacks),
			f->continuation, s->snap.tid);
	return virtual ? virtual
		       : sp_collector_thread_at(c, s->thread, s->snap.tid, s->snap.time_ns);
}

/* Who held the monitor when the wait for it began, by the name that it had then; 0: not known. */
static uint32_t holder_of(struct sp_collector *c, const struct sp_sig_record *rec)
{
	struct sp_tinfo *t = sp_threads_holder(c->capture->threads, rec->arg[3], rec->arg[0]);

	return t ? sp_collector_thread_at(c, t, t->tid, rec->arg[0]) : 0;
}

/* The C library writes thread ids down. */
static uint32_t native_holder_of(struct sp_collector *c, const struct sp_sig_record *rec)
{
	struct sp_tinfo *t = sp_threads_find(c->capture->threads, (uint32_t)rec->arg[3]);

	return t ? sp_collector_thread_at(c, t, t->tid, rec->arg[0]) : 0;
}

/* What a hook reported: its stack as any other, then the event that it is. */
void sp_collector_report(
	struct sp_collector *c, struct sp_raw_sample *s, const struct sp_sig_record *rec)
{
	struct sp_hook_events rs = {.args = c->capture->args,
		.dict = c->dict,
		.record = c->record,
		.live = c->input->live,
		.callers = &c->callers};
	struct sp_stack_facts facts = {0};
	uint32_t stack = 0, thread;

	if (rec->kind != SP_HOOK_FREE && rec->kind != SP_HOOK_WINDOW && s->thread &&
		(s->thread->agent || !atomic_load(&s->thread->sig->wanted))) {
		sp_hook_events_drop(&rs, rec);
		return;
	}
	s->trim = sp_hook_events_trim(rec->kind);
	if (rec->stack_len)
		stack = stack_with_room(c, s, &facts);
	rs.epoch = sp_intern_epoch(c->intern);
	thread = thread_of(c, s, &facts);
	if (rec->kind == SP_HOOK_MONITOR)
		rs.holder = holder_of(c, rec);
	else if (rec->kind == SP_HOOK_NATIVE_LOCK)
		rs.holder = native_holder_of(c, rec);
	if (!thread || (rec->stack_len && !stack) ||
		!sp_hook_events_write(&rs, rec, thread, stack)) {
		sp_hook_events_drop(&rs, rec);
		sp_collector_count(&c->lost[SP_LOSS_MEMORY], 1);
		return;
	}
	if (rec->kind != SP_HOOK_WINDOW)
		atomic_fetch_add_explicit(&c->samples, 1, memory_order_relaxed);
}

/* A timer that came while its thread could not take the signal (a long system call, a tick of the
 * kernel's that is longer than the interval) says how often. */
static void record_cpu(
	struct sp_collector *c, const struct sp_raw_sample *s, uint32_t thread, uint32_t stack)
{
	uint64_t each = c->capture->interval_ns, n = s->weight > each ? s->weight / each : 1;

	for (uint64_t i = n; i-- > 0;)
		sp_event_writer_cpu(c->record, s->snap.time_ns - i * each, thread, stack);
	sp_collector_count(&c->samples, n);
}

void sp_collector_sample(void *ctx, struct sp_raw_sample *s)
{
	struct sp_collector *c = ctx;
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
		sp_collector_count(&c->lost[SP_LOSS_MEMORY], 1);
		return;
	}
	if (facts.continuation)
		c->carrier_ns = s->snap.time_ns;
	s->ret = (struct sp_seen_at){
		stack, facts.continuation ? thread : 0, sp_intern_epoch(c->intern)};
	if (s->wall)
		s->state = sp_intern_state(c->intern, stack, s->state, s->syscall_nr >= 0);
	if (s->wall)
		return; /* its time is written when it is known: record_blocked() */
	/* A thread that came and went between two scans was never known to wall. */
	if (c->wall && s->thread)
		sp_wall_charge_running(c->wall, s);
	if (c->wall && strcmp(c->capture->args->event, "wall") == 0)
		return;
	record_cpu(c, s, thread, stack);
}

static bool record_blocked(void *ctx, struct sp_tinfo *t, const struct sp_seen_at *at,
	enum sp_state state, uint64_t from_ns, uint64_t span_ns, uint32_t looks)
{
	struct sp_collector *c = ctx;
	uint32_t thread;

	if (at->epoch != sp_intern_epoch(c->intern))
		return false;
	thread = at->who ? at->who : sp_collector_thread_at(c, t, t->tid, from_ns);
	if (!thread) {
		sp_collector_count(&c->lost[SP_LOSS_MEMORY], 1);
		return true;
	}
	sp_event_writer_wall(c->record, from_ns, thread, at->stack, state, span_ns, looks);
	/* a sample of wall is an interval, as in reports */
	sp_collector_count(&c->samples, (c->wall_left + span_ns) / c->wall_ns);
	c->wall_left = (c->wall_left + span_ns) % c->wall_ns;
	return true;
}

static uint32_t current_epoch(void *ctx)
{
	struct sp_collector *c = ctx;

	return sp_intern_epoch(c->intern);
}

void sp_collector_set_sink(struct sp_collector *c)
{
	c->capture->sink = (struct sp_sample_sink){.ctx = c,
		.take = sp_collector_sample,
		.blocked = record_blocked,
		.epoch = current_epoch};
}
