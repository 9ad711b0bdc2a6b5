/* The collector's inner part: takes samples from the engines and the byte ring, unwinds and interns
 * them and hands them to the recording. On the collector's thread only. */
#include "collector_state.h"

#include "intern.h"
#include "record.h"
#include "ring.h"
#include "wall.h"

#include <string.h>

/* Unwinds and interns; counts what went wrong. Returns the stack's id or 0. */
static uint32_t stack_of(struct sp_collector *c, const struct sp_sample *s)
{
	struct sp_unwind_result u;
	uint32_t unknown = 0, stack;
	bool cut;

	sp_unwind(c->unwinder, &s->snap, c->frames, c->capture->args->depth, &u);
	cut = u.status == SP_UNWIND_TRUNCATED || u.status == SP_UNWIND_DEPTH_CAP;
	stack = sp_intern_stack(
		c->intern, s->kernel, s->kernel_count, c->frames, u.count, cut, &unknown);
	if (!stack)
		return 0;
	if (cut)
		atomic_fetch_add_explicit(&c->truncated, 1, memory_order_relaxed);
	if (unknown || u.unknown || u.status == SP_UNWIND_BROKEN)
		atomic_fetch_add_explicit(&c->unknown, 1, memory_order_relaxed);
	return stack;
}

void sp_collector_take(struct sp_collector *c, struct sp_sample *s)
{
	uint32_t stack, thread;

	s->ret_stack = 0;
	if (!s->thread)
		s->thread = sp_threads_find(c->capture->threads, s->snap.tid);
	if (s->thread && (s->thread->agent || !atomic_load(&s->thread->sig->wanted)))
		return;
	stack = stack_of(c, s);
	thread = stack ? sp_intern_thread(c->intern, s->thread, s->snap.tid) : 0;
	if (!thread) {
		atomic_fetch_add_explicit(&c->lost, 1, memory_order_relaxed);
		return;
	}
	s->ret_stack = stack;
	s->ret_epoch = sp_intern_epoch(c->intern);
	if (s->state == SP_STATE_LOCK && sp_intern_is_sleep(c->intern, stack))
		s->state = SP_STATE_SLEEP;
	if (s->wall)
		return; /* its time is written when it is known: sp_collector_stood() */
	if (c->wall)
		sp_wall_ran(c->wall, s->thread, s->snap.time_ns, stack, s->ret_epoch);
	if (c->wall && strcmp(c->capture->args->event, "wall") == 0)
		return;
	sp_record_cpu(c->record, s->snap.time_ns, thread, stack, s->state, s->weight);
	atomic_fetch_add_explicit(&c->samples, 1, memory_order_relaxed);
}

bool sp_collector_stood(struct sp_collector *c, struct sp_tinfo *t, uint32_t stack, uint32_t epoch,
	enum sp_state state, uint64_t from_ns, uint64_t span_ns, uint32_t looks)
{
	uint32_t thread;

	if (epoch != sp_intern_epoch(c->intern))
		return false;
	thread = sp_intern_thread(c->intern, t, t->tid);
	if (!thread) {
		atomic_fetch_add_explicit(&c->lost, 1, memory_order_relaxed);
		return true;
	}
	sp_record_wall(c->record, from_ns, thread, stack, state, span_ns, looks);
	atomic_fetch_add_explicit(&c->samples, 1, memory_order_relaxed);
	return true;
}

/* The handler's records, oldest first, unwound where they lie. */
static void drain_ring(struct sp_collector *c)
{
	struct sp_ring *ring = c->capture->ring;
	struct sp_ring_head *head;

	while (ring->base && (head = sp_ring_peek(ring))) {
		struct sp_sig_record *rec = (struct sp_sig_record *)head;
		struct sp_sample s = {
			.weight = rec->weight, .state = SP_STATE_RUNNING, .syscall_nr = -1};

		s.snap.tid = rec->tid;
		s.snap.known = SP_REG_ALL;
		s.snap.time_ns = rec->time_ns;
		memcpy(s.snap.regs, rec->regs, sizeof(rec->regs));
		s.snap.anchor = rec->anchor;
		s.snap.stack_addr = rec->stack_addr;
		s.snap.stack_end = rec->stack_end;
		s.snap.stack_len = rec->stack_len;
		s.snap.stack = rec->stack;
		s.thread = sp_threads_find(c->capture->threads, rec->tid);
		if (s.thread)
			sp_threads_learn(c->capture->threads, s.thread, rec->regs[SP_REG_RSP]);
		sp_collector_take(c, &s);
		sp_ring_release(ring, head);
	}
}

static void count_losses(struct sp_collector *c)
{
	struct sp_ring *ring = c->capture->ring;
	uint64_t n = atomic_exchange(&sp_sig.reentered, 0) + c->capture->lost;

	if (ring->base)
		n += atomic_exchange(&ring->refused, 0);
	c->capture->lost = 0;
	if (n)
		atomic_fetch_add_explicit(&c->lost, n, memory_order_relaxed);
}

void sp_collector_drain(struct sp_collector *c)
{
	sp_mem_live_refresh(c->live);
	sp_modules_refresh(c->modules, false);
	if (c->wall)
		sp_wall_tick(c->wall);
	if (c->engine->drain)
		c->engine->drain(c->capture);
	drain_ring(c);
	count_losses(c);
}
