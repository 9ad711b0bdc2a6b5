/* Inside of src/elf: code points of demangled names. */
#ifndef SP_ELF_UTF8_H
#define SP_ELF_UTF8_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Appends a printable code point; false (nothing appended) for controls, surrogates and beyond. */
static inline bool sp_utf8_add(struct sp_buf *out, uint32_t c)
{
	if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return false;
	if (c < 0x80) {
		sp_buf_addc(out, (char)c);
		return true;
	}
	if (c < 0x800) {
		sp_buf_addc(out, (char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			sp_buf_addc(out, (char)(0xe0 | c >> 12));
		} else {
			sp_buf_addc(out, (char)(0xf0 | c >> 18));
			sp_buf_addc(out, (char)(0x80 | (c >> 12 & 0x3f)));
		}
		sp_buf_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	sp_buf_addc(out, (char)(0x80 | (c & 0x3f)));
	return true;
}

#endif
