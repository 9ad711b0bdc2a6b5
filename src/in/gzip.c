/* Unpacking gzip: see gzip.h. */
#include "in/gzip.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/io.h"

#define PIECE (128u << 10)
/* Stacks as text pack well, up to some hundred to one; a file that unpacks to more than that and to
 * a lot is made to fill the disk. */
#define MOST_TIMES 250
#define ALWAYS	   (1ull << 30)

struct state {
	z_stream z;
	uint8_t in[PIECE], out[PIECE];
	int to;
	bool ended; /* behind a whole member */
	uint64_t read, written;
};

/* Unpacks what is in s->in. */
static int inflate_piece(struct state *s, size_t n)
{
	s->z.next_in = s->in;
	s->z.avail_in = (unsigned)n;
	while (s->z.avail_in || s->z.avail_out == 0) {
		int r, e;

		if (s->ended) { /* zeros behind a member are padding, anything else a new one */
			while (s->z.avail_in && !*s->z.next_in) {
				s->z.next_in++;
				s->z.avail_in--;
			}
			if (!s->z.avail_in)
				return 0;
			inflateReset(&s->z);
			s->ended = false;
		}
		s->z.next_out = s->out;
		s->z.avail_out = PIECE;
		r = inflate(&s->z, Z_NO_FLUSH);
		e = sp_io_write_all(s->to, s->out, PIECE - s->z.avail_out);
		if (e < 0)
			return e;
		s->written += PIECE - s->z.avail_out;
		if (s->written > ALWAYS && s->written / MOST_TIMES > s->read)
			return -EFBIG;
		if (r == Z_STREAM_END)
			s->ended = true;
		else if (r == Z_BUF_ERROR)
			return 0;
		else if (r != Z_OK)
			return r == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
	}
	return 0;
}

int sp_gunzip(int from, int to, struct sp_err *err)
{
	SP_AUTO_FREE struct state *s = calloc(1, sizeof(*s));
	uint64_t offset = 0;
	ssize_t n = 0;
	int r = 0;

	if (!s || inflateInit2(&s->z, 15 + 16) != Z_OK)
		return sp_err_set(err, -ENOMEM, "not enough memory to unpack it");
	s->to = to;
	s->z.avail_out = 1;
	while (r == 0 && (n = read(from, s->in, PIECE)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		s->read += n > 0 ? (uint64_t)n : 0;
		r = n < 0 ? -errno : inflate_piece(s, (size_t)n);
		offset += n > 0 ? (uint64_t)n - s->z.avail_in : 0;
	}
	inflateEnd(&s->z);
	if (r == 0 && !s->ended)
		return sp_err_set(err, -EBADMSG, "its gzip packing is cut off at offset %llu",
			(unsigned long long)offset);
	if (r == -EBADMSG)
		return sp_err_set(err, r, "its gzip packing is damaged near offset %llu",
			(unsigned long long)offset);
	if (r == -EFBIG)
		return sp_err_set(err, r,
			"unpacks to more than %d times its size: no recording does, so it is not "
			"read",
			MOST_TIMES);
	return r < 0 ? sp_err_set(err, r, "cannot be unpacked: %s", strerror(-r)) : 0;
}
