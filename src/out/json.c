/* Text as JSON and CSV: see json.h. */
#include "out/json.h"

#include <string.h>

#include "base/safe_text.h"

void sp_json_string(struct sp_sink *sink, const char *text)
{
	SP_AUTO_BUF struct sp_buf b = {0};

	sp_safe_json(text, strlen(text), &b);
	sp_sink_puts(sink, b.failed ? "\"\"" : sp_buf_str(&b));
}

void sp_csv_field(struct sp_sink *sink, const char *text)
{
	bool formula = *text && strchr("=+-@\t\r", *text);
	bool quote = formula || strpbrk(text, ",\"\r\n");
	SP_AUTO_BUF struct sp_buf b = {0};

	/* Tables are looked at in terminals, too: no escape sequences of a stranger. */
	sp_safe_people(text, strlen(text), &b);
	if (quote)
		sp_sink_puts(sink, formula ? "\"'" : "\"");
	for (const char *s = sp_buf_str(&b); *s; s++)
		sp_sink_write(sink, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
	if (quote)
		sp_sink_puts(sink, "\"");
}
