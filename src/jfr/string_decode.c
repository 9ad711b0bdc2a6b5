/* Strings of recordings in UTF-8: see string_decode.h. */
#include "jfr/string_decode.h"

#include "base/utf8.h"
#include "jfr/encode.h"

static void put_utf8(struct sp_buf *b, uint32_t ch)
{
	char text[4];

	sp_buf_add(b, text, sp_utf8_put(text, ch));
}

static void decode_utf16(struct sp_buf *b, const struct sp_jfr_text *t)
{
	struct sp_jfr_cursor c = {.p = t->data, .end = t->end, .raw = t->raw};
	uint32_t high = 0;

	for (uint32_t i = 0; i < t->len; i++) {
		uint32_t ch = sp_jfr_get_short(&c);

		if (high && ch >= 0xdc00 && ch < 0xe000)
			put_utf8(b, 0x10000 + ((high - 0xd800) << 10) + (ch - 0xdc00));
		else if (ch < 0xd800 || ch >= 0xe000)
			put_utf8(b, ch);
		high = ch >= 0xd800 && ch < 0xdc00 ? ch : 0;
	}
}

/* One character of UTF-8; 0xfffd for what is none. Surrogates come through: JVMs write a character
 * beyond U+FFFF as two of three bytes each (JNI's modified UTF-8). */
static uint32_t next_char(const uint8_t **p, const uint8_t *end)
{
	const uint8_t *s = *p;
	unsigned more = *s >= 0xf0 ? 3 : *s >= 0xe0 ? 2 : *s >= 0xc0 ? 1 : 0;
	uint32_t ch = *s & (0x7f >> more >> (more != 0));

	*p = s + 1;
	if (*s < 0x80)
		return *s;
	if (!more || *s >= 0xf8 || end - s <= (ptrdiff_t)more)
		return 0xfffd;
	for (unsigned i = 1; i <= more; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0xfffd;
		ch = ch << 6 | (s[i] & 0x3f);
	}
	*p = s + 1 + more;
	return ch && ch < 0x110000 ? ch : 0xfffd;
}

static void decode_utf8(struct sp_buf *b, const struct sp_jfr_text *t)
{
	const uint8_t *p = t->data, *end = t->data + t->len;
	uint32_t high = 0;

	while (p < end) {
		uint32_t ch = next_char(&p, end);

		if (high && ch >= 0xdc00 && ch < 0xe000)
			put_utf8(b, 0x10000 + ((high - 0xd800) << 10) + (ch - 0xdc00));
		else if (ch < 0xd800 || ch >= 0xe000)
			put_utf8(b, ch);
		high = ch >= 0xd800 && ch < 0xdc00 ? ch : 0;
	}
}

/* Text that is not plain ASCII is converted at the end of @b. */
static const char *convert(struct sp_buf *b, const struct sp_jfr_text *t, size_t *ret_len)
{
	size_t at = b->len;

	if (!sp_buf_reserve(b, 4ull * t->len + 1))
		return NULL;
	if (t->encoding == SP_JFR_STR_UTF16) {
		decode_utf16(b, t);
	} else if (t->encoding == SP_JFR_STR_UTF8) {
		decode_utf8(b, t);
	} else {
		for (uint32_t i = 0; i < t->len; i++)
			put_utf8(b, t->data[i]);
	}
	*ret_len = b->len - at;
	return b->data + at;
}

static bool is_ascii(const uint8_t *p, size_t len)
{
	uint8_t any = 0;

	for (size_t i = 0; i < len; i++)
		any |= p[i];
	return any < 0x80;
}

const char *sp_jfr_string_utf8(struct sp_buf *b, const struct sp_jfr_text *t, size_t *ret_len)
{
	if (t->encoding == SP_JFR_STR_UTF16 || !is_ascii(t->data, t->len))
		return convert(b, t, ret_len);
	*ret_len = t->len;
	return t->len ? (const char *)t->data : "";
}
