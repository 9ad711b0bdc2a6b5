/* Strings of recordings, whatever their encoding, in UTF-8. */
#ifndef SP_JFR_STRING_DECODE_H
#define SP_JFR_STRING_DECODE_H

#include "base/buf.h"
#include "jfr/cursor.h"

/* @t in UTF-8, not terminated. Borrowed: from the file where it is plain ASCII, else from @b, to
 * the end of which it is converted. Surrogates without their other half are left out, and what is
 * no character becomes U+FFFD. Returns NULL if @b could not grow. @t is neither null nor a
 * reference to a pool. */
const char *sp_jfr_string_utf8(struct sp_buf *b, const struct sp_jfr_text *t, size_t *ret_len);

#endif
