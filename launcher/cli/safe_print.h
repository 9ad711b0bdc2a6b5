/* Text that is not ours (command lines, names) made safe to show: for terminals and for JSON. */
#ifndef SP_LAUNCHER_CLI_SAFE_PRINT_H
#define SP_LAUNCHER_CLI_SAFE_PRINT_H

#include "base/buf.h"

/* Appends @s for a terminal: unsafe characters (base/safe_text.h) become '?'. At most
 * @width characters, the last one '~' where it was cut; no limit for 0.
 * Returns the number of characters written. */
size_t sp_safe_print_text(struct sp_buf *b, const char *s, size_t width);

/* Appends @s as a JSON string in quotes: sp_safe_json. */
void sp_safe_print_json(struct sp_buf *b, const char *s);

#endif
