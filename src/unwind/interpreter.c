/* Frames of HotSpot's interpreter on x86-64 (frame_x86.hpp, the same from 11 to 25). */
#include "unwind/java.h"

#include <string.h>

static const struct sp_codelet *codelet_of(const struct sp_hotspot *h, uint64_t pc)
{
	uint32_t lo = 0, hi = h->codelet_count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (pc < h->codelets[mid].start)
			hi = mid;
		else if (pc >= h->codelets[mid].end)
			lo = mid + 1;
		else
			return &h->codelets[mid];
	}
	return NULL;
}

static void emit_entry(struct sp_walk *w, uint64_t method)
{
	uint64_t cm;

	if (sp_walk_knows(w, SP_REG_RBX) && sp_code_cache_method(w->u->hotspot, method, &cm))
		sp_java_emit(w, SP_FRAME_INTERPRETED, method, cm, 0);
	else
		sp_java_emit_unknown(w);
}

/* A call on its way into the interpreter, or out of it: no frame yet. rbx = Method*, r13 = the
 * caller's sp, return address at [sp] or already taken into rax. */
bool sp_interpreter_frameless(struct sp_walk *w, bool adapter, struct sp_walk_place *ret)
{
	uint64_t sp = w->regs.r[SP_ARCH_SP], r13 = w->regs.r[SP_REG_R13],
		 rax = w->regs.r[SP_REG_RAX];
	bool r13_ok = sp_walk_knows(w, SP_REG_R13) && in_stack(w, r13) && r13 - sp < 65536;
	uint64_t word;

	*ret = (struct sp_walk_place){
		.fp = w->regs.r[SP_ARCH_FP], .fp_known = sp_walk_knows(w, SP_ARCH_FP)};
	if (r13_ok && sp_walk_word(w, r13 - 8, &word) && word == rax && sp_java_return_ok(w, rax)) {
		ret->ret = rax;
		ret->sp = r13;
		return true;
	}
	if (sp_walk_word(w, sp, &word) && sp_java_return_ok(w, word)) {
		ret->ret = word;
		/* an adapter sets r13 and moves the return address down through rax; before
		 * that, r13 is anything */
		ret->sp = r13_ok && r13 > sp && (!adapter || word == rax) ? r13 : sp + 8;
		return true;
	}
	if (adapter && sp_walk_word(w, sp - 8, &word) && word == rax && sp_java_return_ok(w, rax)) {
		ret->ret = rax; /* just popped */
		ret->sp = sp;
		return true;
	}
	if (adapter && r13_ok && sp_walk_word(w, r13, &word) && sp_java_return_ok(w, word)) {
		ret->ret = word; /* it called the runtime and restores registers */
		ret->sp = r13 + 8;
		return true;
	}
	if (r13_ok && r13 > sp && sp_java_return_ok(w, rax)) {
		ret->ret = rax;
		ret->sp = r13;
		return true;
	}
	return false;
}

/* The end of a return bytecode: "leave; pop r13; mov rsp, rbx; jmp r13" takes the frame away. */
static bool interpreter_leaving(struct sp_walk *w, struct sp_walk_place *ret)
{
	static const uint8_t tail[] = {0x41, 0x5d, 0x48, 0x8b, 0xe3, 0x41, 0xff, 0xe5};
	uint64_t pc = w->regs.r[SP_ARCH_PC], sp = w->regs.r[SP_ARCH_SP];
	uint8_t code[8], before[3];

	if (sp_mem_read(w->u->mem, pc, code, 8) < 0 ||
		sp_mem_read(w->u->mem, pc - 3, before, 3) < 0)
		return false;
	*ret = (struct sp_walk_place){.fp = w->regs.r[SP_ARCH_FP], .fp_known = true};
	if (!memcmp(code, tail, 8)) {
		ret->ret_slot = sp;
		ret->sp = w->regs.r[SP_REG_RBX];
		return in_stack(w, ret->sp);
	}
	ret->ret = w->regs.r[SP_REG_R13];
	if (!memcmp(code, tail + 2, 6)) {
		ret->sp = w->regs.r[SP_REG_RBX];
		return in_stack(w, ret->sp);
	}
	ret->sp = sp;
	return !memcmp(code, tail + 5, 3) && !memcmp(before, tail + 2, 3);
}

/* Frames that the top of the interpreter makes or unmakes. Returns true where @why is the answer.
 */
