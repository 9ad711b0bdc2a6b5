/* See loose_words.h. */
#include "prof/spark/loose_words.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* "0f7b6a40-cd1f-4c0f-8f9a-2dc0f8e0b7a3" and the like. */
static bool is_id(const char *s, size_t n)
{
	bool digit = false;

	for (size_t i = 0; i < n; i++) {
		if (!isxdigit((unsigned char)s[i]) && s[i] != '-')
			return false;
		digit |= isdigit((unsigned char)s[i]) != 0;
	}
	return n >= 8 && digit;
}

static void add_word(const char *s, size_t n, struct sp_buf *out)
{
	if (is_id(s, n))
		return;
	for (const char *slash; (slash = memchr(s, '/', n));) {
		n -= (size_t)(slash + 1 - s);
		s = slash + 1;
	}
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)s[i]))
			sp_buf_addc(out, s[i]);
}

void sp_loose_words(const char *s, struct sp_buf *out)
{
	while (*s) {
		size_t n = strcspn(s, " \t\n[](),=");

		add_word(s, n, out);
		s += n;
		if (*s)
			sp_buf_addc(out, *s++);
	}
}
