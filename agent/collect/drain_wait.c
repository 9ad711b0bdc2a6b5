/* When samples may lie for a while. A drain reads the JVM's memory anew, so that many samples in
 * one drain cost little more than one; but names must be read while classes still have them, and
 * stacks while they are as they were. Where nothing new has come for a while there is nothing to
 * look for between drains either: a wake-up costs more than the look that it is for. */
#include "collector_internal.h"

#include "base/clock.h"
#include "capture/sample_ring.h"

#define WAIT_NS	     80000000ull /* rings hold three times as much */
#define INTERVAL_MIN 5000000ull
#define WALL_MIN     40000000ull   /* below it the wall clock's own looks are as many */
#define CARRIER_NS   1000000000ull /* names of virtual threads are read from the heap */
#define CALM_NS	     2000000000ull /* without news, until looks become as rare as drains */

/* Is nothing going on for which stacks and names must be read as soon as may be? */
static bool is_steady(struct sp_collector *c, uint64_t now)
{
	struct sp_capture *p = c->capture;

	return (!c->wall || c->wall_ns >= WALL_MIN) && now > c->begun_ns + CARRIER_NS &&
	       p->interval_ns >= INTERVAL_MIN && now > c->carrier_ns + CARRIER_NS &&
	       c->engine->can_wait &&
	       (!p->ring->base || sp_ring_used(p->ring) <= p->ring->size / 8) &&
	       sp_sample_stack_settled(c->stacks, now);
}

/* With wall a thread's time is charged to its samples as they are read, one or two at a time, and
 * while it lives: not where threads come and go. */
static uint64_t wait_ns(const struct sp_collector *c, uint64_t now)
{
	if (c->wall && now < c->news_ns + CALM_NS)
		return 0;
	return c->wall && c->wall_ns < WAIT_NS ? c->wall_ns : WAIT_NS;
}

bool sp_collector_may_wait(struct sp_collector *c, uint64_t now)
{
	bool steady = is_steady(c, now);

	if (steady && now + WAIT_NS / 8 >= c->drained_ns + wait_ns(c, now))
		return false;
	if (steady && c->engine->can_wait(c->capture))
		return true;
	c->news_ns = now;
	return false;
}

uint64_t sp_collector_rest_ns(struct sp_collector *c)
{
	uint64_t now = sp_clock_mono_ns();
	uint32_t found = sp_threads_found(c->capture->threads);

	if (found != c->found)
		c->news_ns = now;
	c->found = found;
	if (c->capture->args->flush_ns < CALM_NS / 2 || now < c->news_ns + CALM_NS)
		return 0;
	return wait_ns(c, now);
}
