/* Stacks that never were: recorded memory that changes between the two copies, or that shows the
 * same mixture in both. */
#include "py_kit.h"
#include "py/walk.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static unsigned in_second_copy(size_t span, size_t n)
{
	return n > 2 && span >= n / 2;
}

/* Where a frame of the main thread keeps its code. */
static uint64_t code_of_newest(struct sp_pyreader *r, struct memory *m)
{
	const struct sp_pylayout *l = &r->heap.layout;
	uint64_t at = sp_pymem_word(&r->heap.mem, r->threads[1].addr + l->ts_frame);

	if (l->ts_cframe)
		at = sp_pymem_word(&r->heap.mem, at + l->cframe_frame);
	return at + l->fr_code;
}

Test(py_torn, a_frame_that_changes_is_left_out_and_its_callers_stay)
{
	static struct sp_pystack s;

	for (unsigned minor = SP_PY_OLDEST; minor <= SP_PY_NEWEST; minor++) {
		struct memory m = memory_load(minor);
		struct sp_pyreader r;

		cr_assert_eq(memory_begin(&r, &m), 0);
		cr_assert_eq(sp_pyreader_threads(&r), 0);
		cr_assert_eq(sp_pyreader_stack(&r, 1, &s), 0);
		m.torn_at = code_of_newest(&r, &m);
		m.torn_with = m.runtime & ~7ull;
		m.torn = in_second_copy;
		cr_assert_eq(sp_pyreader_stack(&r, 1, &s), 0, "3.%u", minor);
		cr_assert(s.partial, "3.%u", minor);
		check_main(&s, minor, 1);
		cr_assert_eq(r.partial, 1);
		sp_pyreader_done(&r);
		free(m.blocks);
	}
}

/* What both copies show alike, and never was: something else lies where the newest frame's code
 * was; the newest frame is linked to itself, or to nothing though a Python function called it. */
Test(py_torn, what_lies_where_a_frame_was_is_no_frame)
{
	static struct sp_pystack s;

	for (unsigned minor = SP_PY_OLDEST; minor <= SP_PY_NEWEST; minor++) {
		struct memory m = memory_load(minor);
		struct sp_pyreader r;
		uint64_t code, word, newest;

		cr_assert_eq(memory_begin(&r, &m), 0);
		cr_assert_eq(sp_pyreader_threads(&r), 0);
		cr_assert_eq(sp_pyreader_stack(&r, 1, &s), 0);
		code = code_of_newest(&r, &m);
		newest = code - r.heap.layout.fr_code;
		word = sp_pymem_word(&r.heap.mem, code);
		memory_poke(&m, code, m.runtime & ~7ull);
		cr_assert_eq(sp_pyreader_stack(&r, 1, &s), 0, "3.%u", minor);
		cr_assert(s.partial, "3.%u", minor);
		check_main(&s, minor, 1);
		memory_poke(&m, code, word);
		m.bytes = 0;
		memory_poke(&m, newest + r.heap.layout.fr_back, newest);
		cr_assert_eq(sp_pyreader_stack(&r, 1, &s), -EAGAIN, "3.%u", minor);
		cr_assert_lt(m.bytes, 1u << 20, "3.%u", minor);
		memory_poke(&m, newest + r.heap.layout.fr_back, 0);
		cr_assert_eq(
			sp_pyreader_stack(&r, 1, &s), minor >= 11 ? -EAGAIN : 0, "3.%u", minor);
		sp_pyreader_done(&r);
		free(m.blocks);
	}
}
