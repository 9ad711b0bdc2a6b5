/* A growable run of bytes with a sticky error: append freely, ask once.
 * Outside of handlers only. */
#ifndef SP_BASE_BUF_H
#define SP_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_buf {
	char *data; /* owned; not terminated unless sp_buf_str was called */
	size_t len, cap;
	bool failed; /* an allocation failed: everything after it was dropped */
};

void sp_buf_init(struct sp_buf *b);
void sp_buf_done(struct sp_buf *b);
void sp_buf_clear(struct sp_buf *b); /* len = 0, memory kept, error forgotten */

/* Makes room for @n more bytes. Returns the place to write to (the caller then adds to len), or
 * NULL once failed. Valid until the next call. */
void *sp_buf_reserve(struct sp_buf *b, size_t n);

void sp_buf_add(struct sp_buf *b, const void *data, size_t n);
void sp_buf_adds(struct sp_buf *b, const char *s);
void sp_buf_addc(struct sp_buf *b, char c);
void sp_buf_addf(struct sp_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The contents as a C string, borrowed until the next call; "" when failed. */
const char *sp_buf_str(struct sp_buf *b);

/* Reads all of @fd into @b, at most @max bytes. Returns 0, -errno, or -EFBIG beyond @max. */
int sp_buf_read_fd(struct sp_buf *b, int fd, size_t max);

#define SP_AUTO_BUF __attribute__((cleanup(sp_buf_done)))

#endif
