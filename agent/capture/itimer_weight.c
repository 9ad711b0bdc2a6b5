/* See itimer_weight.h. */
#include "itimer_weight.h"

void sp_itimer_weight_tick(struct sp_itimer_weight *w, uint64_t cpu_ns, uint32_t count)
{
	/* Handlers on two cores may read the clock in one order and get their records in another.
	 */
	uint64_t passed = cpu_ns > w->cpu_ns ? cpu_ns - w->cpu_ns : 0;
	uint64_t own = w->own_ns < passed ? w->own_ns : passed;

	w->cpu_ns += passed;
	w->own_ns -= own;
	w->each_ns = count ? (passed - own) / count : 0;
	w->left = count;
}

uint64_t sp_itimer_weight_next(struct sp_itimer_weight *w)
{
	if (!w->left)
		return 0;
	w->left--;
	return w->each_ns;
}

uint64_t sp_itimer_weight_whole(uint64_t *rest_ns, uint64_t weight_ns, uint64_t interval_ns)
{
	uint64_t sum = *rest_ns + weight_ns;

	*rest_ns = sum % interval_ns;
	return sum / interval_ns;
}
