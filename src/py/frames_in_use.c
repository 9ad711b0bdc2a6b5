/* Which frames of a copied chain are in use: see stack_internal.h.
 *
 * The newest frame's address is copied before the memory that frames lie in. Where calls have ended
 * meanwhile, that address leads to what they left behind: whole frames, linked to a place in which
 * another function has begun since. A program that goes round in the time that a copy takes shows
 * the same in every copy. But a frame shows whether it waits for a Python function: it keeps the
 * depth of its operands from behind the making of the callee's frame (3.11 to 3.13) until the
 * callee has ended, and has none while it executes; it is made with one too, but then it is at its
 * first instruction, which calls no Python function. So a frame above one that executes or begins
 * was left behind, unless C code called it; and one that C code called is in use if something on
 * it executes or begins. */
#include "py/stack_internal.h"

size_t sp_pyframes_in_use(
	const struct sp_pylayout *l, const struct sp_pylink *chain, size_t n, bool *ret_sure)
{
	size_t segment = n; /* frames from the root to where C code called last */

	*ret_sure = true;
	if (!l->fr_top)
		return n;
	for (size_t i = n; i-- > 0;) {
		if (!chain[i].code) /* 3.14 clears it */
			return n - i - 1;
		if (chain[i].entry)
			segment = n - i - 1;
		else if (i + 1 < n &&
			 (chain[i + 1].runs || (chain[i + 1].begins && !chain[i].bare)))
			return n - i - 1;
	}
	/* 3.14 keeps the depth around calls of C code too, so that it says nothing here */
	if (segment == n || l->minor >= 14 || chain[0].runs || chain[0].begins)
		return n;
	*ret_sure = segment == 0;
	return segment ? segment : n;
}
