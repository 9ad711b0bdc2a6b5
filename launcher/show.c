/* Safe text: see show.h. */
#include "show.h"

#include <stdint.h>
#include <string.h>

/* The length of the UTF-8 sequence at @s and its code point; 0 where it is none (RFC 3629: no
 * overlong forms, no surrogates). */
static size_t utf8(const unsigned char *s, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	uint32_t c;

	if (n == 1) {
		*ret = s[0];
		return 1;
	}
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	c = s[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return n;
}

static size_t count(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t chars = 0, n;
	uint32_t c;

	for (; *s; s += n ? n : 1, chars++)
		n = utf8(s, &c);
	return chars;
}

size_t sp_show_text(struct sp_buf *b, const char *text, size_t width)
{
	const unsigned char *s = (const unsigned char *)text;
	bool cut = width && count(text) > width;
	size_t chars = 0;

	while (*s) {
		uint32_t c = 0;
		size_t n = utf8(s, &c);

		if (cut && chars + 1 == width) {
			sp_buf_addc(b, '~');
			return width;
		}
		if (!n || c < 0x20 || (c >= 0x7f && c < 0xa0))
			sp_buf_addc(b, '?');
		else
			sp_buf_add(b, s, n);
		s += n ? n : 1;
		chars++;
	}
	return chars;
}

void sp_show_json(struct sp_buf *b, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	sp_buf_addc(b, '"');
	while (*s) {
		uint32_t c = 0;
		size_t n = utf8(s, &c);

		if (!n)
			sp_buf_adds(b, "\\ufffd");
		else if (c == '"' || c == '\\')
			sp_buf_addf(b, "\\%c", (int)c);
		else if (c < 0x20 || (c >= 0x7f && c < 0xa0))
			sp_buf_addf(b, "\\u%04x", c);
		else
			sp_buf_add(b, s, n);
		s += n ? n : 1;
	}
	sp_buf_addc(b, '"');
}
