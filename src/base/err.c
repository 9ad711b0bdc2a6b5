/* Error sentences: see err.h. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int sp_err_set(struct sp_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return code;
}

int sp_err_prefix(struct sp_err *err, int code, const char *fmt, ...)
{
	char old[sizeof(err->text)];
	size_t used;
	va_list ap;

	if (!err)
		return code;
	memcpy(old, err->text, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %.*s", (int)sizeof(old) - 1, old);
	return code;
}
