/* Which frames of a copied chain are in use, who called whom, and native frames between them:
 * frames made up here, without a Python's memory. */
#include "py/mixed_stack.h"
#include "py/stack_internal.h"

#include <criterion/criterion.h>
#include <string.h>

/* Frames as letters, root first: W waits for a Python call, R executes, w and r the same of frames
 * that C code called, B one that waits at its first instruction, c what C code left on its own
 * stack, 0 one whose code is cleared. */
static size_t live(const struct sp_pylayout *l, const char *frames, bool *ret_sure)
{
	struct sp_pylink chain[8] = {0};
	size_t n = strlen(frames);

	for (size_t i = 0; i < n; i++) {
		char c = frames[n - 1 - i];

		chain[i].code = c == '0' ? 0 : 16;
		chain[i].runs = c == 'R' || c == 'r';
		chain[i].begins = c == 'B';
		chain[i].bare = c == 'c';
		chain[i].entry = c == 'w' || c == 'r' || (c == 'c' && l->minor <= 13);
	}
	return sp_pyframes_in_use(l, chain, n, ret_sure);
}

Test(py_frames, frames_left_behind_by_calls_that_ended)
{
	static const struct {
		unsigned minor;
		const char *frames;
		size_t live;
		bool sure;
	} cases[] = {
		{11, "r", 1, true},
		{11, "wWR", 3, true},
		{11, "wWW", 3, true},  /* it has called further since */
		{11, "wRW", 2, true},  /* the last has ended */
		{11, "wRWW", 2, true}, /* so have the last two */
		{11, "wRr", 3, true},  /* called by C code, and executing */
		{11, "wRwR", 4, true}, /* … a Python function of its own */
		{11, "wRw", 2, false}, /* called by C code, and ended or just calling */
		{11, "rW", 1, true},
		{11, "wWB", 3, true},
		{13, "cWBW", 3, true},	/* it just began: the last is of another call */
		{13, "cWBcR", 5, true}, /* C code called while it began: a signal's handler */
		{14, "cWBcW", 5, true},
		{14, "cWBW", 3, true},
		{13, "cRcB", 4, true},
		{14, "WW0", 2, true},
		{14, "W0W", 1, true},
		{14, "WRW", 2, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sp_pylayout l = {.minor = (uint16_t)cases[i].minor, .fr_top = 64};
		bool sure;

		cr_expect_eq(
			live(&l, cases[i].frames, &sure), cases[i].live, "%s", cases[i].frames);
		cr_expect_eq(sure, cases[i].sure, "%s", cases[i].frames);
	}
}

/* A caller at 4096 with two locals and room for three operands; @top of the slots are in use. */
static bool fits(unsigned minor, uint32_t top, const uint64_t slots[5], struct sp_pylink callee)
{
	struct sp_pylayout l = {
		.minor = (uint16_t)minor, .fr_top = 64, .fr_slots = minor >= 14 ? 80 : 72};
	uint8_t frame[120] = {0};
	uint64_t pointer = 4096 + l.fr_slots + 8ull * top;

	memcpy(frame + 64, minor >= 14 ? (void *)&pointer : &top, minor >= 14 ? 8 : 4);
	memcpy(frame + l.fr_slots, slots, 40);
	return sp_pycall_fits(&l, &callee, 4096, frame, l.fr_slots + 40u);
}

Test(py_frames, a_caller_keeps_what_it_called)
{
	struct sp_pylink f = {.addr = 8192, .func = 800};
	static const uint64_t first[] = {1, 2, 3, 800, 4}, second[] = {1, 2, 3, 0, 800};
	static const uint64_t other[] = {800, 800, 800, 900, 900},
			      resumed[] = {1, 2, 8192 - 72, 9, 9};
	static const uint64_t tagged[] = {1, 2, 3, 801, 4};

	for (unsigned minor = 11; minor <= 14; minor++) {
		cr_expect(fits(minor, 3, first, f) && fits(minor, 3, second, f));
		cr_expect(!fits(minor, 3, other, f) && fits(minor, 3, resumed, f));
		cr_expect(!fits(minor, 5, first, f) && !fits(minor, 6, first, f));
		cr_expect(!fits(minor, UINT32_MAX, first, f), "one that executes");
		cr_expect_eq(fits(minor, 3, tagged, f), minor >= 14);
	}
}

/* Native frames as letters, leaf first: E is the evaluator, others are themselves. Python frames:
 * A, B …, capital where C code called them. Returns what comes of it in the same letters. */
static const char *mixed(const char *native, const char *python, bool whole)
{
	static char names[16][2], text[32];
	struct sp_pynative_frame frames[16] = {{0}};
	struct sp_pymixed_frame ret[32];
	struct sp_pycode codes[16] = {{0}};
	struct sp_pystack *stack = calloc(1, sizeof(*stack));
	size_t n = strlen(native), count;

	for (size_t i = 0; i < n; i++) {
		names[i][0] = native[i];
		frames[i] = (struct sp_pynative_frame){
			"x", native[i] == 'E' ? "_PyEval_EvalFrameDefault.cold" : names[i]};
	}
	for (size_t i = 0; i < strlen(python); i++) {
		codes[i].first = python[i];
		stack->frames[stack->count++] = (struct sp_pyframe){&codes[i], 1, python[i] < 'a'};
	}
	count = sp_pymixed(stack, frames, n, whole, ret, 31);
	for (size_t i = 0; i < count; i++)
		text[i] = ret[i].code			 ? (char)ret[i].code->first
			  : ret[i].native.name[0] == '_' ? 'E'
							 : ret[i].native.name[0];
	text[count] = 0;
	free(stack);
	return text;
}

Test(py_frames, python_frames_in_the_places_of_the_evaluators)
{
	static const struct {
		const char *native, *python;
		bool whole;
		const char *is;
	} cases[] = {
		{"1E2E3", "AB", true, "1A2B3"},
		{"1E2E3", "abCdE", true,
			"1abC2dE3"}, /* 3.11: one call of the evaluator for three */
		{"E1", "A", true, "A1"},
		{"1E2", "abc", true, "1abc2"},	  /* the last is the root's in any case */
		{"E1E2E3", "AB", true, "E1A2B3"}, /* a call that has no frame yet */
		{"1E2", "AB", true, "1AB2"},	  /* one whose native frame has no name */
		{"1E2", "ABC", false, "1A2BC"},	  /* cut off: the newest fit */
		{"1E2E3E", "A", false, "1A2E3E"},
		{"12", "Ab", true, "12Ab"},
		{"", "Ab", false, "Ab"},
		{"1E2", "", true, "1E2"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_str_eq(mixed(cases[i].native, cases[i].python, cases[i].whole),
			cases[i].is, "%s with %s", cases[i].native, cases[i].python);
}
