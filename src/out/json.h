/* Inside of src/out: text as JSON and CSV. */
#ifndef SP_OUT_JSON_H
#define SP_OUT_JSON_H

#include "out/sink.h"

/* Writes "text" with quotes: sp_safe_json. */
void sp_json_string(struct sp_sink *sink, const char *text);

/* Writes a CSV field, quoted where it must be (RFC 4180). A field that a spreadsheet would take for
 * a formula gets an apostrophe before it. Unsafe characters (base/safe_text.h) become blanks. */
void sp_csv_field(struct sp_sink *sink, const char *text);

#endif
