/* Where a recording is read from: a regular file chunk by chunk, anything else read whole first. */
#ifndef SP_JFR_CHUNK_SOURCE_H
#define SP_JFR_CHUNK_SOURCE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct sp_jfr_chunk_source {
	int fd; /* borrowed */
	uint64_t size;
	struct sp_buf all; /* a pipe's contents */
	bool whole;
	uint8_t *piece; /* owned */
	size_t cap;
	bool quiet; /* nobody has written to the file for a while */
	void *map;  /* owned: the chunk, where it is mapped */
	size_t map_len;
};

/* Returns 0, or -errno with a sentence; sp_jfr_chunk_source_done in any case. */
int sp_jfr_chunk_source_open(struct sp_jfr_chunk_source *s, int fd, struct sp_err *err);
void sp_jfr_chunk_source_done(struct sp_jfr_chunk_source *s);

/* Loads the chunk at @at: what its header says, at most what there is. *ret is borrowed until the
 * next call. Returns the number of bytes, or -errno. */
int64_t sp_jfr_chunk_source_chunk(struct sp_jfr_chunk_source *s, uint64_t at, const uint8_t **ret);

/* Gives the memory of a mapped chunk back; what is read again comes from the file again. For
 * readers of large chunks, now and then. */
void sp_jfr_chunk_source_relax(struct sp_jfr_chunk_source *s);

/* Where the next chunk starts at or behind @at; the file's size if there is none; -errno. */
int64_t sp_jfr_chunk_source_find(struct sp_jfr_chunk_source *s, uint64_t at);

#endif
