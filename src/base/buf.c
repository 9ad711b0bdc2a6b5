/* Growable bytes: see buf.h. */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sp_buf_init(struct sp_buf *b)
{
	memset(b, 0, sizeof(*b));
}

void sp_buf_done(struct sp_buf *b)
{
	free(b->data);
	sp_buf_init(b);
}

void sp_buf_clear(struct sp_buf *b)
{
	b->len = 0;
	b->failed = false;
}

void *sp_buf_reserve(struct sp_buf *b, size_t n)
{
	size_t need, cap;
	char *data;

	if (b->failed)
		return NULL;
	if (__builtin_add_overflow(b->len, n, &need)) {
		b->failed = true;
		return NULL;
	}
	if (need <= b->cap && b->data)
		return b->data + b->len;
	cap = b->cap ? b->cap : 256;
	while (cap < need)
		cap += cap / 2;
	data = realloc(b->data, cap);
	if (!data) {
		b->failed = true;
		return NULL;
	}
	b->data = data;
	b->cap = cap;
	return data + b->len;
}

void sp_buf_add(struct sp_buf *b, const void *data, size_t n)
{
	void *to = sp_buf_reserve(b, n);

	if (!to || !n)
		return;
	memcpy(to, data, n);
	b->len += n;
}

void sp_buf_adds(struct sp_buf *b, const char *s)
{
	sp_buf_add(b, s, strlen(s));
}

void sp_buf_addc(struct sp_buf *b, char c)
{
	sp_buf_add(b, &c, 1);
}

void sp_buf_addf(struct sp_buf *b, const char *fmt, ...)
{
	va_list ap;
	char *to;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	to = sp_buf_reserve(b, (size_t)n + 1);
	if (!to)
		return;
	va_start(ap, fmt);
	vsnprintf(to, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

const char *sp_buf_str(struct sp_buf *b)
{
	char *to = sp_buf_reserve(b, 1);

	if (!to)
		return "";
	*to = '\0';
	return b->data;
}

int sp_buf_read_fd(struct sp_buf *b, int fd, size_t max)
{
	for (size_t got = 0;;) {
		char *to = sp_buf_reserve(b, 4096);
		ssize_t n;

		if (!to)
			return -ENOMEM;
		n = read(fd, to, 4096);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		b->len += (size_t)n;
		got += (size_t)n;
		if (got > max)
			return -EFBIG;
	}
}
