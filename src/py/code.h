/* Code objects of another process: function, file and lines, kept by address and checked whenever
 * they are met again, for addresses are used again too. */
#ifndef SP_PY_CODE_H
#define SP_PY_CODE_H

#include "py/object.h"

struct sp_pycode {
	uint64_t addr;
	uint8_t head[SP_PY_CODE_MAX]; /* the object's first bytes: what it is checked by */
	char *name;	/* owned: qualified from 3.11 on; "<listcomp>", "<lambda>" … */
	char *file;	/* owned: as it was compiled; "<stdin>", "<frozen …>" */
	int first;	/* line */
	uint8_t *lines; /* owned: table for sp_pyline */
	size_t lines_len;
	size_t bytes;		   /* that it takes, about */
	uint32_t id;		   /* different for each that was ever read, from 1 */
	uint32_t user, user_epoch; /* the user's; 0 whenever it was read anew */
	int64_t line_of; /* the offset that was asked for last, and its line; line 0: none */
	int line;
};

struct sp_pycodes {
	struct sp_pycode **slots; /* by address; owned */
	size_t size, count;
	size_t bytes; /* that all of them take, about */
	uint32_t next_id;
};

void sp_pycodes_done(struct sp_pycodes *c);

/* Forgets all where there are too many: between stacks. */
void sp_pycodes_trim(struct sp_pycodes *c);

/* The code at @addr, which now begins with the bytes @head (layout.co_size of them, owner: the
 * caller). Borrowed until another code is found at that address, or _trim. NULL where there is no
 * code object, or it cannot be read. */
struct sp_pycode *sp_pycodes_get(
	struct sp_pycodes *c, struct sp_pyheap *h, uint64_t addr, const uint8_t *head);

/* The line of the instruction at @offset (bytes). */
int sp_pycode_line(struct sp_pycode *code, unsigned minor, int64_t offset);

#endif
