/* Names from the target as text of a report: always valid UTF-8, never markup. */
#ifndef SP_OUT_ESCAPE_H
#define SP_OUT_ESCAPE_H

#include <stddef.h>

#include "base/buf.h"

/* Appends @s with every byte that is not UTF-8 replaced by U+FFFD; nothing else is changed. */
void sp_escape_utf8(const char *s, size_t n, struct sp_buf *out);

/* The same as content or attribute of HTML and XML: the five special characters become entities,
 * and what XML 1.0 does not allow at all (U+FFFE, U+FFFF) or could mislead a reader
 * (base/safe_text.h) becomes U+FFFD. */
void sp_escape_markup(const char *s, size_t n, struct sp_buf *out);

/* The same as a string of JSON, with its quotes: sp_safe_json. */
void sp_escape_json(const char *s, size_t n, struct sp_buf *out);

#endif
