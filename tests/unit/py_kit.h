/* What the tests of src/py share: recorded memory of a Python that runs
 * tests/python/targets/where.py (tests/kit/pymem_record.c makes it), to be read whole, changing or
 * with words in it that tests put there. */
#ifndef PY_KIT_H
#define PY_KIT_H

#include "py/stack_reader.h"

enum { BLOCK = 64 };

struct block {
	uint64_t addr;
	uint8_t bytes[BLOCK];
};

struct memory {
	uint64_t minor, runtime;
	struct block *blocks;
	size_t count;
	uint64_t bytes;		     /* read so far */
	size_t reads_left;	     /* then the process has ended; 0: it does not */
	uint64_t torn_at, torn_with; /* a word that reads otherwise in the second copy */
	unsigned (*torn)(size_t span, size_t n); /* NULL: never */
};

/* ctx: struct memory */
sp_pymem_read_fn memory_read;

/* Of Python 3.@minor. Owner of blocks: the caller, free(3). */
struct memory memory_load(unsigned minor);

/* As sp_pyreader_init. */
int memory_begin(struct sp_pyreader *r, struct memory *m);

/* Puts a word there; nothing where that was not recorded. */
void memory_poke(struct memory *m, uint64_t addr, uint64_t word);

/* Asserts that it is the main thread's stack without its newest @skip frames. */
void check_main(const struct sp_pystack *s, unsigned minor, size_t skip);

#endif
