/* The weight of a sampled object: see alloc_hook.h. No libm: its exp() is newer than the oldest
 * glibc that the agent runs on. */
#include "alloc_hook.h"

/* 1 - exp(-x), by the series at x / 1024 and ten squarings; exact to nine digits. */
static double hit(double x)
{
	double y = x / 1024, e = 1 - y + y * y / 2 - y * y * y / 6 + y * y * y * y / 24;

	for (int i = 0; i < 10; i++)
		e *= e;
	return 1 - e;
}

uint64_t sp_alloc_weight(uint64_t size, uint64_t interval)
{
	double x = (double)size / (double)interval;

	if (x > 30)
		return size;
	/* Near 0 the difference would lose its digits: size / hit → interval + size / 2. */
	if (x < 1e-4)
		return interval + size / 2;
	return (uint64_t)((double)size / hit(x) + 0.5);
}
