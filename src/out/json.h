/* Inside of src/out: text as JSON and CSV. */
#ifndef SP_OUT_JSON_H
#define SP_OUT_JSON_H

#include "out/sink.h"

/* Writes "text" with quotes; control characters escaped, bytes that are no UTF-8 as U+FFFD. */
void sp_json_string(struct sp_sink *sink, const char *text);

/* Writes a CSV field, quoted where it must be (RFC 4180). A field that a spreadsheet would take for
 * a formula gets an apostrophe before it. */
void sp_csv_field(struct sp_sink *sink, const char *text);

#endif
