/* Where a report goes: a buffered descriptor, or memory, with a sticky error. Writers write freely
 * and whoever opened the sink asks once, at the end. */
#ifndef SP_OUT_SINK_H
#define SP_OUT_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct sp_sink {
	int fd; /* borrowed; -1: everything stays in buf */
	struct sp_buf buf;
	int error; /* 0 or the first -errno; nothing is written after it */
};

/* @fd: borrowed until sp_sink_done; -1 collects in memory (sink.buf). A pipe without a reader
 * gives -EPIPE: the program must ignore SIGPIPE. */
void sp_sink_init(struct sp_sink *s, int fd);

/* Writes what is left. Returns 0, or the first error of all. Frees the buffer. */
int sp_sink_done(struct sp_sink *s);

void sp_sink_write(struct sp_sink *s, const void *data, size_t n);
void sp_sink_puts(struct sp_sink *s, const char *text);
void sp_sink_printf(struct sp_sink *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Hands everything so far to the descriptor. */
void sp_sink_flush(struct sp_sink *s);

#endif
