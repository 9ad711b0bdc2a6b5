/* UTF-8, by code points. */
#ifndef SP_BASE_UTF8_H
#define SP_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Writes @c, at most 0x10ffff, to @to, which has room for four bytes: as many as it needs, and no
 * terminator. Surrogates and controls are the caller's to refuse. Returns how many bytes. */
__attribute__((nonnull)) static inline size_t sp_utf8_put(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 63));
		to[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 63));
	to[2] = (char)(0x80 | (c >> 6 & 63));
	to[3] = (char)(0x80 | (c & 63));
	return 4;
}

#endif
