/* Keeps hooks from slowing their host: where more events than the quota come in a window, one in 2,
 * 4, 8 … is taken, at random, and represents as many. The factor follows the rate by itself, so
 * sums of what was taken times its factor stay right whatever happens. */
#ifndef SP_AGENT_SIG_RATE_LIMIT_H
#define SP_AGENT_SIG_RATE_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SP_LIMIT_WINDOW_BITS 26 /* nanoseconds of a while: 67 ms */
#define SP_LIMIT_SHIFT_MAX   24
#define SP_LIMIT_FALL	     2 /* how often the factor is halved after a while, at most */

struct sp_rate_limit {
	uint32_t quota;		  /* events taken in a while before the factor grows */
	_Atomic uint32_t shift;	  /* the factor is 1 << shift */
	_Atomic uint32_t peak;	  /* the largest shift of this recording */
	_Atomic uint32_t count;	  /* taken in this while */
	_Atomic uint64_t current; /* number of this while */
};

static inline void sp_rate_limit_init(struct sp_rate_limit *l, uint32_t per_second)
{
	l->quota = (uint32_t)(((uint64_t)per_second << SP_LIMIT_WINDOW_BITS) / 1000000000u);
	atomic_store(&l->shift, 0);
	atomic_store(&l->peak, 0);
	atomic_store(&l->count, 0);
	atomic_store(&l->current, 0);
}

/* A random number, from the cycle counter (splitmix64). */
static inline uint64_t sp_rate_limit_random(void)
{
	uint64_t x = __builtin_ia32_rdtsc() * 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* The factor for the next while, after @n events were taken in one at @shift: as small as they
 * allow, so that what comes after a storm is reported one by one again; not at once, or storms that
 * pause would each be reported in full at their beginning. */
static inline uint32_t sp_rate_limit_fallen(
	const struct sp_rate_limit *l, uint32_t n, uint32_t shift)
{
	for (int i = 0; i < SP_LIMIT_FALL && shift && n < l->quota / 4; i++) {
		n *= 2;
		shift--;
	}
	return shift;
}

/* Begins another while when the last is over; quiet ones let the factor fall. Returns the shift. */
static inline uint32_t sp_rate_limit_turn(struct sp_rate_limit *l, uint64_t now_ns)
{
	uint64_t now = now_ns >> SP_LIMIT_WINDOW_BITS, was = atomic_load(&l->current);

	if (now != was && atomic_compare_exchange_strong(&l->current, &was, now)) {
		uint32_t n = atomic_exchange(&l->count, 0);
		uint32_t shift = atomic_load(&l->shift), to = sp_rate_limit_fallen(l, n, shift);

		/* Nothing at all was taken in those between. */
		for (; to && ++was < now;)
			to = sp_rate_limit_fallen(l, 0, to);
		if (to != shift)
			atomic_compare_exchange_strong(&l->shift, &shift, to);
	}
	return atomic_load_explicit(&l->shift, memory_order_relaxed);
}

/* One was taken: too many in this while double the factor; sooner where the ring is @tight. */
static inline void sp_rate_limit_taken(struct sp_rate_limit *l, bool tight)
{
	uint32_t n = atomic_fetch_add(&l->count, 1) + 1;

	if (n % (tight ? l->quota / 8 + 1 : l->quota) == 0 &&
		atomic_load(&l->shift) < SP_LIMIT_SHIFT_MAX) {
		uint32_t shift = atomic_fetch_add(&l->shift, 1) + 1;

		if (shift > atomic_load(&l->peak))
			atomic_store(&l->peak, shift);
	}
}

/* Whether to take an event. Returns how many it represents; 0: leave it. */
static inline uint64_t sp_rate_limit_pass(struct sp_rate_limit *l, uint64_t now_ns, bool tight)
{
	uint32_t shift = sp_rate_limit_turn(l, now_ns);

	if (shift && (sp_rate_limit_random() & ((1ull << shift) - 1)))
		return 0;
	sp_rate_limit_taken(l, tight);
	return 1ull << shift;
}

#endif
