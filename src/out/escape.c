/* Text of a stranger: see escape.h. */
#include "out/escape.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* Decodes one code point at @s. Returns its length in bytes, 0 where there is none. */
static size_t decode(const unsigned char *s, size_t n, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >> 4 == 0xe ? 3 : 4;
	uint32_t c = s[0];

	if (len == 1) {
		*ret = c;
		return 1;
	}
	if ((len == 4 && (c < 0xf0 || c > 0xf4)) || len > n)
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

/* Appends the code point @c, @len bytes at @s. */
typedef void put_fn(struct sp_buf *out, uint32_t c, const char *s, size_t len);

static void put_all(const char *s, size_t n, put_fn *put, struct sp_buf *out)
{
	while (n > 0) {
		uint32_t c;
		size_t len = decode((const unsigned char *)s, n, &c);

		if (len == 0) {
			put(out, 0xfffd, REPLACEMENT, strlen(REPLACEMENT));
			len = 1;
		} else {
			put(out, c, s, len);
		}
		s += len;
		n -= len;
	}
}

static void put_plain(struct sp_buf *out, uint32_t c, const char *s, size_t len)
{
	sp_buf_add(out, s, len);
}

void sp_escape_utf8(const char *s, size_t n, struct sp_buf *out)
{
	put_all(s, n, put_plain, out);
}

static void put_markup(struct sp_buf *out, uint32_t c, const char *s, size_t len)
{
	static const struct {
		char c;
		const char *entity;
	} special[] = {
		{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};

	for (size_t i = 0; i < SP_COUNT(special); i++) {
		if (c == (uint32_t)special[i].c) {
			sp_buf_adds(out, special[i].entity);
			return;
		}
	}
	if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xfffe || c == 0xffff)
		sp_buf_adds(out, REPLACEMENT);
	else
		sp_buf_add(out, s, len);
}

void sp_escape_markup(const char *s, size_t n, struct sp_buf *out)
{
	put_all(s, n, put_markup, out);
}

static void put_json(struct sp_buf *out, uint32_t c, const char *s, size_t len)
{
	if (c == '"' || c == '\\')
		sp_buf_addf(out, "\\%c", (char)c);
	else if (c < 0x20 || c == 0x7f || c == 0x2028 || c == 0x2029)
		sp_buf_addf(out, "\\u%04x", (unsigned)c);
	else
		sp_buf_add(out, s, len);
}

void sp_escape_json(const char *s, size_t n, struct sp_buf *out)
{
	sp_buf_addc(out, '"');
	put_all(s, n, put_json, out);
	sp_buf_addc(out, '"');
}
