/* Safe text: see safe_print.h. */
#include "safe_print.h"

#include "base/safe_text.h"

#include <stdint.h>
#include <string.h>

static size_t next_char(const char *s, size_t n, uint32_t *ret)
{
	size_t len = sp_safe_decode(s, n, ret);

	if (len)
		return len;
	*ret = 0; /* as unsafe as a control */
	return 1;
}

static size_t count_chars(const char *s, size_t n)
{
	size_t chars = 0, len;
	uint32_t c;

	for (; n; s += len, n -= len, chars++)
		len = next_char(s, n, &c);
	return chars;
}

size_t sp_safe_print_text(struct sp_buf *b, const char *s, size_t width)
{
	size_t n = strlen(s), chars = 0, len;
	bool cut = width && count_chars(s, n) > width;

	for (; n; s += len, n -= len, chars++) {
		uint32_t c;

		len = next_char(s, n, &c);
		if (cut && chars + 1 == width) {
			sp_buf_addc(b, '~');
			return width;
		}
		sp_safe_terminal(s, len, b);
	}
	return chars;
}

void sp_safe_print_json(struct sp_buf *b, const char *s)
{
	sp_safe_json(s, strlen(s), b);
}
