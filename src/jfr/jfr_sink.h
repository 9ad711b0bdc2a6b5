/* Where the writer's bytes go on their way: a staging buffer that spills to a file at an offset, or
 * memory alone (for streams). Earlier bytes may be patched. Sticky error, asked once. */
#ifndef SP_JFR_JFR_SINK_H
#define SP_JFR_JFR_SINK_H

#include "jfr/encode.h"
#include "jfr/file.h"

struct sp_jfr_sink {
	uint8_t *buf; /* borrowed */
	size_t len, cap;
	uint64_t base;		  /* offset of buf[0] */
	struct sp_jfr_file *file; /* NULL: memory alone */
	int error;
};

/* The next @n bytes to write to (n ≤ 64, and the caller adds what it used to len). */
uint8_t *sp_jfr_sink_room(struct sp_jfr_sink *s, size_t n);

void sp_jfr_sink_bytes(struct sp_jfr_sink *s, const void *data, size_t len);

/* Rewrites bytes that were written, at @offset. */
void sp_jfr_sink_patch(struct sp_jfr_sink *s, uint64_t offset, const void *data, size_t len);

/* Everything to the file. Returns 0 or the first error. */
int sp_jfr_sink_flush(struct sp_jfr_sink *s);

static inline uint64_t sp_jfr_sink_at(const struct sp_jfr_sink *s)
{
	return s->base + s->len;
}

static inline void sp_jfr_sink_long(struct sp_jfr_sink *s, uint64_t v)
{
	uint8_t *p = sp_jfr_sink_room(s, SP_JFR_MAX_LONG);

	s->len += (size_t)(sp_jfr_put_long(p, v) - p);
}

/* UTF-8 also when it is empty: async-profiler's reader knows no other encoding of a symbol. */
static inline void sp_jfr_sink_text(struct sp_jfr_sink *s, const char *text, size_t len)
{
	sp_jfr_sink_long(s, SP_JFR_STR_UTF8);
	sp_jfr_sink_long(s, len);
	sp_jfr_sink_bytes(s, text, len);
}

#endif
