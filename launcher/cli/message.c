/* Messages: see message.h. A line is built first and written with one call, so that lines of
 * parallel launchers do not mix; control characters, which may come from a target's command line,
 * are not passed on to the terminal. */
#include "message.h"

#include "base/safe_text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 2048, SAID = 64 };

static bool quiet;
static uint64_t said[SAID]; /* hashes of the warnings that were said */
static unsigned n_said;

void sp_message_set_quiet(bool on)
{
	quiet = on;
}

static void print_message(const char *name, const char *fmt, va_list ap)
{
	SP_AUTO_BUF struct sp_buf safe = {0};
	char line[LINE];
	int len = vsnprintf(line, sizeof(line), fmt, ap);

	if (len < 0)
		return;
	sp_buf_adds(&safe, name);
	sp_safe_terminal(line, strlen(line), &safe);
	sp_buf_addc(&safe, '\n');
	fflush(stdout);
	if (write(STDERR_FILENO, sp_buf_str(&safe), safe.len) < 0)
		return; /* no place is left to write to */
}

void sp_message_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message("sparkprof: ", fmt, ap);
	va_end(ap);
}

static bool said_before(const char *text)
{
	uint64_t hash = 14695981039346656037ull; /* FNV-1a */

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211ull;
	for (unsigned i = 0; i < n_said; i++) {
		if (said[i] == hash)
			return true;
	}
	if (n_said < SAID)
		said[n_said++] = hash;
	return false;
}

void sp_message_warn(const char *fmt, ...)
{
	char text[LINE];
	va_list ap;

	if (quiet)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!said_before(text))
		sp_message_error("%s", text);
}

void sp_message_note(const char *fmt, ...)
{
	va_list ap;

	if (quiet)
		return;
	va_start(ap, fmt);
	print_message("", fmt, ap);
	va_end(ap);
}
