/* Concatenation of recordings: a JFR file is a sequence of chunks. */
#ifndef SP_JFR_CONCAT_H
#define SP_JFR_CONCAT_H

#include <stdint.h>

/* Appends all of @from to @to, at its position. Returns 0 or -errno. */
__attribute__((warn_unused_result)) int sp_jfr_concat_append(int from, int to);

/* Puts @from behind @to, once: what was sampled at the same time and is no longer written to. @from
 * is empty then, so that whoever else would do the same finds nothing. Returns 0 or -errno. */
__attribute__((warn_unused_result)) int sp_jfr_concat_join(int from, int to);

/* Appends a chunk without constants. The JDK's reader takes a constant for the one that the chunk
 * before had under the same id: with this between them, recordings of two writers are not mixed up.
 * @next: the recording that follows; the separator takes its start time. Returns 0 or -errno. */
__attribute__((warn_unused_result)) int sp_jfr_concat_separator(int to, int next);

/* Sets the duration in the headers of @fd's chunks to 0: they cover the same time as the chunks
 * they will follow, and readers add durations up. Returns 0, -EBADMSG or -errno. */
__attribute__((warn_unused_result)) int sp_jfr_concat_zero_durations(int fd);

/* Adds @ns to the time at which each whole chunk begins, and so to those of its events: it was
 * recorded by a clock that is off by that. Returns 0, -EBADMSG or -errno. */
__attribute__((warn_unused_result)) int sp_jfr_concat_shift(int fd, int64_t ns);

#endif
