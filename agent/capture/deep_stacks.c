/* See deep_stacks.h. */
#include "deep_stacks.h"

#include "base/clock.h"
#include "options/memory_shares.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS_MAX                                                                   \
	64u /* of a thread in a long system call; later ones add to the last's weight \
	     */

struct sp_deep_record {
	struct sp_deep_record *next;
	uint64_t time_ns, weight, pc, sp;
	uint32_t kernel_count;
	uint64_t kernel[];
};

void sp_deep_stacks_arm(const int *fds, uint32_t n, uint32_t tid)
{
	struct f_owner_ex owner = {F_OWNER_TID, (pid_t)tid};

	for (uint32_t i = 0; i < n; i++) {
		if (fds[i] < 0)
			continue;
		fcntl(fds[i], F_SETSIG, SIGPROF);
		fcntl(fds[i], F_SETOWN_EX, &owner);
		fcntl(fds[i], F_SETFL, O_ASYNC);
	}
}

/* The handler, and the ring that it copies into. */
static bool install(struct sp_deep_stacks *d, struct sp_capture *c)
{
	struct sp_err why = {{0}};
	char text[sizeof(why.text) + 96];

	if (d->installed || d->refused)
		return d->installed;
	if (!c->ring->base)
		c->memory = c->args->memory / SP_SHARE_DEEP;
	d->installed = sp_engine_signal_install(SP_SIG_PERF, c, &why) == 0;
	d->refused = !d->installed;
	if (d->refused) {
		snprintf(text, sizeof(text),
			"perf rings: stacks longer than 60 KB are truncated (%s)", why.text);
		c->say(c->say_ctx, text);
	}
	return d->installed;
}

struct arming {
	uint32_t n;
};

static void arm(void *ctx, struct sp_tinfo *t)
{
	const struct arming *a = ctx;

	atomic_store(&t->sig->perf_fd, SP_SIG_ANY_FD);
	if (t->fds)
		sp_deep_stacks_arm(t->fds, a->n, t->tid);
}

void sp_deep_stacks_renewed(struct sp_tinfo *t, uint32_t n)
{
	struct arming a = {n};

	if (t->deep)
		arm(&a, t);
}

void sp_deep_stacks_begin(
	struct sp_deep_stacks *d, struct sp_capture *c, struct sp_tinfo *t, uint32_t n)
{
	struct arming a = {n};
	struct sp_deep_thread *e;

	if (t->deep || d->over || !install(d, c) || !(e = calloc(1, sizeof(*e))))
		return;
	e->thread = t;
	e->tid = t->tid;
	e->generation = t->generation;
	e->last = &e->first;
	e->next = d->all;
	d->all = e;
	t->deep = e;
	sp_threads_with(c->threads, t, arm, &a);
	e->since_ns = sp_clock_mono_ns();
}

bool sp_deep_stacks_keep(struct sp_deep_stacks *d, const struct sp_raw_sample *s)
{
	struct sp_deep_thread *e = s->thread ? s->thread->deep : NULL;
	struct sp_deep_record *r;
	size_t kernel = s->kernel_count * sizeof(*s->kernel);

	if (!e || s->snap.time_ns <= e->since_ns)
		return false;
	if (e->count == RECORDS_MAX) {
		r = (struct sp_deep_record *)((char *)e->last -
					      offsetof(struct sp_deep_record, next));
		r->weight += s->weight;
		r->time_ns = s->snap.time_ns;
		return true;
	}
	r = malloc(sizeof(*r) + kernel);
	if (!r)
		return false;
	*r = (struct sp_deep_record){.time_ns = s->snap.time_ns,
		.weight = s->weight,
		.pc = s->snap.regs[SP_REG_PC],
		.sp = s->snap.regs[SP_REG_RSP],
		.kernel_count = s->kernel_count};
	memcpy(r->kernel, s->kernel, kernel);
	*e->last = r;
	e->last = &r->next;
	e->count++;
	return true;
}

bool sp_deep_stacks_due(const struct sp_raw_sample *s)
{
	const struct sp_deep_thread *e = s->thread ? s->thread->deep : NULL;

	return !e || (e->first && e->first->time_ns <= s->snap.time_ns);
}

static struct sp_deep_record *pop(struct sp_deep_thread *e)
{
	struct sp_deep_record *r = e->first;

	e->first = r->next;
	if (!e->first)
		e->last = &e->first;
	e->count--;
	return r;
}

static void hand(struct sp_capture *c, struct sp_deep_record *r, struct sp_raw_sample *s)
{
	s->snap.time_ns = r->time_ns;
	s->weight = r->weight;
	s->kernel = r->kernel;
	s->kernel_count = r->kernel_count;
	c->sink.take(c->sink.ctx, s);
	free(r);
}

/* Its signal was lost: no more is known than where the thread was. @t: NULL where it has gone. */
static void hand_cut(
	struct sp_capture *c, struct sp_tinfo *t, uint32_t tid, struct sp_deep_record *r)
{
	struct sp_raw_sample s = {.thread = t, .syscall_nr = -1, .state = SP_STATE_RUNNING};

	s.snap.tid = tid;
	s.snap.known = 1u << SP_REG_PC | 1u << SP_REG_RSP;
	s.snap.regs[SP_REG_PC] = r->pc;
	s.snap.regs[SP_REG_RSP] = s.snap.stack_addr = r->sp;
	s.snap.stack_end = t ? atomic_load(&t->sig->stack_hi) : 0;
	hand(c, r, &s);
}

/* The last record before a signal is its own. Earlier ones are where the thread has not run on
 * since: in a system call, of which one that is begun anew steps back by its two bytes. Of others
 * the signal found no room. */
static bool is_of(const struct sp_deep_record *r, const struct sp_raw_sample *s)
{
	uint64_t back = r->pc - s->snap.regs[SP_REG_PC];

	return !r->next || r->next->time_ns > s->snap.time_ns ||
	       (r->sp == s->snap.regs[SP_REG_RSP] && back <= 2);
}

void sp_deep_stacks_sampled(
	struct sp_deep_stacks *d, struct sp_capture *c, const struct sp_raw_sample *s)
{
	struct sp_deep_thread *e = s->thread ? s->thread->deep : NULL;

	while (e && e->first && e->first->time_ns <= s->snap.time_ns) {
		struct sp_deep_record *r = pop(e);
		struct sp_raw_sample whole = *s;

		r->next = e->first;
		if (is_of(r, s))
			hand(c, r, &whole);
		else
			hand_cut(c, s->thread, e->tid, r);
	}
}

void sp_deep_stacks_settle(struct sp_deep_stacks *d, struct sp_capture *c, bool all)
{
	struct sp_deep_thread *e, **at = &d->all;

	while ((e = *at)) {
		bool gone = e->thread->deep != e || e->thread->generation != e->generation;
		bool ended = e->thread->state != SP_THREAD_LIVE;

		if (!gone && !all && !(ended && e->ended)) {
			e->ended = ended; /* its last records are read until the next time */
			at = &e->next;
			continue;
		}
		*at = e->next;
		while (e->first)
			hand_cut(c, gone ? NULL : e->thread, e->tid, pop(e));
		if (e->thread->deep == e)
			e->thread->deep = NULL;
		free(e);
	}
}
