/* The writer's staging buffer: see jfr_sink.h. */
#include "jfr/jfr_sink.h"

#include <errno.h>

static void spill(struct sp_jfr_sink *s)
{
	if (!s->file)
		s->error = s->error ? s->error : -ENOBUFS;
	else if (!s->error)
		s->error = sp_jfr_file_write(s->file, s->base, s->buf, s->len);
	s->base += s->len;
	s->len = 0;
}

uint8_t *sp_jfr_sink_room(struct sp_jfr_sink *s, size_t n)
{
	if (s->cap - s->len < n)
		spill(s);
	return s->buf + s->len;
}

void sp_jfr_sink_bytes(struct sp_jfr_sink *s, const void *data, size_t len)
{
	const uint8_t *from = data;

	while (len) {
		size_t n = s->cap - s->len < len ? s->cap - s->len : len;

		memcpy(s->buf + s->len, from, n);
		s->len += n;
		from += n;
		len -= n;
		if (len)
			spill(s);
	}
}

void sp_jfr_sink_patch(struct sp_jfr_sink *s, uint64_t offset, const void *data, size_t len)
{
	const uint8_t *from = data;

	for (size_t i = 0; i < len && !s->error; i++) {
		if (offset + i >= s->base)
			s->buf[offset + i - s->base] = from[i];
		else if (s->file)
			s->error = sp_jfr_file_write(s->file, offset + i, from + i, 1);
	}
}

int sp_jfr_sink_flush(struct sp_jfr_sink *s)
{
	if (s->file && s->len)
		spill(s);
	return s->error;
}
