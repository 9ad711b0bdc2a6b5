/* Which task a thread was working on: spans of time by thread (profiler.Span), and thread names as
 * Spark's executors write them. Inside of src/prof. */
#ifndef SP_PROF_SPANS_H
#define SP_PROF_SPANS_H

#include "base/buf.h"
#include "prof/load.h"

#include <stdbool.h>

struct sp_span {
	uint32_t tid;
	uint64_t start_ns, end_ns;
	char *tag; /* owned */
};

struct sp_spans {
	struct sp_span *list; /* owned; by tid, then start */
	size_t count, cap;
	size_t stages; /* of how many tags name a stage or task */
};

/* Reads all spans of a recording. Returns 0 or -ENOMEM; a damaged file gives those before. */
int sp_spans_read(struct sp_spans *s, int fd);
void sp_spans_done(struct sp_spans *s);

/* The innermost span of a thread at a time, or NULL. */
const struct sp_span *sp_spans_find(const struct sp_spans *s, uint32_t tid, uint64_t time_ns);

/* Appends "stage 7.0" or "task 3.0 in stage 7.0 (TID 42)" as a thread's name or a span's tag says
 * it. Returns false, with nothing appended, where it says none. */
bool sp_spans_label(enum sp_by by, const char *text, struct sp_buf *out);

#endif
