/* See decompress.h. Every length is checked against what is there. Formats: RFC 8878 (by libzstd),
 * the LZ4 block format and net.jpountz.lz4.LZ4BlockOutputStream around it, Snappy's format
 * description and org.xerial.snappy.SnappyOutputStream around it. */
#include "in/decompress.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define BLOCK_MAX (64u << 20)
/* An event log is text with many repetitions; what unpacks to more than that and to a lot is made
 * to fill the disk. */
#define MOST_TIMES   1000
#define ALWAYS	     (1u << 30)
#define LZ4_RATIO    255 /* a byte that only continues a length */
#define SNAPPY_RATIO 64	 /* a copy */

static uint32_t le32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return le32toh(v);
}

static uint32_t be32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return be32toh(v);
}

static int damaged(const char *what, struct sp_err *err)
{
	return sp_err_set(err, -EBADMSG, "the %s stream is damaged or cut", what);
}

/* Copies @n bytes from @back bytes before; they may overlap, and then repeat. */
static bool copy_back(uint8_t *to, size_t *at, size_t cap, size_t back, size_t n)
{
	if (back == 0 || back > *at || n > cap - *at)
		return false;
	for (; n; n--, (*at)++)
		to[*at] = to[*at - back];
	return true;
}

static bool copy_in(
	uint8_t *to, size_t *at, size_t cap, const uint8_t **p, const uint8_t *end, size_t n)
{
	if (n > (size_t)(end - *p) || n > cap - *at)
		return false;
	memcpy(to + *at, *p, n);
	*p += n;
	*at += n;
	return true;
}

/* 15 and more: bytes follow, up to the first that is not 255. */
static bool lz4_length(const uint8_t **p, const uint8_t *end, size_t *n)
{
	uint8_t b = 255;

	if (*n != 15)
		return true;
	while (b == 255) {
		if (*p >= end || *n > BLOCK_MAX)
			return false;
		b = *(*p)++;
		*n += b;
	}
	return true;
}

int sp_decompress_lz4(const uint8_t *from, size_t len, uint8_t *to, size_t *ret_len)
{
	const uint8_t *p = from, *end = from + len;
	size_t at = 0, cap = *ret_len;

	while (p < end) {
		uint8_t token = *p++;
		size_t literals = token >> 4, match = token & 15, back;

		if (!lz4_length(&p, end, &literals) || !copy_in(to, &at, cap, &p, end, literals))
			return -EBADMSG;
		if (p == end)
			break; /* the last sequence has literals only */
		if (end - p < 2)
			return -EBADMSG;
		back = p[0] | (size_t)p[1] << 8;
		p += 2;
		if (!lz4_length(&p, end, &match) || !copy_back(to, &at, cap, back, match + 4))
			return -EBADMSG;
	}
	*ret_len = at;
	return 0;
}

/* The length in front of a block. */
static bool snappy_length(const uint8_t **p, const uint8_t *end, size_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; shift < 35 && *p < end; shift += 7) {
		uint8_t b = *(*p)++;

		*ret |= (size_t)(b & 127) << shift;
		if (!(b & 128))
			return true;
	}
	return false;
}

static bool snappy_literal(
	uint8_t tag, const uint8_t **p, const uint8_t *end, uint8_t *to, size_t *at, size_t cap)
{
	size_t n = tag >> 2, bytes = n < 60 ? 0 : n - 59, v = 0;

	if (bytes > (size_t)(end - *p))
		return false;
	for (size_t i = 0; i < bytes; i++)
		v |= (size_t)(*p)[i] << 8 * i;
	*p += bytes;
	return copy_in(to, at, cap, p, end, (bytes ? v : n) + 1);
}

int sp_decompress_snappy(const uint8_t *from, size_t len, uint8_t *to, size_t *ret_len)
{
	const uint8_t *p = from, *end = from + len;
	size_t at = 0, cap = *ret_len, whole;
	bool ok = snappy_length(&p, end, &whole) && whole <= cap;

	while (ok && p < end) {
		uint8_t tag = *p++;
		unsigned kind = tag & 3, bytes = kind == 3 ? 4 : kind;
		size_t back = 0, n = kind == 1 ? (tag >> 2 & 7) + 4u : (tag >> 2) + 1u;

		if (kind == 0) {
			ok = snappy_literal(tag, &p, end, to, &at, cap);
			continue;
		}
		if (end - p < (ptrdiff_t)bytes)
			return -EBADMSG;
		for (unsigned i = 0; i < bytes; i++)
			back |= (size_t)p[i] << 8 * i;
		if (kind == 1)
			back |= (size_t)(tag >> 5) << 8;
		p += bytes;
		ok = copy_back(to, &at, cap, back, n);
	}
	if (!ok || at != whole)
		return -EBADMSG;
	*ret_len = at;
	return 0;
}

