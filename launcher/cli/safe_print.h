/* Text of strangers (command lines, names) made safe to show: for terminals and for JSON. */
#ifndef SP_LAUNCHER_SHOW_H
#define SP_LAUNCHER_SHOW_H

#include "base/buf.h"

/* Appends @s for a terminal: control bytes, and bytes that are not UTF-8, become '?'. At most
 * @width characters, the last one '~' where it was cut; no limit for 0.
 * Returns the number of characters written. */
size_t sp_show_text(struct sp_buf *b, const char *s, size_t width);

/* Appends @s as a JSON string in quotes. Bytes that are not UTF-8 become U+FFFD. */
void sp_show_json(struct sp_buf *b, const char *s);

#endif
