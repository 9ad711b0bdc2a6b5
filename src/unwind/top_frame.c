/* The top frame of generated code may be half built or half removed. What the next and the last
 * instructions do to the stack shows where the return address is; the guess is checked, because
 * only some addresses can be returned to. */
#include "unwind/unwind_internal.h"

#include <string.h>

#define PROLOGUE 192
#define SCAN	 128

/* ON_TOP + n: complete, and n words on top: intrinsics (string_compare …), C1's type checks and its
 * patching stubs push what they need. BARE + n: no frame, n words on top of the return address. */
#define ON_TOP_MAX 12
enum state { COMPLETE, NONE, PUSHED, SUBTRACTED, ON_TOP, BARE = ON_TOP + ON_TOP_MAX + 1 };

static uint32_t imm32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Length of "sub rsp, imm" (ec) or "add rsp, imm" (c4) at @p, 0 if it is something else. */
static unsigned rsp_imm(const uint8_t *p, uint8_t modrm, uint32_t *ret)
{
	if (p[0] != 0x48 || p[2] != modrm)
		return 0;
	if (p[1] == 0x83) {
		*ret = p[3];
		return 4;
	}
	if (p[1] == 0x81) {
		*ret = imm32(p + 3);
		return 7;
	}
	return 0;
}

/* Finds the instructions that build the frame: "push rbp; [mov rbp, rsp;] sub rsp, size - 16" or
 * "sub rsp, size - 8; mov [rsp + size - 16], rbp". */
static bool prologue_state(
	const struct sp_blob *b, const uint8_t *code, unsigned len, unsigned pc, enum state *ret)
{
	for (unsigned i = 0; i + 7 < len; i++) {
		uint32_t imm;
		unsigned n = rsp_imm(code + i, 0xec, &imm), push = i;

		if (!n)
			continue;
		if (imm == b->frame_size - 16) {
			if (i >= 4 && code[i - 4] == 0x55)
				push = i - 4;
			else if (i >= 1 && code[i - 1] == 0x55)
				push = i - 1;
			else
				continue;
			*ret = pc <= push ? NONE : pc <= i ? PUSHED : COMPLETE;
			return true;
		}
		if (imm == b->frame_size - 8) {
			*ret = pc <= i ? NONE : pc <= i + n ? SUBTRACTED : COMPLETE;
			return true;
		}
	}
	return false;
}

static bool in_prologue(struct sp_walk *w, const struct sp_blob *b, enum state *ret)
{
	uint64_t pc = w->regs.r[SP_ARCH_PC], from, complete;
	uint8_t code[PROLOGUE + 8];
	unsigned len;

	if (b->frame_complete < 0)
		return false;
	complete = b->code_begin + (uint64_t)b->frame_complete;
	if (pc >= complete)
		return false;
	if (b->verified_entry > b->code_begin && pc < b->verified_entry) {
		*ret = NONE; /* the unverified entry checks the receiver's class */
		return true;
	}
	from = b->verified_entry >= b->code_begin && b->verified_entry < complete
		       ? b->verified_entry
		       : b->code_begin;
	if (complete - from > PROLOGUE)
		from = complete - PROLOGUE;
	len = (unsigned)(complete - from);
	memset(code, 0, sizeof(code));
	if (pc < from || sp_mem_read(w->u->mem, from, code, len) < 0)
		return false;
	if (prologue_state(b, code, len + 8, (unsigned)(pc - from), ret))
		return true;
	*ret = NONE;
	return true;
}

/* A poll at a method's return, which follows the removal of its frame. Returns its length. */
static unsigned return_poll(const uint8_t *p)
{
	if (p[0] == 0x49 && p[1] == 0x3b && p[2] == 0x67) /* cmp rsp, [r15 + imm8] */
		return 4;
	if (p[0] == 0x49 && p[1] == 0x3b && p[2] == 0xa7)
		return 7;
	if (p[0] == 0x0f && p[1] == 0x87) /* ja: to the poll's stub */
		return 6;
	if (p[0] == 0x4d && p[1] == 0x8b && p[2] == 0x57) /* mov r10, [r15 + imm8] */
		return 4;
	if (p[0] == 0x4d && p[1] == 0x8b && p[2] == 0x97)
		return 7;
	if (p[0] == 0x41 && p[1] == 0x85 && p[2] == 0x02) /* test [r10], eax */
		return 3;
	if (p[0] == 0x85 && p[1] == 0x05) /* test [rip + imm32], eax */
		return 6;
	return 0;
}

