/* Unpacking what Spark's codecs write: zstd, lz4-java's block stream, snappy-java's stream, known
 * by their first bytes. Inside of src/in. */
#ifndef SP_IN_DECOMPRESS_H
#define SP_IN_DECOMPRESS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Unpacks the bytes of @from into the file @to; what is not packed is copied.
 * Returns: 0; -EBADMSG with a sentence where the packing is damaged or cut (a log that is still
 * being written), after everything before it was written; another -errno. */
int sp_decompress(const uint8_t *from, size_t len, int to, struct sp_err *err);

/* One block. *ret_len is the room at @to before and the length after. Returns 0 or -EBADMSG. */
int sp_decompress_lz4(const uint8_t *from, size_t len, uint8_t *to, size_t *ret_len);
int sp_decompress_snappy(const uint8_t *from, size_t len, uint8_t *to, size_t *ret_len);

#endif
