/* Spans that the program marks itself (api/sparkprof.h), on their way to the recording: a queue of
 * fixed size, which stays for the life of the process. */
#ifndef SP_AGENT_COLLECT_MARKS_H
#define SP_AGENT_COLLECT_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_MARK_TAG 96u

struct sp_mark {
	uint64_t start_ns, end_ns;
	uint32_t tid;
	char tag[SP_MARK_TAG];
};

/* The calling thread did what @tag (of @len bytes, cut to fit) says from @start_ns until now. Any
 * thread, lock-free, not a signal handler. Returns whether it was taken: not where nothing records,
 * or the queue is full (counted). */
bool sp_marks_add(uint64_t start_ns, const char *tag, size_t len);

/* The collector: from now on marks are taken; or no more, and those that are there can be read. */
void sp_marks_begin(void);
void sp_marks_end(void);

/* The same: calls @fn for each, oldest first. Returns how many were lost since the last time. */
uint64_t sp_marks_take(void (*fn)(void *ctx, const struct sp_mark *m), void *ctx);

#endif
