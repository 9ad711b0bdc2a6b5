/* How JFR writes numbers and strings: compressed integers (LEB128 of at most nine bytes, the last
 * one whole), header fields and floats big-endian. Each function returns the place behind. */
#ifndef SP_JFR_ENCODE_H
#define SP_JFR_ENCODE_H

#include <stdint.h>
#include <string.h>

#define SP_JFR_HEADER 68 /* bytes before the first event of a chunk */

/* Offsets of its fields, 64 bits big-endian each but the last. */
enum {
	SP_JFR_HEAD_SIZE = 8,
	SP_JFR_HEAD_POOL = 16,
	SP_JFR_HEAD_METADATA = 24,
	SP_JFR_HEAD_START = 32,
	SP_JFR_HEAD_DURATION = 40,
	SP_JFR_HEAD_STATE = 64, /* one byte; 0: finished */
};

#define SP_JFR_MAX_INT	5
#define SP_JFR_MAX_LONG 9

/* String encodings. */
enum {
	SP_JFR_STR_NULL,
	SP_JFR_STR_EMPTY,
	SP_JFR_STR_POOL,
	SP_JFR_STR_UTF8,
	SP_JFR_STR_UTF16,
	SP_JFR_STR_LATIN1
};

static inline uint8_t *sp_jfr_put_long(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8 && v >= 0x80; i++) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* How many bytes sp_jfr_put_long takes. */
static inline unsigned sp_jfr_size_long(uint64_t v)
{
	unsigned bits = 64 - (unsigned)__builtin_clzll(v | 1);

	return bits > 56 ? SP_JFR_MAX_LONG : (bits + 6) / 7;
}

/* A number below 2^28 in exactly four bytes, for places that are known before their value. */
static inline uint8_t *sp_jfr_put_fixed(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v | 0x80);
	p[1] = (uint8_t)(v >> 7 | 0x80);
	p[2] = (uint8_t)(v >> 14 | 0x80);
	p[3] = (uint8_t)(v >> 21 & 0x7f);
	return p + 4;
}

static inline uint8_t *sp_jfr_put_be32(uint8_t *p, uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(p, &v, 4);
	return p + 4;
}

static inline uint8_t *sp_jfr_put_be64(uint8_t *p, uint64_t v)
{
	v = __builtin_bswap64(v);
	memcpy(p, &v, 8);
	return p + 8;
}

static inline uint64_t sp_jfr_take_be64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return __builtin_bswap64(v);
}

#endif
