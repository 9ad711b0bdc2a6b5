/* When samples may lie for a while. A drain reads the JVM's memory anew, so that many samples in
 * one drain cost little more than one; but names must be read while classes still have them, and
 * stacks while they are as they were. */
#include "collector_internal.h"

#include "capture/sample_ring.h"

#define WAIT_NS	     80000000ull /* rings hold three times as much */
#define INTERVAL_MIN 5000000ull
#define CARRIER_NS   1000000000ull /* names of virtual threads are read from the heap */

bool sp_collector_may_wait(struct sp_collector *c, uint64_t now)
{
	struct sp_capture *p = c->capture;

	return !c->wall && p->interval_ns >= INTERVAL_MIN && now < c->drained_ns + WAIT_NS &&
	       now > c->carrier_ns + CARRIER_NS && c->engine->can_wait && c->engine->can_wait(p) &&
	       (!p->ring->base || sp_ring_used(p->ring) <= p->ring->size / 8) &&
	       sp_sample_stack_settled(c->stacks, now);
}
