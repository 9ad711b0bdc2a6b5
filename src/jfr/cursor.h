/* Bounded reading of JFR bytes: past the end everything reads as 0 and @bad says so, so that a
 * decoder asks once. No length in a file is trusted. */
#ifndef SP_JFR_CURSOR_H
#define SP_JFR_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

struct sp_jfr_cursor {
	const uint8_t *p, *end;
	bool bad;
	bool raw; /* integers are big-endian, not compressed */
};

static inline const uint8_t *sp_jfr_take(struct sp_jfr_cursor *c, uint64_t n)
{
	const uint8_t *p = c->p;

	if (n > (uint64_t)(c->end - c->p)) {
		c->bad = true;
		c->p = c->end;
		return NULL;
	}
	c->p += n;
	return p;
}

static inline uint64_t sp_jfr_get_be(struct sp_jfr_cursor *c, unsigned n)
{
	const uint8_t *p = sp_jfr_take(c, n);
	uint64_t v = 0;

	for (unsigned i = 0; p && i < n; i++)
		v = v << 8 | p[i];
	return v;
}

#define SP_JFR_ENDS 0x8080808080808080ull /* set where a byte of the inverse ends a number */

/* The low seven bits of eight bytes, little-endian, one behind the other. */
static inline uint64_t sp_jfr_squeeze(uint64_t w)
{
	w = (w & 0x007f007f007f007full) | (w & 0x7f007f007f007f00ull) >> 1;
	w = (w & 0x00003fff00003fffull) | (w & 0x3fff00003fff0000ull) >> 2;
	return (w & 0x0fffffffull) | (w & 0x0fffffff00000000ull) >> 4;
}

/* One of two to nine bytes, with at least nine left: in a few steps, without a loop. */
static inline uint64_t sp_jfr_get_long_packed(struct sp_jfr_cursor *c)
{
	uint64_t word, ends;
	unsigned bits;

	memcpy(&word, c->p, 8);
	ends = ~word & SP_JFR_ENDS;
	if (ends == 0) {
		c->p += 9;
		return sp_jfr_squeeze(word) | (uint64_t)c->p[-1] << 56;
	}
	bits = (unsigned)__builtin_ctzll(ends) + 1;
	c->p += bits / 8;
	return sp_jfr_squeeze(word & (UINT64_MAX >> (64 - bits)));
}

/* The same for one of one byte or more; most have one or two. */
static inline uint64_t sp_jfr_get_near(struct sp_jfr_cursor *c)
{
	const uint8_t *p = c->p;

	if (p[0] < 0x80) {
		c->p = p + 1;
		return p[0];
	}
	if (p[1] < 0x80) {
		c->p = p + 2;
		return (p[0] & 0x7f) | (uint32_t)p[1] << 7;
	}
	return sp_jfr_get_long_packed(c);
}

/* A compressed number, whatever its type. */
static inline uint64_t sp_jfr_get_packed(struct sp_jfr_cursor *c)
{
	uint64_t v = 0;

	if (c->p < c->end && *c->p < 0x80)
		return *c->p++;
	if (c->end - c->p >= 9)
		return sp_jfr_get_long_packed(c);
	for (unsigned i = 0; i < 9; i++) {
		uint8_t b;

		if (c->p == c->end) {
			c->bad = true;
			return 0;
		}
		b = *c->p++;
		if (i == 8)
			return v | (uint64_t)b << 56;
		v |= (uint64_t)(b & 0x7f) << (7 * i);
		if (!(b & 0x80))
			break;
	}
	return v;
}

#ifdef __SSE2__
/* Skips most of @n numbers, sixteen bytes at a time, up to one of nine bytes. Returns what is left.
 */
