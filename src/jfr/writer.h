/* Writes a recording: events into a buffer, and at each flush the buffer and what is new in the
 * dictionary into a JFR file that is valid at every instant (file.h says how), or, to a pipe, a
 * chunk that is complete by itself. One owner: the agent's collector, or a test; never a signal
 * handler. Memory: sp_jfrw_new takes all it will ever take (buffer + about 80 KB). */
#ifndef SP_JFR_WRITER_H
#define SP_JFR_WRITER_H

#include "base/err.h"
#include "dict/dict.h"
#include "jfr/types.h"

struct sp_jfrw;

struct sp_jfrw_cfg {
	size_t buffer;		/* bytes of events between flushes; 0: 256 KB. A full one flushes */
	uint64_t chunk_size;	/* a chunk ends at the flush after so many bytes; 0: 64 MB */
	uint64_t chunk_time_ns; /* … or after so long; 0: one hour */
	uint8_t stream; /* @fd is a pipe: each flush is a whole chunk and nothing is patched */
	uint8_t append; /* @fd holds whole chunks already: go on behind them */
};

/* A field of an event, in the order of its fields in types.c (event_fields.h names them). u:
 * numbers, booleans, times, and ids of the dictionary for threads, stacks, classes (the string id
 * of the name) and pooled strings. f: float and double. s: strings (UTF-8, cut at 32 KB; NULL is
 * null). Fields of a nested struct are in its place. */
union sp_jfr_val {
	uint64_t u;
	double f;
	const char *s;
};

/* Begins a recording in @fd: an empty regular file open for reading and writing without O_APPEND,
 * with cfg->append one that holds whole chunks of anybody's and does not have its final name yet,
 * or with cfg->stream anything that can be written.
 * Owner:   @fd and @dict stay the caller's and must outlive the writer.
 * Returns: 0, or -errno with a sentence in @err (may be NULL). */
int sp_jfrw_new(struct sp_jfrw **ret, int fd, struct sp_dict *dict, const struct sp_jfrw_cfg *cfg,
	struct sp_err *err);

/* Adds an event. Times are CLOCK_MONOTONIC. Never fails where it is called: an error is kept and
 * given by the next flush, and until then events are dropped. */
void sp_jfrw_event(struct sp_jfrw *w, enum sp_jfr_type_id type, const union sp_jfr_val *vals);

/* The two frequent events; @thread and @stack are ids of the dictionary. */
void sp_jfrw_sample(
	struct sp_jfrw *w, uint64_t time_ns, uint32_t thread, uint32_t stack, enum sp_state state);
void sp_jfrw_wall(struct sp_jfrw *w, uint64_t time_ns, uint32_t thread, uint32_t stack,
	enum sp_state state, uint32_t samples, uint64_t span_ns);

/* Makes everything added so far durable: after it returns, kill -9 of the process loses none of it.
 * Returns: 0;
 *   1: a chunk is complete (it was big or old enough, or this is a stream). Before the next event
 *      the caller resets the dictionary and forgets every id it has kept, and writes again what
 *      each chunk should say (settings, JVM information, modules);
 *   -errno: the first error, for ever after; the file holds every flush before it. */
int sp_jfrw_flush(struct sp_jfrw *w);

/* The same, and ends the chunk in any case (a dictionary that is nearly full). Returns 1 or -errno.
 */
int sp_jfrw_rotate(struct sp_jfrw *w);

/* The same, and goes on in another file, @fd, empty and open as for sp_jfrw_new. The one before is
 * complete then, and not used any more. Returns 1 or -errno. */
int sp_jfrw_switch(struct sp_jfrw *w, int fd);

/* Flushes, gives the unused end of the file back, and frees @w whatever happens.
 * Returns: 0 or the first error. */
int sp_jfrw_close(struct sp_jfrw *w);

/* Bytes of the recording so far, flushed or not; the first error or 0. */
uint64_t sp_jfrw_bytes(const struct sp_jfrw *w);
int sp_jfrw_error(const struct sp_jfrw *w);

#endif
