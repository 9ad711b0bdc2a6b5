/* Inside of src/out: names in collapsed text. */
#ifndef SP_OUT_COLLAPSED_H
#define SP_OUT_COLLAPSED_H

#include "base/buf.h"

/* Appends a frame's name. ';' separates frames and a newline ends a stack, and the format has no
 * escape: ';' becomes '|', as async-profiler has it, and unsafe characters (base/safe_text.h)
 * blanks. */
void sp_collapsed_name(const char *name, struct sp_buf *out);

#endif
