/* A cursor over foreign bytes: reads by windows through sp_mem, fails for good at the first byte
 * outside [at, end). Callers read freely and ask failed once. */
#ifndef SP_UNWIND_BYTES_H
#define SP_UNWIND_BYTES_H

#include "unwind/mem.h"

#include <string.h>

#define SP_BYTES_WINDOW 64u

struct sp_bytes {
	const struct sp_mem *mem;
	uint64_t at, end;
	uint64_t win; /* address of window[0] */
	uint32_t win_len;
	bool failed;
	uint8_t window[SP_BYTES_WINDOW];
};

static inline void sp_bytes_init(
	struct sp_bytes *b, const struct sp_mem *mem, uint64_t at, uint64_t end)
{
	b->mem = mem;
	b->at = at;
	b->end = end;
	b->win = 0;
	b->win_len = 0;
	b->failed = end < at;
}

static inline uint8_t sp_bytes_u8(struct sp_bytes *b)
{
	uint64_t off = b->at - b->win;

	if (b->failed || b->at >= b->end) {
		b->failed = true;
		return 0;
	}
	if (off >= b->win_len) {
		uint64_t n = b->end - b->at;

		if (n > SP_BYTES_WINDOW)
			n = SP_BYTES_WINDOW;
		b->win_len = 0;
		if (sp_mem_read(b->mem, b->at, b->window, (size_t)n) < 0) {
			/* the window may reach into a page that is not there */
			n = 1;
			if (sp_mem_read(b->mem, b->at, b->window, 1) < 0) {
				b->failed = true;
				return 0;
			}
		}
		b->win = b->at;
		b->win_len = (uint32_t)n;
		off = 0;
	}
	b->at++;
	return b->window[off];
}

/* Little endian, 1 to 8 bytes. */
static inline uint64_t sp_bytes_uint(struct sp_bytes *b, unsigned size)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < size; i++)
		v |= (uint64_t)sp_bytes_u8(b) << (8 * i);
	return v;
}

/* LEB128 of at most 64 bits; @is_signed: its last bit is repeated. */
static inline uint64_t sp_bytes_leb(struct sp_bytes *b, bool is_signed)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t c = sp_bytes_u8(b);

		if (shift < 64)
			v |= (uint64_t)(c & 0x7f) << shift;
		if (c & 0x80)
			continue;
		if (is_signed && (c & 0x40) && shift + 7 < 64)
			v |= ~0ull << (shift + 7);
		return v;
	}
	b->failed = true;
	return 0;
}

static inline uint64_t sp_bytes_uleb(struct sp_bytes *b)
{
	return sp_bytes_leb(b, false);
}

static inline int64_t sp_bytes_sleb(struct sp_bytes *b)
{
	return (int64_t)sp_bytes_leb(b, true);
}

static inline void sp_bytes_skip(struct sp_bytes *b, uint64_t n)
{
	if (n > b->end - b->at || b->failed)
		b->failed = true;
	else
		b->at += n;
}

/* HotSpot's UNSIGNED5: base-64 digits, the last one is below 192; since 20 no byte is zero
 * (JDK-8292758). */
static inline uint32_t sp_bytes_unsigned5(struct sp_bytes *b, bool no_zero)
{
	uint32_t x = no_zero, low = no_zero ? 191 : 192;
	uint32_t sum = sp_bytes_u8(b) - x;

	if (sum < low)
		return sum;
	for (unsigned i = 1, shift = 6; i < 5; i++, shift += 6) {
		uint32_t c = sp_bytes_u8(b);

		sum += (c - x) << shift;
		if (c < x + low)
			break;
	}
	return sum;
}

#endif
