/* CPU time of the agent's own threads, for who weighs samples by the process's clock. */
#include "threads_internal.h"

#include "base/clock.h"

/* The kernel's encoding of another thread's CPU clock (include/linux/posix-timers_types.h). */
static uint64_t cpu_ns(uint32_t tid)
{
	return sp_clock_read((clockid_t)(~tid << 3 | 6));
}

uint64_t sp_threads_own_cpu(struct sp_threads *ts)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < ts->used; i++) {
		struct sp_tinfo *t = &ts->infos[i];
		uint64_t now;

		if (!t->agent || t->state != SP_THREAD_LIVE)
			continue;
		now = cpu_ns(t->tid);
		if (now > t->own_cpu_ns) {
			sum += now - t->own_cpu_ns;
			t->own_cpu_ns = now;
		}
	}
	return sum;
}
