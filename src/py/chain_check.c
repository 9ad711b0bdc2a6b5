/* Whether a chain of frames that two copies agree on can be a stack: see stack_internal.h.
 *
 * A program that goes round in the time that a copy takes shows the same mixture of two stacks in
 * both. Frames themselves show it: each has code and is inside of it, the oldest was called by C
 * code, they lie one behind the other, and a caller keeps what it called. */
#include "py/stack_internal.h"

#include <string.h>

static uint32_t number_at(const uint8_t *head, uint16_t offset)
{
	uint32_t v;

	memcpy(&v, head + offset, sizeof(v));
	return v;
}

static bool is_code(const struct sp_pyreader *r, const uint8_t *head)
{
	return r->heap.code_type && sp_pyword(head + r->heap.layout.ob_type) == r->heap.code_type;
}

/* Whether each frame has code, as all but those of C code do: else something else came to lie
 * there. */
static bool all_code(const struct sp_pyreader *r, const struct sp_pylink *chain, size_t n)
{
	for (size_t i = 0; r->heap.code_type && i < n; i++)
		if (!chain[i].bare && !is_code(r, r->walk->heads[i]))
			return false;
	return true;
}

/* Bytes that a frame of this code takes in the chunk; 0: not known. */
static uint64_t frame_bytes(const struct sp_pyreader *r, const uint8_t *head)
{
	const struct sp_pylayout *l = &r->heap.layout;

	if (!is_code(r, head))
		return 0;
	if (l->co_framesize)
		return number_at(head, l->co_framesize) * 8ull;
	return (number_at(head, l->co_stacksize) + number_at(head, l->co_nlocalsplus)) * 8ull +
	       l->fr_size;
}

/* Frames in the chunk lie one behind the other without gaps. Where code runs round in less time
 * than two copies take, both may show the same mixture of two stacks: this finds it. */
static bool in_line(const struct sp_pyreader *r, const struct sp_pythread *t,
	const struct sp_pylink *chain, size_t n)
{
	uint64_t end = 0;

	for (size_t i = n; t->chunk && i-- > 0;) {
		uint64_t size;

		if (chain[i].addr < t->chunk || chain[i].addr >= t->chunk_end)
			continue; /* a generator's, or in an older chunk */
		if (end && chain[i].addr != end)
			return false;
		size = frame_bytes(r, r->walk->heads[i]);
		end = size ? chain[i].addr + size : 0;
	}
	return true;
}

/* Whether every frame is inside of its code, and what it waits for can have been called there. */
static bool called(const struct sp_pyreader *r, const struct sp_pylink *chain, size_t n)
{
	enum { VAR_SIZE = 16, BEFORE_FIRST = 2 }; /* a frame that has not begun yet, to 3.12 */
	const struct sp_pylayout *l = &r->heap.layout;

	for (size_t i = 0; l->fr_slots && i < n; i++) {
		uint64_t begin = chain[i].code + l->co_bytecode;
		uint64_t end = begin + 2ull * number_at(r->walk->heads[i], VAR_SIZE);
		uint8_t opcode = 0;

		if (!is_code(r, r->walk->heads[i]))
			continue;
		if (chain[i].instr >= end || chain[i].instr + (i ? 0 : BEFORE_FIRST) < begin)
			return false;
		if (i && !chain[i - 1].called && !chain[i - 1].bare &&
			sp_pymem_get(&r->heap.mem, sp_pycall_site(l, &chain[i]), &opcode, 1) &&
			(sp_pycall_is_call(l, opcode) || sp_pycall_is_return(l, opcode)))
			return false;
	}
	return true;
}

/* C code calls the oldest frame: one that has no caller though a Python function or a generator has
 * to have one is just being linked in, or out. */
static bool rooted(const struct sp_pyreader *r, const struct sp_pylink *chain, size_t n)
{
	enum { GENERATOR = 0x20, COROUTINE = 0x80, ASYNC_GENERATOR = 0x200 };
	const struct sp_pylayout *l = &r->heap.layout;
	const struct sp_pycopy *a = &r->walk->copies[0];

	if (a->full || a->count == 0)
		return true;
	if (l->minor >= 11 && !a->chain[a->count - 1].entry && !a->chain[a->count - 1].bare)
		return false;
	while (n-- > 0) {
		const uint8_t *head = r->walk->heads[n];

		if (!chain[n].bare && is_code(r, head)) /* in 3.12 C code's have some too */
			return !(number_at(head, l->co_flags) &
				 (GENERATOR | COROUTINE | ASYNC_GENERATOR));
	}
	return true;
}

bool sp_pychain_check(const struct sp_pyreader *r, const struct sp_pythread *t,
	const struct sp_pylink *chain, size_t n)
{
	return all_code(r, chain, n) && rooted(r, chain, n) && in_line(r, t, chain, n) &&
	       called(r, chain, n);
}
