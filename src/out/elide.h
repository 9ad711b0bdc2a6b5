/* Inside of src/out: names made to fit a column. */
#ifndef SP_OUT_ELIDE_H
#define SP_OUT_ELIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Appends @name in at most @width columns, losing the least useful first: package names become
 * letters (o.a.s.sql.Foo.bar), Rust's "<Type as Trait>::f" becomes "Type::f", template arguments
 * "<>", and at last the start becomes "...". Control characters become blanks. */
void sp_elide(const char *name, size_t width, struct sp_buf *out);

/* The same for words that are no method's name: what is in the middle becomes "...", for both ends
 * may be the only difference between two of them ("SQL 4: collect at ...job.py:31"). */
void sp_elide_middle(const char *name, size_t width, struct sp_buf *out);

/* Columns of UTF-8 text, one per code point. */
size_t sp_elide_columns(const char *s, size_t len);

/* Appends @text broken at blanks into lines of at most @width columns; lines after the first start
 * with @indent blanks, which count. @used: columns that the first line has already. */
void sp_elide_wrap(const char *text, size_t used, size_t indent, size_t width, struct sp_buf *out);

#endif
