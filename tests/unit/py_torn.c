/* Stacks that never were: recorded memory that changes between the two copies, or that shows the
 * same mixture in both. */
#include "py/stack_internal.h"
#include "py_kit.h"

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

/* Names are read after the frames: a process that ends in between has no stack without some. */
Test(py_torn, a_process_that_ends_at_any_read_gives_a_whole_stack_or_none)
{
	static struct sp_pystack s;

	for (unsigned minor = SP_PY_OLDEST; minor <= SP_PY_NEWEST; minor++) {
		struct memory m = memory_load(minor);
		int r = -1;

		for (size_t reads = 1; r < 0; reads++) {
			struct sp_pyreader reader;

			m.reads_left = 0;
			cr_assert_eq(memory_begin(&reader, &m), 0);
			cr_assert_eq(sp_pyreader_threads(&reader), 0);
			m.reads_left = reads;
			r = sp_pyreader_stack(&reader, 1, &s);
			if (r == 0)
				check_main(&s, minor, 0);
			sp_pyreader_done(&reader);
		}
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

/* The newest frame and the one that waits for it, in memory of a version whose frames lie on a
 * stack. */
struct pair {
	struct memory m;
	struct sp_pyreader r;
	const struct sp_pylayout *l;
	uint64_t callee, caller;
	uint32_t depth;
};

static void pair_open(struct pair *p, unsigned minor, struct sp_pystack *s)
{
	p->m = memory_load(minor);
	cr_assert_eq(memory_begin(&p->r, &p->m), 0);
	cr_assert_eq(sp_pyreader_threads(&p->r), 0);
	cr_assert_eq(sp_pyreader_stack(&p->r, 1, s), 0);
	p->l = &p->r.heap.layout;
	p->callee = code_of_newest(&p->r, &p->m) - p->l->fr_code;
	p->caller = sp_pymem_word(&p->r.heap.mem, p->callee + p->l->fr_back);
	p->depth = s->count;
}

static void pair_close(struct pair *p)
{
	sp_pyreader_done(&p->r);
	free(p->m.blocks);
}

/* The newest frame's address is older than what lies there: its caller has returned, was called
 * anew, and a frame is made as one that waits. */
Test(py_torn, a_frame_that_just_began_waits_for_nothing)
{
	static struct sp_pystack s;

	for (unsigned minor = 11; minor <= SP_PY_NEWEST; minor++) {
		struct pair p;
		uint64_t code;

		pair_open(&p, minor, &s);
		code = sp_pymem_word(&p.r.heap.mem, p.caller + p.l->fr_code) & ~7ull;
		memory_poke(&p.m, p.caller + p.l->fr_instr,
			code + p.l->co_bytecode - (minor >= 13 ? 0 : 2));
		cr_assert_eq(sp_pyreader_stack(&p.r, 1, &s), 0, "3.%u", minor);
		cr_expect(!s.partial, "3.%u: what is left is whole", minor);
		cr_expect_eq(s.count, p.depth - 1, "3.%u: %u", minor, s.count);
		pair_close(&p);
	}
}

/* A call that leaves its caller no trace, as a property's: a frame that returned calls nothing, and
 * one that resumes a generator waits for that only. */
Test(py_torn, an_instruction_tells_what_it_waits_for)
{
	static const struct {
		unsigned minor;
		uint8_t opcode;
		bool can;
	} cases[] = {
		{13, 200, true},  /* LOAD_ATTR_PROPERTY */
		{13, 36, false},  /* RETURN_VALUE */
		{13, 103, false}, /* RETURN_CONST */
		{13, 118, false}, /* YIELD_VALUE */
		{13, 187, false}, /* FOR_ITER_GEN */
		{13, 208, false}, /* SEND_GEN */
		{14, 187, true},
		{14, 35, false},
		{14, 120, false},
		{14, 171, false},
		{14, 197, false},
	};
	static struct sp_pystack s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned minor = cases[i].minor;
		struct pair p;
		uint64_t site;

		pair_open(&p, minor, &s);
		site = sp_pymem_word(&p.r.heap.mem, p.caller + p.l->fr_instr);
		memory_poke(&p.m, p.callee + p.l->fr_func, p.m.runtime & ~7ull);
		p.m.blocks[p.m.count++].addr =
			site; /* not read as long as the call leaves a trace */
		memory_poke(&p.m, site, cases[i].opcode);
		cr_assert_eq(sp_pyreader_stack(&p.r, 1, &s), 0);
		cr_expect_eq(s.partial, !cases[i].can, "3.%u: %u", minor, cases[i].opcode);
		check_main(&s, minor, cases[i].can ? 0 : 1);
		pair_close(&p);
	}
}

/* To 3.12 each call of the evaluator by C code has a place for its newest frame, on the C stack:
 * that is empty when it is made. */
Test(py_torn, a_call_without_its_frame_is_no_thread_without_python)
{
	static struct sp_pystack s;

	for (unsigned minor = 11; minor <= 12; minor++) {
		struct pair p;
		uint64_t place, own;

		pair_open(&p, minor, &s);
		place = sp_pymem_word(&p.r.heap.mem, p.r.threads[1].addr + p.l->ts_frame);
		memory_poke(&p.m, place + p.l->cframe_frame, 0);
		cr_expect_eq(sp_pyreader_stack(&p.r, 1, &s), -EAGAIN, "3.%u", minor);
		/* the one in the thread's own state: no Python runs */
		own = p.r.threads[1].addr + 8 - p.l->cframe_frame;
		memory_poke(&p.m, p.r.threads[1].addr + p.l->ts_frame, own);
		memory_poke(&p.m, own + p.l->cframe_frame, 0);
		cr_expect_eq(sp_pyreader_stack(&p.r, 1, &s), 0, "3.%u", minor);
		cr_expect_eq(s.count, 0);
		pair_close(&p);
	}
}

/* A generator that was freed: its frame is cleared and has no caller any more, as what C code
 * calls. */
Test(py_torn, a_frame_without_code_and_caller_is_no_stack)
{
	static struct sp_pystack s;

	for (unsigned minor = 11; minor <= 13; minor++) {
		struct pair p;

		pair_open(&p, minor, &s);
		memory_poke(&p.m, p.callee + p.l->fr_code, 0);
		memory_poke(&p.m, p.callee + p.l->fr_back, 0);
		memory_poke(&p.m, p.callee + p.l->fr_top, UINT64_MAX); /* as of C code */
		cr_expect_eq(sp_pyreader_stack(&p.r, 1, &s), -EAGAIN, "3.%u", minor);
		pair_close(&p);
	}
}

/* A generator is just being linked: below it is only what C code left on its own stack, which in
 * 3.12 has code as if it were a function. */
Test(py_torn, a_generator_is_not_the_oldest_frame)
{
	enum { OF_GENERATOR = 1, OF_C = 3 };
	static struct sp_pystack s;

	for (unsigned minor = 12; minor <= 13; minor++) {
		struct pair p;
		uint64_t generator = 0, oldest = 0;

		pair_open(&p, minor, &s);
		for (uint64_t at = p.callee; at;
			at = sp_pymem_word(&p.r.heap.mem, at + p.l->fr_back)) {
			uint8_t owner = 0;

			cr_assert(sp_pymem_get(&p.r.heap.mem, at + p.l->fr_owner, &owner, 1));
			generator = owner == OF_GENERATOR ? at : generator;
			oldest = owner == OF_C ? at : 0;
		}
		cr_assert(generator && oldest, "3.%u", minor);
		memory_poke(&p.m, generator + p.l->fr_back, oldest);
		cr_expect_eq(sp_pyreader_stack(&p.r, 1, &s), -EAGAIN, "3.%u", minor);
		pair_close(&p);
	}
}
