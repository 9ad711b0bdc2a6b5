/* Clocks in nanoseconds. */
#ifndef SP_BASE_CLOCK_H
#define SP_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t sp_clock_read(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* Monotonic: for intervals, and for the time of samples. Async-signal-safe. */
static inline uint64_t sp_clock_mono_ns(void)
{
	return sp_clock_read(CLOCK_MONOTONIC);
}

/* Wall clock since 1970: for what people read and for the head of a recording. */
static inline uint64_t sp_clock_wall_ns(void)
{
	return sp_clock_read(CLOCK_REALTIME);
}

#endif
