/* Reading again what was read the last time, in one call: a process that is looked at fifty times a
 * second is asked for the same few dozen places each time, and a call costs more than the places
 * do.
 *
 * Between _begin and _end each read is answered from what _begin read, where it asks for the same
 * as one of the last look did, and from the process otherwise. The order of the last look is kept:
 * what was read twice, or behind something else, is so again. */
#ifndef SP_PY_READ_AHEAD_H
#define SP_PY_READ_AHEAD_H

#include "py/target_mem.h"

enum { SP_PYAHEAD_SPANS = 512, SP_PYAHEAD_BYTES = 1 << 16 };

struct sp_pyahead_span {
	uint64_t addr;
	uint32_t len;
	uint32_t calls_for; /* in the first of a call: how many it asked for; else 0 */
	uint32_t at;	    /* where in the room it lies */
};

struct sp_pyahead_look {
	struct sp_pyahead_span *spans; /* owned */
	size_t count, cap;
	bool full; /* it read more than is kept */
};

struct sp_pyahead {
	struct sp_pymem from; /* where everything else is read */
	struct sp_pyahead_look last, now;
	const uint8_t *room; /* what was read of last's spans; NULL: not between the two */
	size_t got;	     /* of them that were read */
	size_t next;	     /* what was not asked for again yet */
};

/* ctx: struct sp_pyahead */
sp_pymem_read_fn sp_pyahead_read;

/* @room: SP_PYAHEAD_BYTES, borrowed until _end. */
void sp_pyahead_begin(struct sp_pyahead *a, uint8_t *room);
void sp_pyahead_end(struct sp_pyahead *a);
void sp_pyahead_done(struct sp_pyahead *a);

#endif
