/* What a wait represents: long ones themselves, short ones are taken with the probability of
 * their length and represent the shortest that is always reported. */
#ifndef SP_AGENT_HOOKS_WAIT_WEIGHT_H
#define SP_AGENT_HOOKS_WAIT_WEIGHT_H

#include "sig/hook_capture.h"
#include "sig/rate_limit.h"

/* Nanoseconds that a wait of @took_ns represents where waits of @ns are reported; 0: leave it out.
 */
static inline uint64_t sp_wait_weight(
	struct sp_rate_limit *l, uint64_t ns, uint64_t took_ns, uint64_t now_ns)
{
	uint32_t shift = sp_rate_limit_turn(l, now_ns);
	uint64_t unit = shift ? (ns > 1000 ? ns : 1000) << shift : ns;

	if (took_ns < unit && sp_rate_limit_random() % unit >= took_ns)
		return 0;
	sp_rate_limit_taken(l, sp_hook_capture_tight());
	return took_ns < unit ? unit : took_ns;
}

#endif
