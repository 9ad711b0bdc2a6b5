/* A JFR file that is valid at every instant, whatever its writer dies of. Bytes become part of the
 * recording in one step, or not at all. The writer (writer.c) fills it; nothing here knows events.
 *
 * The file's size is the sum of its chunks' sizes at all times, because readers refuse anything
 * else. What is not used yet is covered by pads: events that readers skip (of type 0, the metadata
 * event's, which readers take from the header's offset and skip silently in the stream of events).
 *
 *   chunk:  header | bridge | metadata | … committed … | P | E | free room … | Q | to the chunk's
 * end
 *
 *   P  the live pad: its length covers everything up to Q, so the free room is invisible.
 *   E  an empty checkpoint inside P's body, the end of the chain of constants that starts at the
 *      header's constant-pool offset (which never changes: the chain runs forward).
 *   Q  a pad from P's end to the chunk's end.
 *
 * A flush writes, all inside P's body: a checkpoint C and the events, then the next P' and E', and
 * Q' behind them. Then two single bytes make it part of the recording:
 *   1. E's link, from 0 (end of chain) to 8 (C follows): constants that nobody refers to yet;
 *   2. P's length, of which one byte changes (its low 14 or 21 bits are 8 at all times): P shrinks
 *      to a stub of 8 bytes, and E, C, the events and P' are what follows.
 * A single byte cannot be half written.
 *
 * The file grows by whole pages, each appended by one write that does not cross a page: the kernel
 * makes the data and the new size visible together, and does not look at signals in between. Each
 * such page is a complete, empty chunk. Then the chunk's size in its header (8 aligned bytes, of
 * which mostly one changes) swallows them: seen from inside, a chunk's magic "FLR\0" is an event of
 * 70 bytes of type 'L', which is not declared, and at byte 70 follows a pad (the bridge). An empty
 * flush then makes one pad of it all.
 *
 * A chunk ends by the reverse: the next chunk is written into the free room, bridge included, and
 * the size in the old header cut down to where it starts. At close the next chunk is an empty one,
 * and is then truncated away. */
#ifndef SP_JFR_FILE_H
#define SP_JFR_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_JFR_PAGE 4096u

struct sp_jfr_chunk {
	uint64_t start;		   /* in the file */
	uint64_t pad;		   /* P */
	uint64_t cover;		   /* Q */
	uint64_t wall_ns, mono_ns; /* when it began */
	uint8_t shift;		   /* P covers 8 + n << shift */
};

struct sp_jfr_file {
	int fd;		 /* borrowed */
	int error;	 /* first one; nothing is written after it */
	uint64_t end;	 /* of the file and of its last chunk */
	uint64_t now_ns; /* of the last commit, CLOCK_MONOTONIC */
	struct sp_jfr_chunk c;
	const uint8_t *meta; /* the metadata event, borrowed */
	uint32_t meta_len;
	uint8_t empty[SP_JFR_PAGE]; /* what growing appends */
};

/* Begins the first chunk of a file that holds @behind bytes of whole chunks, mostly 0. While it
 * begins, and only then, the file is not valid: it has nothing to lose, or is a copy that does not
 * have its name yet. Returns 0 or -errno. */
int sp_jfr_file_begin(struct sp_jfr_file *f, int fd, uint64_t behind, const uint8_t *meta,
	uint32_t meta_len, uint64_t wall_ns, uint64_t mono_ns);

/* Makes room for a flush of @len bytes. Returns the offset to write them at (checkpoint first), or
 * 0 after an error. They are not part of the recording before sp_jfr_file_commit. */
uint64_t sp_jfr_file_reserve(struct sp_jfr_file *f, uint64_t len);

/* Writes into the room. Returns 0 or -errno. */
int sp_jfr_file_write(struct sp_jfr_file *f, uint64_t offset, const void *data, size_t len);

/* Where the next E will be after a flush of @len bytes: what C's link must lead to. */
uint64_t sp_jfr_file_next(const struct sp_jfr_file *f, uint64_t len);

/* Makes @len bytes part of the recording; @now_ns is CLOCK_MONOTONIC. Returns 0 or -errno. */
int sp_jfr_file_commit(struct sp_jfr_file *f, uint64_t len, uint64_t now_ns);

/* After an error: writes @len bytes of events that need no constants where room was kept for them,
 * on a disk that may be full. Whether they get there is not reported; the error stays. */
#define SP_JFR_LAST_WORDS 512u
void sp_jfr_file_last_words(
	struct sp_jfr_file *f, const uint8_t *events, size_t len, uint64_t now_ns);

/* Ends the chunk and begins the next. Returns 0 or -errno. */
int sp_jfr_file_rotate(struct sp_jfr_file *f, uint64_t wall_ns, uint64_t mono_ns);

/* Ends the last chunk and gives the free room back. Returns 0 or -errno. */
int sp_jfr_file_finish(struct sp_jfr_file *f);

/* Encodes a chunk header with the given size; for streams. @to: SP_JFR_HEADER bytes. */
void sp_jfr_header(uint8_t *to, uint64_t size, uint64_t pool, uint64_t meta, uint64_t wall_ns,
	uint64_t duration_ns, uint64_t mono_ns);

/* A checkpoint's head; its link leads @link bytes on, or ends the chain with 0. */
#define SP_JFR_CHECKPOINT_BYTES 16
void sp_jfr_checkpoint(uint8_t *to, uint32_t size, uint32_t link, uint32_t pools);

#endif