static bool interpreter_top(struct sp_walk *w, const struct sp_blob *b, uint64_t *fp,
	bool *method_in_rbx, enum sp_unwind_reason *why)
{
	const struct sp_codelet *c = codelet_of(w->u->hotspot, w->regs.r[SP_ARCH_PC]);
	uint64_t pc = w->regs.r[SP_ARCH_PC];
	struct sp_walk_place place;

	if (c && c->entry && (!c->enter || pc <= c->enter)) {
		if (sp_interpreter_frameless(w, false, &place)) {
			emit_entry(w, w->regs.r[SP_REG_RBX]);
			*why = sp_java_to_caller(w, &place);
			return true;
		}
	} else if (c && c->entry && pc < c->enter + 4) {
		*fp = w->regs.r[SP_ARCH_SP]; /* rbp is pushed but not yet set */
		*method_in_rbx = true;
	} else if (c && c->entry) {
		*method_in_rbx = w->regs.r[SP_ARCH_SP] > at(*fp, I_METHOD);
	} else if (interpreter_leaving(w, &place)) {
		sp_java_emit_stub(w, b);
		*why = sp_java_to_caller(w, &place);
		w->exact = false;
		return true;
	}
	return false;
}

/* Entries for Math.sin and the like have no frame and call a stub. */
static bool interpreter_intrinsic(struct sp_walk *w, enum sp_unwind_reason *why)
{
	const struct sp_codelet *c = codelet_of(w->u->hotspot, w->regs.r[SP_ARCH_PC]);
	struct sp_walk_place place;

	if (!c || !c->entry || c->enter || !sp_interpreter_frameless(w, false, &place))
		return false;
	emit_entry(w, w->regs.r[SP_REG_RBX]);
	*why = sp_java_to_caller(w, &place);
	return true;
}

static int32_t interpreter_bci(struct sp_walk *w, uint64_t fp, uint64_t cm)
{
	uint64_t bcp;
	int32_t bci = -1;

	if (w->exact && sp_walk_knows(w, SP_REG_R13))
		bci = sp_code_cache_bci(w->u->hotspot, cm, w->regs.r[SP_REG_R13]);
	if (bci < 0 && sp_walk_word(w, at(fp, I_BCP), &bcp))
		bci = sp_code_cache_bci(w->u->hotspot, cm, bcp);
	return bci;
}

static bool emit_interpreted(struct sp_walk *w, uint64_t fp, bool in_rbx)
{
	uint64_t method, cm;
	uint16_t access = 0;
	struct sp_frame *f;

	if (in_rbx)
		method = w->regs.r[SP_REG_RBX];
	else if (!sp_walk_word(w, at(fp, I_METHOD), &method))
		return false;
	if (!sp_code_cache_method(w->u->hotspot, method, &cm))
		return false;
	f = sp_java_emit(
		w, SP_FRAME_INTERPRETED, method, cm, in_rbx ? 0 : interpreter_bci(w, fp, cm));
	sp_mem_u16(w->u->mem, method + w->u->hotspot->f.method_access, &access);
	if (f && (access & 0x0100)) { /* JVM_ACC_NATIVE */
		f->flags |= SP_FRAMEFLAG_NATIVE_METHOD;
		f->bci = -1;
	}
	return true;
}

enum sp_unwind_reason sp_interpreter_step(struct sp_walk *w, const struct sp_blob *b)
{
	uint64_t fp = w->regs.r[SP_ARCH_FP], sender_fp, ret, sender_sp;
	enum sp_unwind_reason why;
	bool in_rbx = false, unsure = false;

	if (!sp_walk_knows(w, SP_ARCH_FP)) {
		sp_java_emit_stub(w, b);
		return SP_WHY_REGISTER;
	}
	if (w->exact && interpreter_top(w, b, &fp, &in_rbx, &why))
		return why;
	if (!w->exact && interpreter_intrinsic(w, &why))
		return why;
	if (!in_stack(w, fp))
		return SP_WHY_INTERPRETER;
	if (!emit_interpreted(w, fp, in_rbx)) {
		if (w->cut || w->exact)
			return w->cut ? SP_WHY_MEMORY : SP_WHY_INTERPRETER;
		sp_java_emit_unknown(
			w); /* laid out by deoptimisation, its method not filled in yet */
		unsure = true;
	}
	if (!sp_walk_word(w, fp, &sender_fp) || !sp_walk_word(w, at(fp, I_RETURN), &ret))
		return SP_WHY_MEMORY;
	sender_sp = w->regs.r[SP_REG_R13]; /* until it is pushed */
	if (w->regs.r[SP_ARCH_SP] <= at(fp, I_SENDER_SP) &&
		!sp_walk_word(w, at(fp, I_SENDER_SP), &sender_sp))
		return SP_WHY_MEMORY;
	if (sender_sp < fp + 16 || !in_stack(w, sender_sp))
		sender_sp = fp + 16;
	if (!sp_walk_in_java(w, ret) || (unsure && !sp_java_return_ok(w, ret)))
		return SP_WHY_INTERPRETER;
	w->callee_blob = b->addr;
	sp_walk_set(w, ret, sender_sp, sender_fp, true);
	w->exact = false;
	return SP_WHY_NONE;
}
