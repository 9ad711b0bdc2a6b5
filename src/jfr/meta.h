/* The metadata event of a recording, made from the table of types. */
#ifndef SP_JFR_META_H
#define SP_JFR_META_H

#include "base/buf.h"

/* Appends the event to @b; ask @b for failure. Made once per recording. */
void sp_jfr_meta_build(struct sp_buf *b);

#endif
