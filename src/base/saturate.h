/* Sums and products that stop at INT64_MAX: those that turn over would make a huge profile look
 * like an empty one. Numbers in a file are whatever its writer, or chance, put there. */
#ifndef SP_BASE_SATURATE_H
#define SP_BASE_SATURATE_H

#include <stdint.h>

/* As much of @more as fits on top of @sum. */
static inline uint64_t sp_saturate_fitting(uint64_t sum, uint64_t more)
{
	uint64_t room = sum < INT64_MAX ? INT64_MAX - sum : 0;

	return more < room ? more : room;
}

static inline uint64_t sp_saturate_add(uint64_t a, uint64_t b)
{
	return a > INT64_MAX ? INT64_MAX : a + sp_saturate_fitting(a, b);
}

static inline uint64_t sp_saturate_mul(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_mul_overflow(a, b, &r) || r > INT64_MAX ? INT64_MAX : r;
}

#endif
