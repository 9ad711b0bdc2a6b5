/* Text for people and text for programs: see safe_text.h. */
#include "base/safe_text.h"

size_t sp_safe_decode(const char *text, size_t n, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *s = (const unsigned char *)text;
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	uint32_t c = s[0];

	if (len == 1) {
		*ret = c;
		return 1;
	}
	if (s[0] < 0xc2 || s[0] > 0xf4 || len > n)
		return 0;
	c &= 0x7fu >> len;
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*ret = c;
	return len;
}

bool sp_safe_is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

static void add_safe(
	const char *s, size_t n, const char *unsafe, const char *broken, struct sp_buf *out)
{
	while (n > 0) {
		uint32_t c = 0;
		size_t len = sp_safe_decode(s, n, &c);

		if (!len)
			sp_buf_adds(out, broken);
		else if (sp_safe_is_unsafe(c))
			sp_buf_adds(out, unsafe);
		else
			sp_buf_add(out, s, len);
		len = len ? len : 1;
		s += len;
		n -= len;
	}
}

void sp_safe_people(const char *s, size_t n, struct sp_buf *out)
{
	add_safe(s, n, " ", "\xef\xbf\xbd", out);
}

void sp_safe_terminal(const char *s, size_t n, struct sp_buf *out)
{
	add_safe(s, n, "?", "?", out);
}

void sp_safe_json(const char *s, size_t n, struct sp_buf *out)
{
	sp_buf_addc(out, '"');
	while (n > 0) {
		uint32_t c = 0;
		size_t len = sp_safe_decode(s, n, &c);

		if (!len)
			sp_buf_adds(out, "\xef\xbf\xbd");
		else if (c == '"' || c == '\\')
			sp_buf_addf(out, "\\%c", (char)c);
		else if (sp_safe_is_unsafe(c))
			sp_buf_addf(out, "\\u%04x", (unsigned)c);
		else
			sp_buf_add(out, s, len);
		len = len ? len : 1;
		s += len;
		n -= len;
	}
	sp_buf_addc(out, '"');
}
