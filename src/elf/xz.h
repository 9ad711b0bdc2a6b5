/* Inside of src/elf: xz, as mini-debuginfo uses it. */
#ifndef SP_ELF_XZ_H
#define SP_ELF_XZ_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the decompressed bytes to @ret, at most @max.
 * Returns: 0; -EBADMSG: damaged; -EFBIG: more than @max; -ENOMEM (also above the 64 MB that a
 * decoder may take). */
int sp_xz_decode(const void *data, size_t len, size_t max, struct sp_buf *ret, struct sp_err *err);

#endif
