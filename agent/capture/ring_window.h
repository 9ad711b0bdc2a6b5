/* How long a window of user stack the records of a ring can have. Pure functions. */
#ifndef SP_AGENT_CAPTURE_RING_WINDOW_H
#define SP_AGENT_CAPTURE_RING_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define SP_RING_USUAL_WINDOW (32u << 10)

/* Samples of its CPU that a ring shall hold, since the collector may have to wait for a core:
 * those of a quarter of a second, but 64 are enough, or 128 where they come faster than that. */
static inline uint64_t sp_ring_samples(bool clock, uint64_t interval_ns)
{
	uint64_t most = clock && interval_ns < 1000000 ? 128 : 64;
	uint64_t quarter = clock ? 250000000 / (interval_ns + 1) + 1 : most;

	return quarter > most ? most : quarter < 16 ? 16 : quarter;
}

/* The window below which nothing is won: a ring of @bytes holds a quarter of a second with it. */
static inline uint64_t sp_ring_ample(uint64_t bytes, bool clock, uint64_t interval_ns)
{
	uint64_t samples = clock ? 256000000 / (interval_ns + 1) + 1 : 1000;
	uint64_t window = bytes / samples;

	return window < SP_RING_USUAL_WINDOW ? window : SP_RING_USUAL_WINDOW;
}

#endif
