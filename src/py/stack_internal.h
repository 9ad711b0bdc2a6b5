/* Inside of src/py: the room that reading a stack needs. */
#ifndef SP_PY_STACK_INTERNAL_H
#define SP_PY_STACK_INTERNAL_H

#include "py/stack_reader.h"

enum {
	SP_PY_CHUNK_MAX = 1 << 16,
	SP_PY_LOOSE_MAX = 2 * SP_PY_DEPTH_MAX, /* frames outside of the chunk */
};

struct sp_pylink {
	uint64_t addr, code, instr, func;
	bool runs;   /* it executes, itself or C code that it called: it waits for no Python call */
	bool begins; /* it is at its first instruction */
	bool entry;  /* C code called it, or it is what C code left on its own stack for that */
	bool bare;   /* what C code left there: it has no code of its own */
	bool called; /* the one below it called it, as far as that is known */
};

/* One of the two copies. */
struct sp_pycopy {
	uint8_t thread[SP_PY_THREAD_MAX];
	uint64_t cframe_frame;
	uint8_t chunk[SP_PY_CHUNK_MAX];
	uint8_t loose[SP_PY_LOOSE_MAX][SP_PY_FRAME_MAX];
	struct sp_pylink chain[SP_PY_DEPTH_MAX];
	size_t count;
	bool ended, full; /* it came to the root; it has more frames than fit */
	uint64_t missing; /* a frame that was not copied; 0: none */
};

/* How many frames of the chain, counted from the root, are in use where @chain is one copy of them
 * (leaf first): what lies beyond may be left over from calls that have ended.
 * *ret_sure: false where the newest ones may be such. */
size_t sp_pyframes_in_use(
	const struct sp_pylayout *l, const struct sp_pylink *chain, size_t n, bool *ret_sure);

/* Whether the frame at @addr, of which @room bytes are copied, keeps @callee as one that it called.
 */
bool sp_pycall_fits(const struct sp_pylayout *l, const struct sp_pylink *callee, uint64_t addr,
	const uint8_t *caller, size_t room);
/* Where the instruction is that a waiting frame executes, and whether it would have to fit. */
uint64_t sp_pycall_site(const struct sp_pylayout *l, const struct sp_pylink *caller);
bool sp_pycall_is_call(const struct sp_pylayout *l, uint8_t opcode);
/* Whether a frame at this instruction has ended, or handed over a value: it calls nothing. */
bool sp_pycall_is_return(const struct sp_pylayout *l, uint8_t opcode);

/* Whether the last @n frames of the first copy's chain, which begin at @chain and have their code
 * read (r->walk->heads), can be a stack. */
bool sp_pychain_check(const struct sp_pyreader *r, const struct sp_pythread *t,
	const struct sp_pylink *chain, size_t n);

struct sp_pywalk {
	struct sp_pycopy copies[2];
	size_t chunk_len;
	struct sp_pyspan spans[2 * (SP_PY_LOOSE_MAX + 3)];
	uint8_t heads[SP_PY_DEPTH_MAX][SP_PY_CODE_MAX];
	uint8_t ahead[SP_PYAHEAD_BYTES];
};

#endif
