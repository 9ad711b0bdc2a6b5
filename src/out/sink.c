/* A buffered descriptor with a sticky error: see sink.h. */
#include "out/sink.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLUSH_AT (64u << 10)

void sp_sink_init(struct sp_sink *s, int fd)
{
	s->fd = fd;
	s->error = 0;
	sp_buf_init(&s->buf);
}

static void write_all(struct sp_sink *s, const char *p, size_t n)
{
	while (n > 0 && s->error == 0) {
		ssize_t w = write(s->fd, p, n);

		if (w >= 0) {
			p += w;
			n -= (size_t)w;
		} else if (errno == EAGAIN) {
			struct pollfd pfd = {.fd = s->fd, .events = POLLOUT};

			poll(&pfd, 1, -1); /* a terminal or pipe that was set non-blocking */
		} else if (errno != EINTR) {
			s->error = -errno;
		}
	}
}

void sp_sink_flush(struct sp_sink *s)
{
	if (s->buf.failed && s->error == 0)
		s->error = -ENOMEM;
	if (s->fd < 0 || s->error < 0)
		return;
	write_all(s, s->buf.data, s->buf.len);
	s->buf.len = 0;
}

int sp_sink_done(struct sp_sink *s)
{
	sp_sink_flush(s);
	sp_buf_done(&s->buf);
	return s->error;
}

void sp_sink_write(struct sp_sink *s, const void *data, size_t n)
{
	if (s->error < 0)
		return;
	sp_buf_add(&s->buf, data, n);
	if (s->buf.len >= FLUSH_AT || s->buf.failed)
		sp_sink_flush(s);
}

void sp_sink_puts(struct sp_sink *s, const char *text)
{
	sp_sink_write(s, text, strlen(text));
}

void sp_sink_printf(struct sp_sink *s, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		if (s->error == 0)
			s->error = -ENOMEM;
		return;
	}
	sp_sink_write(s, text, (size_t)n);
	free(text);
}
