/* What the tests of src/jfr share: a recording made by a script, read back and counted; writes that
 * are journalled, disks that fill up and allocations that fail, by wrapping the calls at link time.
 */
#ifndef JFR_KIT_H
#define JFR_KIT_H

#include "../kit/jfr_script.h"
#include "jfr/reader.h"

#include <stdbool.h>
#include <sys/types.h>

struct op {
	off_t offset;
	size_t len; /* ftruncate: 0 */
	uint8_t *data;
	unsigned flushes; /* complete before it */
};

extern struct op journal[8192];
extern unsigned journal_len, flushes_done;
extern bool journalling;
extern off_t disk_full; /* writes beyond fail; -1: none does */
extern long fail_alloc; /* allocations until one fails; -1: none does */

struct found {
	uint64_t cpu, wall, span, settings, weight;
	uint64_t no_stack, no_thread;
	uint64_t states[SP_STATES];
	struct sp_dict *dict;
	char text[256]; /* of the last event with text */
	double ratio;
};

/* Reads the recording in @fd and counts what is in it. */
int read_fd(int fd, struct found *f, struct sp_jfr_stats *st, struct sp_err *err);

int memory_file(const void *data, size_t len);

/* Writes a recording; rotates after every @every-th flush. */
int record(int fd, unsigned flushes, unsigned samples, unsigned depth, unsigned every, bool stream);

uint64_t be64(const uint8_t *p);

#endif
