/* What a sample of ITIMER_PROF weighs. The kernel sends one signal a tick at most, drops those that
 * find one pending, and counts neither; so a sample weighs the CPU time that the process has used
 * since the one before. Cores tick together: samples of one tick share what passed. CPU time of our
 * own threads is not counted. Plain arithmetic; the collector's thread calls it. */
#ifndef SP_AGENT_CAPTURE_ITIMER_WEIGHT_H
#define SP_AGENT_CAPTURE_ITIMER_WEIGHT_H

#include <stdint.h>

struct sp_itimer_weight {
	uint64_t cpu_ns;  /* of the process, up to which samples have been weighed */
	uint64_t own_ns;  /* of our threads, not taken off yet */
	uint64_t each_ns; /* of the samples of the tick in hand */
	uint32_t left;	  /* how many of them are still to come */
};

/* @count samples of one tick follow; the process's clock showed @cpu_ns at the last of them. */
void sp_itimer_weight_tick(struct sp_itimer_weight *w, uint64_t cpu_ns, uint32_t count);

/* Nanoseconds that the next sample of the tick weighs. */
uint64_t sp_itimer_weight_next(struct sp_itimer_weight *w);

/* Intervals that @weight_ns makes together with what was left over in *@rest_ns. */
uint64_t sp_itimer_weight_whole(uint64_t *rest_ns, uint64_t weight_ns, uint64_t interval_ns);

#endif