static int unzstd(const uint8_t *from, size_t len, int to, struct sp_err *err)
{
	size_t cap = ZSTD_DStreamOutSize(), left = 1, whole = 0;
	SP_AUTO_FREE uint8_t *buf = malloc(cap);
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_inBuffer in = {from, len, 0};
	int r = z && buf ? 0 : -ENOMEM;

	while (r == 0) {
		ZSTD_outBuffer out = {buf, cap, 0};

		left = ZSTD_decompressStream(z, &out, &in);
		if (ZSTD_isError(left))
			r = damaged("zstd", err);
		else if ((whole += out.pos) > ALWAYS && whole / MOST_TIMES > in.pos)
			r = sp_err_set(err, -EFBIG,
				"unpacks to more than %d times its size: no log does", MOST_TIMES);
		else
			r = sp_io_write_all(to, buf, out.pos);
		if (in.pos == len && out.pos < cap)
			break;
	}
	ZSTD_freeDStream(z);
	return r == 0 && left != 0 ? damaged("zstd", err) : r;
}

/* Room for a block; what one byte can expand to is limited, and so is what a damaged length takes.
 */
static bool make_room(uint8_t **buf, size_t *cap, size_t whole, size_t packed, size_t ratio)
{
	if (whole > BLOCK_MAX || whole > packed * ratio + 64)
		return false;
	if (whole <= *cap)
		return true;
	free(*buf);
	*buf = malloc(whole);
	*cap = *buf ? whole : 0;
	return *buf != NULL;
}

/* "LZ4Block", a byte for the method, both lengths and a checksum of four bytes each. */
static int unlz4(const uint8_t *from, size_t len, int to, struct sp_err *err)
{
	enum { HEAD = 21, RAW = 0x10, PACKED = 0x20 };
	SP_AUTO_FREE uint8_t *buf = NULL;
	size_t cap = 0, at = 0;
	int r = 0;

	while (at < len && r == 0) {
		const uint8_t *h = from + at;
		size_t packed, whole, n;

		if (len - at < HEAD || memcmp(h, "LZ4Block", 8) != 0)
			return damaged("lz4", err);
		packed = le32(h + 9);
		n = whole = le32(h + 13);
		at += HEAD;
		if (packed > len - at || !make_room(&buf, &cap, whole, packed, LZ4_RATIO))
			return damaged("lz4", err);
		if ((h[8] & 0xf0) == RAW && packed == whole)
			r = sp_io_write_all(to, from + at, packed);
		else if ((h[8] & 0xf0) == PACKED &&
			 sp_decompress_lz4(from + at, packed, buf, &n) == 0 && n == whole)
			r = sp_io_write_all(to, buf, n);
		else if (whole)
			r = damaged("lz4", err);
		at += packed;
	}
	return r;
}

/* A head of 16 bytes, then blocks, each behind its length; streams may be joined. */
static int unsnappy(const uint8_t *from, size_t len, int to, struct sp_err *err)
{
	static const uint8_t magic[8] = {0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
	SP_AUTO_FREE uint8_t *buf = NULL;
	size_t at = 0, cap = 0;
	int r = 0;

	while (at < len && r == 0) {
		const uint8_t *p;
		size_t packed, n;

		if (len - at >= 16 && memcmp(from + at, magic, sizeof(magic)) == 0) {
			at += 16;
			continue;
		}
		packed = len - at >= 4 ? be32(from + at) : SIZE_MAX;
		if (packed > len - at - 4)
			return damaged("snappy", err);
		at += 4;
		p = from + at;
		if (!snappy_length(&p, p + packed, &n) ||
			!make_room(&buf, &cap, n, packed, SNAPPY_RATIO))
			return damaged("snappy", err);
		r = sp_decompress_snappy(from + at, packed, buf, &n);
		r = r < 0 ? damaged("snappy", err) : sp_io_write_all(to, buf, n);
		at += packed;
	}
	return r;
}

int sp_decompress(const uint8_t *from, size_t len, int to, struct sp_err *err)
{
	if (len >= 4 && le32(from) == ZSTD_MAGICNUMBER)
		return unzstd(from, len, to, err);
	if (len >= 8 && memcmp(from, "LZ4Block", 8) == 0)
		return unlz4(from, len, to, err);
	if (len >= 8 && memcmp(from, "\x82SNAPPY", 7) == 0)
		return unsnappy(from, len, to, err);
	return sp_io_write_all(to, from, len);
}
