/* Text as JSON and CSV: see json.h. */
#include "out/json.h"

#include <string.h>

/* Length of the UTF-8 sequence at @s, 0 if it is none. */
static size_t sequence(const unsigned char *s)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((n == 3 && s[0] == 0xe0 && s[1] < 0xa0) || (n == 3 && s[0] == 0xed && s[1] > 0x9f) ||
		(n == 4 && s[0] == 0xf0 && s[1] < 0x90) || (n == 4 && s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

void sp_json_string(struct sp_sink *sink, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	sp_sink_write(sink, "\"", 1);
	while (*s) {
		size_t n = sequence(s);

		if (*s == '"' || *s == '\\')
			sp_sink_printf(sink, "\\%c", *s);
		else if (*s < 0x20 || *s == 0x7f)
			sp_sink_printf(sink, "\\u%04x", *s);
		else if (n)
			sp_sink_write(sink, s, n);
		else
			sp_sink_puts(sink, "\xef\xbf\xbd");
		s += n ? n : 1;
	}
	sp_sink_write(sink, "\"", 1);
}

void sp_csv_field(struct sp_sink *sink, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	bool formula = *text && strchr("=+-@\t\r", *text);
	bool quote = formula || strpbrk(text, ",\"\r\n");

	if (quote)
		sp_sink_puts(sink, formula ? "\"'" : "\"");
	while (*s) {
		size_t n = sequence(s);

		/* Tables are looked at in terminals, too: no escape sequences of a stranger. */
		if (*s < 0x20 || *s == 0x7f)
			sp_sink_write(sink, " ", 1);
		else if (n)
			sp_sink_write(
				sink, *s == '"' ? "\"\"" : (const char *)s, *s == '"' ? 2 : n);
		else
			sp_sink_puts(sink, "\xef\xbf\xbd");
		s += n ? n : 1;
	}
	if (quote)
		sp_sink_puts(sink, "\"");
}