/* The return, where from here on only polls lie before it, or NULL. */
static const uint8_t *returns(const uint8_t *p, const uint8_t *end)
{
	while (p + 8 < end) {
		unsigned n = return_poll(p);

		if (*p == 0xc3)
			return p;
		if (!n)
			return NULL;
		p += n;
	}
	return NULL;
}

static bool after_add(const uint8_t *at, uint32_t frame)
{
	uint32_t imm;

	return (rsp_imm(at - 4, 0xc4, &imm) == 4 && imm == frame - 16) ||
	       (rsp_imm(at - 7, 0xc4, &imm) == 7 && imm == frame - 16);
}

/* The stub of a return poll: "lea r10, [rip…]; mov [r15…], r10; jmp". */
static bool poll_stub(const uint8_t *at)
{
	static const uint8_t lea[] = {0x4c, 0x8d, 0x15}, mov[] = {0x4d, 0x89, 0x97};

	if (!memcmp(at, lea, 3) && !memcmp(at + 7, mov, 3) && at[14] == 0xe9)
		return true;
	if (!memcmp(at, mov, 3) && !memcmp(at - 7, lea, 3) && at[7] == 0xe9)
		return true;
	return at[0] == 0xe9 && !memcmp(at - 7, mov, 3) && !memcmp(at - 14, lea, 3);
}

static enum state epilogue_state(struct sp_walk *w, const struct sp_blob *b)
{
	uint64_t pc = w->regs.r[SP_ARCH_PC];
	uint8_t code[16 + 40];
	const uint8_t *at = code + 16;

	memset(code, 0, sizeof(code));
	if (sp_mem_read(w->u->mem, pc - 16, code, sizeof(code)) < 0)
		return COMPLETE;
	if (returns(at, code + sizeof(code)))
		return NONE;
	if (*at == 0x5d && (after_add(at, b->frame_size) || returns(at + 1, code + sizeof(code))))
		return PUSHED;
	return poll_stub(at) ? NONE : COMPLETE;
}

uint64_t sp_top_frame_return(struct sp_walk *w, const struct sp_blob *b, uint64_t pc)
{
	static const uint8_t vzeroupper[] = {0xc5, 0xf8, 0x77};
	const uint8_t *p, *end;
	uint8_t code[56];
	uint32_t imm;
	unsigned n;

	memset(code, 0, sizeof(code));
	if (!b->frame_size || sp_mem_read(w->u->mem, pc, code, sizeof(code)) < 0)
		return 0;
	p = memcmp(code, vzeroupper, 3) ? code : code + 3;
	n = rsp_imm(p, 0xc4, &imm);
	if (n && imm != b->frame_size - 16)
		return 0;
	p += n;
	end = returns(p + (*p == 0x5d), code + sizeof(code));
	return end ? pc + (uint64_t)(end - code) : 0;
}

static bool place_for(
	struct sp_walk *w, const struct sp_blob *b, enum state state, struct sp_walk_place *ret)
{
	uint64_t sp = w->regs.r[SP_ARCH_SP];

	if (state > BARE) {
		sp += 8ull * (state - BARE);
		state = NONE;
	} else if (state > ON_TOP) {
		sp += 8ull * (state - ON_TOP);
		state = COMPLETE;
	}
	*ret = (struct sp_walk_place){
		.fp = w->regs.r[SP_ARCH_FP], .fp_known = sp_walk_knows(w, SP_ARCH_FP)};
	switch (state) {
	case NONE:
		ret->ret_slot = sp;
		break;
	case PUSHED:
		ret->ret_slot = sp + 8;
		ret->fp_known = sp_walk_word(w, sp, &ret->fp);
		break;
	case SUBTRACTED:
		ret->ret_slot = sp + b->frame_size - 8;
		break;
	default:
		ret->ret_slot = sp + b->frame_size - 8;
		ret->fp_known = sp_walk_word(w, sp + b->frame_size - 16, &ret->fp);
		break;
	}
	ret->sp = ret->ret_slot + 8;
	return sp_walk_word(w, ret->ret_slot, &ret->ret);
}

bool sp_top_frame_compiled(struct sp_walk *w, const struct sp_blob *b, struct sp_walk_place *ret)
{
	static const enum state others[] = {COMPLETE, NONE, PUSHED};
	struct sp_walk_place first;
	enum state state;
	bool cut;

	if (!b->frame_size)
		state = NONE; /* method handle intrinsics jump on */
	else if (!in_prologue(w, b, &state))
		state = epilogue_state(w, b);
	if (!place_for(w, b, state, ret))
		return false;
	if (sp_java_place_ok(w, ret, ret->ret))
		return true;
	first = *ret;
	cut = w->cut;
	for (unsigned i = 0; i < 3 && b->frame_size; i++)
		if (others[i] != state && place_for(w, b, others[i], ret) &&
			sp_java_place_ok(w, ret, ret->ret))
			return true;
	for (unsigned i = 1; i <= ON_TOP_MAX; i++)
		if (place_for(w, b, (b->frame_size ? ON_TOP : BARE) + i, ret) &&
			sp_java_place_ok(w, ret, ret->ret))
			return true;
	w->cut = cut;
	*ret = first;
	return sp_walk_in_java(w, ret->ret);
}

