/* Text of a stranger: see escape.h. */
#include "out/escape.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/safe_text.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* Appends the code point @c, @len bytes at @s. */
typedef void put_fn(struct sp_buf *out, uint32_t c, const char *s, size_t len);

static void put_all(const char *s, size_t n, put_fn *put, struct sp_buf *out)
{
	while (n > 0) {
		uint32_t c;
		size_t len = sp_safe_decode(s, n, &c);

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
	if (sp_safe_is_unsafe(c) || c == 0xfffe || c == 0xffff)
		sp_buf_adds(out, REPLACEMENT);
	else
		sp_buf_add(out, s, len);
}

void sp_escape_markup(const char *s, size_t n, struct sp_buf *out)
{
	put_all(s, n, put_markup, out);
}

void sp_escape_json(const char *s, size_t n, struct sp_buf *out)
{
	sp_safe_json(s, n, out);
}
