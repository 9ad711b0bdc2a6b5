/* Changes that a damaged file may have, for programs that read many of them. */
#ifndef SP_FUZZ_CHANGE_H
#define SP_FUZZ_CHANGE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4 << 20, FILES = 64, HANG_S = 30 };

struct input {
	uint8_t *data;
	size_t len;
};

static uint64_t state;

static inline uint64_t rnd(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return below ? (state >> 11) % below : 0;
}

static inline int load(const char *path, struct input *to)
{
	FILE *f = fopen(path, "re");

	to->data = malloc(MOST);
	to->len = f && to->data ? fread(to->data, 1, MOST, f) : 0;
	if (f)
		fclose(f);
	return to->len ? 0 : -EINVAL;
}

/* One change: a byte, a number that breaks sums, a piece moved, left out or doubled, or a cut. */
static inline size_t change(uint8_t *d, size_t len)
{
	static const uint64_t odd[] = {0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0xffffffff,
		0x7fffffffffffffff, UINT64_MAX};
	size_t at = rnd(len), n = rnd(64) + 1, to = rnd(len);
	uint64_t v = odd[rnd(sizeof(odd) / sizeof(odd[0]))];

	n = n > len - at ? len - at : n;
	switch (rnd(7)) {
	case 0:
		d[at] ^= (uint8_t)(1u << rnd(8));
		break;
	case 1:
		d[at] = (uint8_t)rnd(256);
		break;
	case 2:
		memcpy(d + at, &v, n < 8 ? n : 8);
		break;
	case 3:
		memmove(d + to, d + at, n > len - to ? len - to : n);
		break;
	case 4:
		memmove(d + at, d + at + n, len - at - n);
		return len - n > 0 ? len - n : len;
	case 5:
		if (len + n > MOST)
			break;
		memmove(d + at + n, d + at, len - at);
		return len + n;
	default:
		return rnd(8) ? len : at + 1;
	}
	return len;
}

#endif