static bool fp_place(struct sp_walk *w, struct sp_walk_place *ret)
{
	uint64_t fp = w->regs.r[SP_ARCH_FP];

	if (!sp_walk_knows(w, SP_ARCH_FP) || fp < w->regs.r[SP_ARCH_SP] || (fp & 7))
		return false;
	*ret = (struct sp_walk_place){.ret_slot = fp + 8, .sp = fp + 16, .fp_known = true};
	return sp_walk_word(w, fp, &ret->fp) && sp_walk_word(w, fp + 8, &ret->ret);
}

/* Candidates for a stub's return address. A call into this blob leads to the stub that starts last
 * before the pc: other ones are leftovers of earlier calls. */
struct best {
	struct sp_walk_place place;
	uint64_t target;
};

/* Takes @place if the call before its return address leads closer to the pc. */
static void consider(struct sp_walk *w, const struct sp_blob *b, const struct sp_walk_place *place,
	struct best *best)
{
	uint64_t target;

	if (!sp_walk_in_java(w, place->ret) && !sp_modules_find(w->u->modules, place->ret))
		return;
	if (sp_call_site_before(w->u->mem, place->ret, &target) && target >= b->code_begin &&
		target <= w->regs.r[SP_ARCH_PC] && target > best->target) {
		best->target = target;
		best->place = *place;
	}
}

/* The slots above the stack pointer, for stubs that push more than a frame pointer. */
static void scan(struct sp_walk *w, const struct sp_blob *b, struct best *best)
{
	uint64_t sp = w->regs.r[SP_ARCH_SP], fp = w->regs.r[SP_ARCH_FP];

	for (unsigned i = 2; i < SCAN; i++) {
		struct sp_walk_place p = {.fp = fp, .fp_known = sp_walk_knows(w, SP_ARCH_FP)};

		p.ret_slot = sp + 8ull * i;
		p.sp = p.ret_slot + 8;
		if (!sp_walk_word(w, p.ret_slot, &p.ret))
			return;
		if (fp == p.ret_slot - 8) /* the stub's own frame pointer */
			p.fp_known = sp_walk_word(w, fp, &p.fp);
		consider(w, b, &p, best);
	}
}

/* Whether a function that starts at @target sets up a frame pointer before the pc. */
static bool has_fp(struct sp_walk *w, uint64_t target)
{
	uint8_t c[4];

	return w->regs.r[SP_ARCH_PC] >= target + 4 && sp_mem_read(w->u->mem, target, c, 4) == 0 &&
	       c[0] == 0x55 && c[1] == 0x48 && (c[2] == 0x8b || c[2] == 0x89);
}

/* libjvm calls stubs through pointers (arraycopy, jni_fast_…): no target to compare. */
static bool native_caller(struct sp_walk *w, struct sp_walk_place *ret)
{
	uint64_t target;

	return fp_place(w, ret) && ret->ret_slot - w->regs.r[SP_ARCH_SP] < 256 &&
	       sp_modules_find(w->u->modules, ret->ret) &&
	       sp_call_site_before(w->u->mem, ret->ret, &target) && !target;
}

static bool by_call(struct sp_walk *w, const struct sp_blob *b, struct sp_walk_place *ret)
{
	struct best best = {.target = 0}, framed = {.target = 0};
	struct sp_walk_place p;

	if (fp_place(w, &p))
		consider(w, b, &p, &framed);
	if (place_for(w, b, NONE, &p))
		consider(w, b, &p, &best);
	if (place_for(w, b, PUSHED, &p))
		consider(w, b, &p, &best);
	if (!best.target && !framed.target && native_caller(w, ret))
		return true;
	if (b->kind != SP_BLOB_LEAF)
		scan(w, b, &best);
	if (framed.target > best.target ||
		(framed.target && framed.target == best.target && has_fp(w, framed.target)))
		best = framed;
	*ret = best.place;
	return best.target != 0;
}

/* Code at @ret that can call a stub: compiled code or native code after a call. */
static bool plausible(struct sp_walk *w, const struct sp_walk_place *p)
{
	uint64_t target;

	if (sp_java_place_ok(w, p, p->ret))
		return true;
	return (sp_walk_in_java(w, p->ret) || sp_modules_find(w->u->modules, p->ret)) &&
	       sp_call_site_before(w->u->mem, p->ret, &target);
}

