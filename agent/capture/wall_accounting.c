/* See wall_accounting.h. */
#include "wall_accounting.h"

#define REMEMBERED 256 /* waits of a kind: older ones count less and less */

static uint64_t grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static uint64_t at_most(uint64_t n, uint64_t max)
{
	return n < max ? n : max;
}

/* Of the wait that the kernel has booked, what was not taken for one before. */
static uint64_t booked(struct sp_wall_accounting *b, uint64_t ns)
{
	uint64_t known = at_most(ns, b->ahead_ns);

	b->ahead_ns -= known;
	return ns - known;
}

void sp_wall_accounting_close(
	struct sp_wall_accounting *b, const struct sp_wall_reading *r, struct sp_wall_window *ret)
{
	/* Blocked time before the last look is in doubt as well: a thread that was woken and waits
	 * for a CPU looks the same until the kernel books the wait. */
	uint64_t elapsed = r->now_ns - b->look_ns + r->before_ns;

	*ret = (struct sp_wall_window){.blocked_before = b->blocked};
	ret->ran = at_most(grown(r->cpu_ns, b->cpu_ns), elapsed);
	ret->delay = at_most(booked(b, grown(r->delay_ns, b->delay_ns)), elapsed - ret->ran);
	ret->blocked = elapsed - ret->ran - ret->delay;
	if (r->waits_ns) {
		uint64_t waits = at_most(r->waits_ns, ret->blocked);

		b->ahead_ns += waits;
		ret->delay += waits;
		ret->blocked -= waits;
	}
	ret->arrivals = grown(r->arrivals, b->arrivals);
	ret->wakes = b->blocked && ret->arrivals ? 1 : 0;
	ret->preempts = ret->arrivals - ret->wakes;
	ret->contended = ret->delay >= elapsed / 64;
	b->look_ns = r->now_ns;
	b->cpu_ns = r->cpu_ns;
	b->delay_ns = r->delay_ns;
	b->arrivals = r->arrivals;
	b->blocked = r->is_blocked;
}

void sp_wall_accounting_wakes(
	struct sp_wall_accounting *b, struct sp_wall_window *v, uint64_t blocks, bool is_blocked)
{
	/* Each block begins with a voluntary switch; those that ended, ended with a wake.
	 */
	uint64_t begun = b->blocks ? grown(blocks, b->blocks) : is_blocked;

	b->blocks = blocks;
	v->wakes = at_most(grown(begun + v->blocked_before, is_blocked), v->arrivals);
	v->preempts = v->arrivals - v->wakes;
}

void sp_wall_waits_init(struct sp_wall_waits *k)
{
	*k = (struct sp_wall_waits){1e6, 1, 1e6, 1};
}

uint64_t sp_wall_waits_guess(const struct sp_wall_waits *k)
{
	return (uint64_t)(k->preempted_ns / k->preempted);
}

static void add_to_mean(double *sum, double *count, uint64_t ns, uint64_t n)
{
	*sum += (double)ns;
	*count += (double)n;
	if (*count > REMEMBERED) {
		*sum /= 2;
		*count /= 2;
	}
}

uint64_t sp_wall_waits_woken(struct sp_wall_waits *k, const struct sp_wall_window *v)
{
	double wake, preempt;

	if (!v->wakes && (v->preempts || !v->blocked_before)) {
		add_to_mean(&k->preempted_ns, &k->preempted, v->delay, v->preempts);
		return 0;
	}
	if (!v->preempts) {
		add_to_mean(&k->woken_ns, &k->woken, v->delay, v->wakes);
		return v->delay;
	}
	wake = (double)v->wakes * k->woken_ns / k->woken;
	preempt = (double)v->preempts * k->preempted_ns / k->preempted;
	return (uint64_t)((double)v->delay * wake / (wake + preempt));
}