static inline uint64_t sp_jfr_skip_wide(struct sp_jfr_cursor *c, uint64_t n)
{
	while (n >= 16 && c->end - c->p >= 16) {
		__m128i word = _mm_loadu_si128((const void *)c->p), zero = _mm_setzero_si128(),
			sums;
		unsigned more = (unsigned)_mm_movemask_epi8(word), run = more & more >> 1;

		run &= run >> 2;
		if (run & run >> 4) /* eight bytes in a row that end nothing */
			return n;
		sums = _mm_sad_epu8(
			_mm_sub_epi8(zero, _mm_cmpgt_epi8(word, _mm_set1_epi8(-1))), zero);
		n -= (unsigned)_mm_cvtsi128_si32(sums) + (unsigned)_mm_extract_epi16(sums, 4);
		c->p += 32 - __builtin_clz(~more & 0xffff);
	}
	return n;
}
#endif

/* Skips @n compressed numbers, eight bytes at a time: each ends in a byte below 0x80, but for those
 * of nine bytes, which the slow way takes, as it does the last bytes of all. */
static inline void sp_jfr_skip_packed(struct sp_jfr_cursor *c, uint64_t n)
{
#ifdef __SSE2__
	n = sp_jfr_skip_wide(c, n);
#endif
	while (n && !c->bad) {
		uint64_t word, ends = 0;
		unsigned here;

		if (c->end - c->p >= 8) {
			memcpy(&word, c->p, 8);
			ends = ~word & SP_JFR_ENDS;
		}
		if (ends == 0) {
			sp_jfr_get_packed(c);
			n--;
			continue;
		}
		here = (unsigned)((ends >> 7) * 0x0101010101010101ull >> 56);
		if (here <= n) {
			c->p += (63 - __builtin_clzll(ends)) / 8 + 1;
			n -= here;
			continue;
		}
		while (--n)
			ends &= ends - 1;
		c->p += __builtin_ctzll(ends) / 8 + 1;
	}
}

static inline uint64_t sp_jfr_get_long(struct sp_jfr_cursor *c)
{
	return c->raw ? sp_jfr_get_be(c, 8) : sp_jfr_get_packed(c);
}

static inline uint32_t sp_jfr_get_int(struct sp_jfr_cursor *c)
{
	return (uint32_t)(c->raw ? sp_jfr_get_be(c, 4) : sp_jfr_get_packed(c));
}

static inline uint32_t sp_jfr_get_short(struct sp_jfr_cursor *c)
{
	return (uint32_t)(c->raw ? sp_jfr_get_be(c, 2) : sp_jfr_get_packed(c)) & 0xffff;
}

static inline uint8_t sp_jfr_get_byte(struct sp_jfr_cursor *c)
{
	const uint8_t *p = sp_jfr_take(c, 1);

	return p ? *p : 0;
}

/* A string as it is in the file. */
struct sp_jfr_text {
	uint8_t encoding;    /* SP_JFR_STR_… */
	uint64_t key;	     /* of the string pool, for SP_JFR_STR_POOL */
	const uint8_t *data; /* borrowed from the file */
	const uint8_t *end;
	uint32_t len; /* in bytes; UTF-16: in characters, each a number */
	bool raw;     /* the characters are not compressed */
};

static inline struct sp_jfr_text sp_jfr_get_text(struct sp_jfr_cursor *c)
{
	struct sp_jfr_text t = {.encoding = sp_jfr_get_byte(c), .raw = c->raw};

	switch (t.encoding) {
	case 0:
	case 1:
		break;
	case 2:
		t.key = sp_jfr_get_long(c);
		break;
	case 3:
	case 5:
		t.len = sp_jfr_get_int(c);
		t.data = sp_jfr_take(c, t.len);
		break;
	case 4:
		t.len = sp_jfr_get_int(c);
		t.data = c->p;
		for (uint32_t i = 0; i < t.len && !c->bad; i++)
			sp_jfr_get_short(c);
		break;
	default:
		c->bad = true;
	}
	if (c->bad)
		return (struct sp_jfr_text){0};
	t.end = c->p;
	return t;
}

#endif