/* Method handle linkers keep the return address on top of the stack, or a word or two below. */
static bool leaf_place(struct sp_walk *w, const struct sp_blob *b, struct sp_walk_place *ret)
{
	for (unsigned i = 0; i < 3; i++)
		if (place_for(w, b, i ? BARE + i : NONE, ret) && sp_java_place_ok(w, ret, ret->ret))
			return true;
	return false;
}

/* A stub that the compilers made: its frame size is known, and only Java code calls it. */
static bool runtime_place(struct sp_walk *w, const struct sp_blob *b, struct sp_walk_place *ret)
{
	enum state state = w->regs.r[SP_ARCH_PC] == b->code_begin ? NONE : epilogue_state(w, b);
	uint64_t target;

	if (!place_for(w, b, state, ret))
		return false;
	return sp_call_site_before(w->u->mem, ret->ret, &target) ? target == b->code_begin : false;
}

/* The end of C2's ExceptionBlob: frame and return address are popped already, and the handler in
 * the same compiled method, where it will jump to, is in rax and then in r8. */
static bool handed_over(struct sp_walk *w, struct sp_walk_place *ret)
{
	static const unsigned handlers[] = {SP_REG_R8, SP_REG_RAX};
	uint64_t sp = w->regs.r[SP_ARCH_SP], word;
	const struct sp_blob *b;

	if (!sp_walk_word(w, sp - 8, &word) || !sp_java_return_ok(w, word) ||
		sp_walk_blob(w, word, &b) < 0 || b->kind != SP_BLOB_NMETHOD)
		return false;
	*ret = (struct sp_walk_place){.ret = word,
		.sp = sp,
		.fp = w->regs.r[SP_ARCH_FP],
		.fp_known = sp_walk_knows(w, SP_ARCH_FP)};
	for (unsigned i = 0; i < sizeof(handlers) / sizeof(*handlers); i++) {
		uint64_t to = w->regs.r[handlers[i]];

		if (sp_walk_knows(w, handlers[i]) && to > b->code_begin && to < b->code_end)
			return true;
	}
	return false;
}

bool sp_top_frame_stub(struct sp_walk *w, const struct sp_blob *b, struct sp_walk_place *ret)
{
	bool cut = w->cut;

	if (b->kind == SP_BLOB_RUNTIME && runtime_place(w, b, ret))
		return true;
	if (b->kind == SP_BLOB_LEAF && leaf_place(w, b, ret))
		return true;
	if (by_call(w, b, ret))
		return true;
	w->cut = cut;
	/* an exception is forwarded to a handler, which is no return address of a call */
	if (b->kind == SP_BLOB_RUNTIME && place_for(w, b, epilogue_state(w, b), ret) &&
		(sp_java_return_ok(w, ret->ret) || (ret->ret_slot == w->regs.r[SP_ARCH_FP] + 8 &&
							   sp_walk_in_java(w, ret->ret))))
		return true;
	if (b->kind == SP_BLOB_RUNTIME && handed_over(w, ret))
		return true;
	if (place_for(w, b, NONE, ret) && plausible(w, ret))
		return true;
	if (fp_place(w, ret) && plausible(w, ret))
		return true;
	return place_for(w, b, PUSHED, ret) && plausible(w, ret);
}

/* Bytes that a run of pops at @p takes off the stack. */
static uint32_t popped(const uint8_t *p)
{
	uint32_t bytes = 0;

	for (unsigned i = 0; i < 16; i++, bytes += 8) {
		i += p[i] == 0x41;
		if (p[i] < 0x58 || p[i] > 0x5f)
			break;
	}
	return bytes;
}

uint32_t sp_top_frame_extra(struct sp_walk *w, const struct sp_blob *b, uint64_t pc)
{
	uint8_t code[96];
	uint32_t imm;

	memset(code, 0, sizeof(code));
	if (sp_mem_read(w->u->mem, pc, code, sizeof(code)) < 0)
		return 0;
	/* C1's slow_subtype_check takes two words, popped after the call */
	imm = popped(code);
	if (imm)
		return imm;
	/* barriers save registers on top of the frame and end with "add rsp, imm; jmp" */
	for (unsigned i = 0; i + 8 < sizeof(code); i++) {
		unsigned n = rsp_imm(code + i, 0xc4, &imm);

		if (!n)
			continue;
		if (imm == b->frame_size - 16 && code[i + n] == 0x5d)
			return 0; /* the method's own epilogue */
		return imm <= 1024 && code[i + n] == 0xe9 ? imm : 0;
	}
	return 0;
}
