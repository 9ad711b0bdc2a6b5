/* Whether a frame was called by the one below it: see stack_internal.h.
 *
 * A Python function that calls another has left it among its own operands, just above those that
 * are in use, and nothing is put there until the callee has ended; one that resumes a generator has
 * that on top of them. So two frames of different calls, copied at different times, are separated
 * from a call that was. Properties, subscripts and other calls that no CALL instruction makes leave
 * nothing there: these are not noticed, but for frames that have returned and still say where. */
#include "py/stack_internal.h"

#include <string.h>

bool sp_pycall_fits(const struct sp_pylayout *l, const struct sp_pylink *callee, uint64_t addr,
	const uint8_t *caller, size_t room)
{
	enum { IN_GENERATOR = 128 }; /* a generator's frame lies so near behind its beginning */
	uint64_t mask = l->minor >= 14 ? ~7ull : ~0ull, top;
	int32_t depth;

	memcpy(&depth, caller + l->fr_top, sizeof(depth));
	top = l->minor >= 14 ? sp_pyword(caller + l->fr_top) - addr
			     : l->fr_slots + 8ull * (uint32_t)depth;
	if (top > room || top < l->fr_slots)
		return false;
	for (uint64_t at = top; at < top + 16 && at + 8 <= room; at += 8)
		if ((sp_pyword(caller + at) & mask) == callee->func)
			return true;
	for (uint64_t at = top; at > l->fr_slots && at + 16 > top; at -= 8) {
		uint64_t generator = sp_pyword(caller + at - 8) & mask;

		if (callee->addr > generator && callee->addr - generator < IN_GENERATOR)
			return true;
	}
	return false;
}

uint64_t sp_pycall_site(const struct sp_pylayout *l, const struct sp_pylink *caller)
{
	/* before 3.13 it is the last word of the instruction, behind its caches */
	static const uint8_t behind[] = {[11] = 8, [12] = 6, [13] = 0, [14] = 0};

	return caller->instr - behind[l->minor];
}

bool sp_pycall_is_call(const struct sp_pylayout *l, uint8_t opcode)
{
	/* CALL and those of its specialised forms that enter a Python function; FOR_ITER_GEN and
	 * SEND_GEN where they are known by their first word: opcode.h */
	static const uint8_t calls[][7] = {[11] = {171, 22, 23, 24},
		[12] = {171, 23, 24, 28},
		[13] = {53, 163, 164, 177, 178, 187, 208},
		[14] = {52, 161, 162, 171, 197}};

	return opcode && memchr(calls[l->minor], opcode, sizeof(calls[0]));
}

bool sp_pycall_is_return(const struct sp_pylayout *l, uint8_t opcode)
{
	/* RETURN_VALUE, YIELD_VALUE, RETURN_CONST. Where instructions are known by their last word
	 * it may be any number, so not before 3.13. */
	static const uint8_t returns[][3] = {[13] = {36, 118, 103}, [14] = {35, 120}};

	return l->minor >= 13 && opcode && memchr(returns[l->minor], opcode, sizeof(returns[0]));
}
