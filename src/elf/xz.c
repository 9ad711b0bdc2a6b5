/* Decompressing .gnu_debugdata: see xz.h. */
#include "elf/xz.h"

#include <errno.h>
#include <lzma.h>

#define DECODER_MEMORY (64u << 20)
#define STEP	       (256u << 10)

int sp_xz_decode(const void *data, size_t len, size_t max, struct sp_buf *ret, struct sp_err *err)
{
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret r = lzma_stream_decoder(&s, DECODER_MEMORY, 0);
	size_t start = ret->len;

	s.next_in = data;
	s.avail_in = len;
	while (r == LZMA_OK && ret->len - start <= max) {
		size_t had = ret->len;

		s.next_out = sp_buf_reserve(ret, STEP);
		s.avail_out = STEP;
		if (!s.next_out) {
			r = LZMA_MEM_ERROR;
			break;
		}
		r = lzma_code(&s, LZMA_FINISH);
		ret->len = had + (STEP - s.avail_out);
	}
	lzma_end(&s);
	if (ret->len - start > max)
		return sp_err_set(err, -EFBIG, "mini-debuginfo is too large");
	if (r == LZMA_MEM_ERROR || r == LZMA_MEMLIMIT_ERROR)
		return sp_err_set(err, -ENOMEM, "not enough memory for the mini-debuginfo");
	if (r != LZMA_STREAM_END)
		return sp_err_set(err, -EBADMSG, "the mini-debuginfo is damaged");
	return 0;
}
