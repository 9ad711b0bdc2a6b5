/* Python and native frames of one thread as one stack. Pure. */
#ifndef SP_PY_MIXED_STACK_H
#define SP_PY_MIXED_STACK_H

#include "py/stack_reader.h"

struct sp_pynative_frame {
	const char *module; /* last part of its path; "": none covers it */
	const char *name;   /* as its file has it; NULL: unknown */
};

struct sp_pymixed_frame {
	const struct sp_pycode *code; /* a Python frame; NULL: a native one */
	int line;
	struct sp_pynative_frame native;
};

#define SP_PYMIXED_MAX (2 * SP_PY_DEPTH_MAX)

struct sp_pymixed {
	struct sp_pymixed_frame frames[SP_PYMIXED_MAX]; /* leaf first; borrowed until the next */
	size_t count;
	bool truncated; /* native frames below the last are missing */
};

/* Puts the frames of @python in the places of the evaluator's own frames in @native (both leaf
 * first): each represents the Python frames down to the one that C code called. @whole: the native
 * frames go down to the thread's start; then the oldest are matched first, for the newest call may
 * just begin, or its native frame have no name; else the newest. Python frames that find no place
 * are at the end. Writes at most @cap. Returns how many. */
size_t sp_pymixed(const struct sp_pystack *python, const struct sp_pynative_frame *native, size_t n,
	bool whole, struct sp_pymixed_frame *ret, size_t cap);

#endif
