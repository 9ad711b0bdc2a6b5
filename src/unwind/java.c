/* Frames of generated code: interpreter, compiled methods, call stub, adapters and other stubs.
 * Shapes of frames are HotSpot's for x86-64 (frame_x86.hpp, the same from 11 to 25). */
#include "unwind/walk.h"

#include <errno.h>
#include <string.h>

/* Interpreter frame, relative to rbp */
#define I_RETURN    8
#define I_SENDER_SP (-8)
#define I_METHOD    (-24)
#define I_BCP	    (-64)

/* call_stub's frame, relative to rbp */
#define C_WRAPPER (-48)
#define C_RBX	  (-56)
#define C_R12	  (-64)

#define COOKIE (~0ull) /* what method_entry_barrier pushes below its return address */

static uint64_t at(uint64_t base, int off)
{
	return base + (uint64_t)(int64_t)off;
}

static bool in_stack(const struct sp_walk *w, uint64_t addr)
{
	return addr >= w->regs.r[SP_ARCH_SP] && addr < w->snap->stack_end && !(addr & 7);
}

static struct sp_frame *emit_method(
	struct sp_walk *w, enum sp_frame_type type, uint64_t method, uint64_t cm, int32_t bci)
{
	struct sp_frame *f = sp_walk_emit(w, SP_KIND_JAVA, type);

	if (f) {
		f->method = method;
		f->const_method = cm;
		f->bci = bci;
	}
	return f;
}

static struct sp_frame *emit_stub(struct sp_walk *w, const struct sp_blob *b)
{
	struct sp_frame *f = sp_walk_emit(w, SP_KIND_STUB, SP_FRAME_NATIVE);

	if (f)
		f->method = b->name;
	return f;
}

bool sp_java_return_ok(struct sp_walk *w, uint64_t pc)
{
	struct sp_scope scopes[SP_SCOPES_MAX];
	const struct sp_blob *b;
	uint64_t target;
	bool exact;

	if (!sp_walk_in_java(w, pc) || sp_walk_blob(w, pc, &b) < 0)
		return false;
	switch (b->kind) {
	case SP_BLOB_NMETHOD:
		if (pc == b->deopt || pc == b->deopt_mh)
			return true;
		return sp_walk_scopes(w, b, pc, false, scopes, SP_SCOPES_MAX, &exact) > 0 && exact;
	case SP_BLOB_INTERPRETER:
		return true;
	case SP_BLOB_STUB_ROUTINES: /* also the return barrier of continuations */
	case SP_BLOB_RUNTIME:
		return pc > b->code_begin;
	case SP_BLOB_NATIVE_NMETHOD:
		return sp_call_before(w->u->mem, pc, &target);
	default:
		return false;
	}
}

bool sp_java_place_ok(struct sp_walk *w, const struct sp_place *p, uint64_t ret)
{
	const struct sp_hotspot *h = w->u->hotspot;
	uint64_t method, cm;

	if (!sp_java_return_ok(w, ret))
		return false;
	if (ret < h->interp_low || ret >= h->interp_high)
		return ret != h->call_stub_return || (p->fp_known && in_stack(w, p->fp));
	return p->fp_known && p->fp > p->sp - 8 && in_stack(w, p->fp) &&
	       sp_walk_word(w, at(p->fp, I_METHOD), &method) &&
	       sp_code_method(w->u->hotspot, method, &cm);
}

bool sp_java_from_anchor(struct sp_walk *w, const struct sp_anchor *a)
{
	uint64_t pc = a->last_java_pc;

	if (a->last_java_sp <= w->regs.r[SP_ARCH_SP] || a->last_java_sp >= w->snap->stack_end)
		return false;
	if (!pc && !sp_walk_word(w, a->last_java_sp - 8, &pc))
		return false;
	if (!sp_walk_in_java(w, pc))
		return false;
	sp_walk_set(w, pc, a->last_java_sp, a->last_java_fp, a->last_java_fp != 0);
	w->exact = false;
	w->callee_blob = 0;
	return true;
}

/* Code that went away after the sample, and whose place may hold other code now. */
static bool code_changed(const struct sp_walk *w, const struct sp_blob *b)
{
	const struct sp_hotspot *h = w->u->hotspot;

	for (unsigned i = 0; i < SP_UNLOADS; i++) {
		uint64_t time_ns = __atomic_load_n(&h->unloads[i].time_ns, __ATOMIC_ACQUIRE);
		uint64_t addr = __atomic_load_n(&h->unloads[i].addr, __ATOMIC_RELAXED);

		if (addr >= b->addr && addr < b->code_end && time_ns >= w->snap->time_ns)
			return true;
	}
	return false;
}

static enum sp_frame_type compiled_type(const struct sp_blob *b, bool inlined)
{
	if (b->kind == SP_BLOB_NATIVE_NMETHOD)
		return SP_FRAME_NATIVE;
	if (inlined)
		return SP_FRAME_INLINED;
	return b->comp_level >= 1 && b->comp_level <= 3 ? SP_FRAME_C1 : SP_FRAME_C2;
}

static void emit_unknown(struct sp_walk *w)
{
	sp_walk_emit(w, SP_KIND_UNKNOWN, SP_FRAME_NATIVE);
}

/* The wrapper of a native method, or a method without debug information at this pc. */
static void emit_whole(struct sp_walk *w, const struct sp_blob *b)
{
	struct sp_frame *f;
	uint64_t cm;

	if (!sp_code_method(w->u->hotspot, b->method, &cm)) {
		emit_unknown(w);
		return;
	}
	f = emit_method(w, compiled_type(b, false), b->method, cm, -1);
	if (f && b->kind == SP_BLOB_NATIVE_NMETHOD)
		f->flags |= SP_FRAMEFLAG_NATIVE_METHOD |
			    (b->continuation ? SP_FRAMEFLAG_VTHREAD_END : 0);
}

static void emit_scopes(
	struct sp_walk *w, const struct sp_blob *b, const struct sp_scope *scopes, int count)
{
	for (int i = 0; i < count; i++) {
		struct sp_frame *f;

		if (!scopes[i].const_method) {
			emit_unknown(w);
			continue;
		}
		f = emit_method(w, compiled_type(b, i < count - 1), scopes[i].method,
			scopes[i].const_method, scopes[i].bci);
		if (f) /* a method lives at least as long as code that it is part of */
			f->code = b->addr ^ (uint64_t)b->compile_id << 48 ^ b->compile_id;
	}
}

/* A deoptimised frame returns to its deoptimisation handler; the real pc is kept in the frame. */
static uint64_t real_pc(struct sp_walk *w, const struct sp_blob *b)
{
	uint64_t pc = w->regs.r[SP_ARCH_PC], orig;

	if (w->exact || (pc != b->deopt && pc != b->deopt_mh) || !b->deopt)
		return pc;
	if (!sp_walk_word(w, at(w->regs.r[SP_ARCH_SP], b->orig_pc_offset), &orig) ||
		orig < b->code_begin || orig >= b->code_end)
		return pc;
	return orig;
}

static enum sp_unwind_reason to_caller(struct sp_walk *w, const struct sp_place *p)
{
	struct sp_cfi_regs saved;
	uint64_t ret = p->ret, callee;

	if (p->ret_slot && !sp_walk_word(w, p->ret_slot, &ret))
		return SP_WHY_MEMORY;
	callee = w->callee_blob;
	saved = w->regs;
	sp_walk_set(w, ret, p->sp, p->fp, p->fp_known);
	if (p->keeps) {
		uint32_t keep = saved.known & SP_ARCH_SAVED & ~SP_KNOWN(SP_ARCH_FP);

		for (unsigned reg = 0; reg < SP_ARCH_REGS; reg++)
			if (keep & SP_KNOWN(reg))
				w->regs.r[reg] = saved.r[reg];
		w->regs.known |= keep;
	}
	w->callee_blob = callee;
	w->exact = false;
	return SP_WHY_NONE;
}

static bool full_frame(
	struct sp_walk *w, const struct sp_blob *b, uint32_t extra, struct sp_place *ret)
{
	uint64_t sp = w->regs.r[SP_ARCH_SP] + extra + b->frame_size;

	*ret = (struct sp_place){.ret_slot = sp - 8, .sp = sp};
	ret->fp_known = sp_walk_word(w, sp - 16, &ret->fp);
	return ret->fp_known;
}

static bool fits(struct sp_walk *w, const struct sp_blob *b, uint32_t extra, struct sp_place *ret)
{
	uint64_t word;

	return full_frame(w, b, extra, ret) && sp_walk_word(w, ret->ret_slot, &word) &&
	       sp_java_place_ok(w, ret, word);
}

/* The frame of a compiled method at a call that has no debug information. The code after the call
 * tells what lies on top of the frame; patching stubs of C1 push up to eleven registers. */
static bool leaf_caller(
	struct sp_walk *w, const struct sp_blob *b, uint64_t pc, struct sp_place *ret)
{
	uint32_t told = sp_top_extra(w, b, pc);
	bool cut = w->cut;

	if ((told && fits(w, b, told, ret)) || fits(w, b, 0, ret))
		return true;
	for (uint32_t extra = 8; extra <= 96; extra += 8)
		if (fits(w, b, extra, ret))
			return true;
	w->cut = cut;
	return full_frame(w, b, 0, ret);
}

static enum sp_unwind_reason step_compiled(struct sp_walk *w, const struct sp_blob *b)
{
	struct sp_scope scopes[SP_SCOPES_MAX];
	struct sp_place place;
	bool exact = b->kind == SP_BLOB_NATIVE_NMETHOD, ok;
	uint64_t pc = real_pc(w, b);
	int n = -ENOENT;

	if (b->kind == SP_BLOB_NMETHOD)
		n = sp_walk_scopes(w, b, pc, w->exact, scopes, SP_SCOPES_MAX, &exact);
	if (code_changed(w, b))
		emit_unknown(w);
	else if (n > 0)
		emit_scopes(w, b, scopes, n);
	else
		emit_whole(w, b);
	if (!b->frame_size && !w->exact)
		return SP_WHY_STUB;
	if (w->exact)
		ok = sp_top_compiled(w, b, &place);
	else
		ok = exact ? full_frame(w, b, 0, &place) : leaf_caller(w, b, pc, &place);
	if (!ok)
		return w->cut ? SP_WHY_MEMORY : SP_WHY_NO_PCDESC;
	w->callee_blob = b->addr;
	return to_caller(w, &place);
}

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

	if (sp_walk_knows(w, SP_REG_RBX) && sp_code_method(w->u->hotspot, method, &cm))
		emit_method(w, SP_FRAME_INTERPRETED, method, cm, 0);
	else
		emit_unknown(w);
}

/* A call on its way into the interpreter, or out of it: no frame yet. rbx = Method*, r13 = the
 * caller's sp, return address at [sp] or already taken into rax. */
static bool frameless(struct sp_walk *w, bool adapter, struct sp_place *ret)
{
	uint64_t sp = w->regs.r[SP_ARCH_SP], r13 = w->regs.r[SP_REG_R13],
		 rax = w->regs.r[SP_REG_RAX];
	bool r13_ok = sp_walk_knows(w, SP_REG_R13) && in_stack(w, r13) && r13 - sp < 65536;
	uint64_t word;

	*ret = (struct sp_place){
		.fp = w->regs.r[SP_ARCH_FP], .fp_known = sp_walk_knows(w, SP_ARCH_FP)};
	if (r13_ok && sp_walk_word(w, r13 - 8, &word) && word == rax && sp_java_return_ok(w, rax)) {
		ret->ret = rax;
		ret->sp = r13;
		return true;
	}
	if (sp_walk_word(w, sp, &word) && sp_java_return_ok(w, word)) {
		ret->ret = word;
		/* an adapter still has to set r13 */
		ret->sp = r13_ok && r13 > sp && !adapter ? r13 : sp + 8;
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
static bool interpreter_leaving(struct sp_walk *w, struct sp_place *ret)
{
	static const uint8_t tail[] = {0x41, 0x5d, 0x48, 0x8b, 0xe3, 0x41, 0xff, 0xe5};
	uint64_t pc = w->regs.r[SP_ARCH_PC], sp = w->regs.r[SP_ARCH_SP];
	uint8_t code[8], before[3];

	if (sp_mem_read(w->u->mem, pc, code, 8) < 0 ||
		sp_mem_read(w->u->mem, pc - 3, before, 3) < 0)
		return false;
	*ret = (struct sp_place){.fp = w->regs.r[SP_ARCH_FP], .fp_known = true};
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
	struct sp_place place;

	if (c && c->entry && (!c->enter || pc <= c->enter)) {
		if (frameless(w, false, &place)) {
			emit_entry(w, w->regs.r[SP_REG_RBX]);
			*why = to_caller(w, &place);
			return true;
		}
	} else if (c && c->entry && pc < c->enter + 4) {
		*fp = w->regs.r[SP_ARCH_SP]; /* rbp is pushed but not yet set */
		*method_in_rbx = true;
	} else if (c && c->entry) {
		*method_in_rbx = w->regs.r[SP_ARCH_SP] > at(*fp, I_METHOD);
	} else if (interpreter_leaving(w, &place)) {
		emit_stub(w, b);
		*why = to_caller(w, &place);
		w->exact = false;
		return true;
	}
	return false;
}

/* Entries for Math.sin and the like have no frame and call a stub. */
static bool interpreter_intrinsic(struct sp_walk *w, enum sp_unwind_reason *why)
{
	const struct sp_codelet *c = codelet_of(w->u->hotspot, w->regs.r[SP_ARCH_PC]);
	struct sp_place place;

	if (!c || !c->entry || c->enter || !frameless(w, false, &place))
		return false;
	emit_entry(w, w->regs.r[SP_REG_RBX]);
	*why = to_caller(w, &place);
	return true;
}

static int32_t interpreter_bci(struct sp_walk *w, uint64_t fp, uint64_t cm)
{
	uint64_t bcp;
	int32_t bci = -1;

	if (w->exact && sp_walk_knows(w, SP_REG_R13))
		bci = sp_code_bci(w->u->hotspot, cm, w->regs.r[SP_REG_R13]);
	if (bci < 0 && sp_walk_word(w, at(fp, I_BCP), &bcp))
		bci = sp_code_bci(w->u->hotspot, cm, bcp);
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
	if (!sp_code_method(w->u->hotspot, method, &cm))
		return false;
	f = emit_method(
		w, SP_FRAME_INTERPRETED, method, cm, in_rbx ? 0 : interpreter_bci(w, fp, cm));
	sp_mem_u16(w->u->mem, method + w->u->hotspot->f.method_access, &access);
	if (f && (access & 0x0100)) { /* JVM_ACC_NATIVE */
		f->flags |= SP_FRAMEFLAG_NATIVE_METHOD;
		f->bci = -1;
	}
	return true;
}

static enum sp_unwind_reason step_interpreter(struct sp_walk *w, const struct sp_blob *b)
{
	uint64_t fp = w->regs.r[SP_ARCH_FP], sender_fp, ret, sender_sp;
	enum sp_unwind_reason why;
	bool in_rbx = false, unsure = false;

	if (!sp_walk_knows(w, SP_ARCH_FP)) {
		emit_stub(w, b);
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
		emit_unknown(w); /* laid out by deoptimisation, its method not filled in yet */
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

static void load_reg(struct sp_walk *w, unsigned reg, uint64_t addr)
{
	if (sp_walk_word(w, addr, &w->regs.r[reg]))
		w->regs.known |= SP_KNOWN(reg);
}

/* call_stub saves what C++ expects to keep, and the anchor of the Java frames below in its
 * JavaCallWrapper. */
static enum sp_unwind_reason step_call_stub(struct sp_walk *w)
{
	const struct sp_fields *f = &w->u->hotspot->f;
	uint64_t fp = w->regs.r[SP_ARCH_FP], ret, sender_fp, wrapper;

	if (!sp_walk_knows(w, SP_ARCH_FP))
		return SP_WHY_REGISTER;
	if (!in_stack(w, fp) || !sp_walk_word(w, fp, &sender_fp) || !sp_walk_word(w, fp + 8, &ret))
		return w->cut ? SP_WHY_MEMORY : SP_WHY_STUB;
	memset(&w->anchor, 0, sizeof(w->anchor));
	if (sp_walk_word(w, at(fp, C_WRAPPER), &wrapper) && in_stack(w, wrapper)) {
		wrapper += f->wrapper_anchor;
		sp_walk_word(w, wrapper + f->anchor_sp, &w->anchor.last_java_sp);
		sp_walk_word(w, wrapper + f->anchor_pc, &w->anchor.last_java_pc);
		sp_walk_word(w, wrapper + f->anchor_fp, &w->anchor.last_java_fp);
	}
	sp_walk_set(w, ret, fp + 16, sender_fp, true);
	load_reg(w, SP_REG_RBX, at(fp, C_RBX));
	for (int i = 0; i < 4; i++)
		load_reg(w, SP_REG_R12 + (unsigned)i, at(fp, C_R12 - 8 * i));
	w->callee_blob = 0;
	w->exact = false;
	return SP_WHY_NONE;
}

/* Inside call_stub, the thread's top frame: its frame is there once rbp points to it. */
static bool in_call_stub(struct sp_walk *w)
{
	uint64_t pc = w->regs.r[SP_ARCH_PC], ret, stub = w->u->hotspot->call_stub_return;
	uint64_t fp = w->regs.r[SP_ARCH_FP], target;

	if (pc == stub && !w->exact)
		return true;
	if (!w->exact || pc + 512 < stub || pc > stub + 512 || !in_stack(w, fp) ||
		fp - w->regs.r[SP_ARCH_SP] < 0x60)
		return false;
	return sp_walk_word(w, fp + 8, &ret) && !sp_walk_in_java(w, ret) &&
	       sp_modules_find(w->u->modules, ret) && sp_call_before(w->u->mem, ret, &target);
}

/* A stub that called something: it has a frame pointer, sometimes with a cookie above it. */
static bool stub_frame(struct sp_walk *w, struct sp_place *ret)
{
	uint64_t fp = w->regs.r[SP_ARCH_FP], word;

	if (!sp_walk_knows(w, SP_ARCH_FP) || !in_stack(w, fp) || !sp_walk_word(w, fp + 8, &word))
		return false;
	*ret = (struct sp_place){.ret_slot = fp + 8, .sp = fp + 16, .fp_known = true};
	if (word == COOKIE) {
		ret->ret_slot += 8;
		ret->sp += 8;
		if (!sp_walk_word(w, fp + 16, &word))
			return false;
	}
	return sp_walk_word(w, fp, &ret->fp) &&
	       (sp_java_return_ok(w, word) || (sp_walk_in_java(w, word) && w->cut == false));
}

/* The deoptimisation blob has one frame while it looks at the old frame and another while the new
 * ones are filled in; the latter hangs on rbp. */
static bool runtime_frame(struct sp_walk *w, const struct sp_blob *b, struct sp_place *ret)
{
	struct sp_place framed;
	uint64_t word;

	if (!full_frame(w, b, 0, ret))
		return stub_frame(w, ret);
	if (sp_walk_word(w, ret->ret_slot, &word) && !sp_java_return_ok(w, word) &&
		stub_frame(w, &framed))
		*ret = framed;
	return true;
}

static enum sp_unwind_reason step_stub(struct sp_walk *w, const struct sp_blob *b)
{
	struct sp_frame *f;
	struct sp_place place;
	bool ok;

	f = emit_stub(w, b);
	if (b->kind == SP_BLOB_STUB_ROUTINES && in_call_stub(w))
		return step_call_stub(w);
	/* Java code returns to no other stub than the barrier below thawed frames */
	if (f && b->kind == SP_BLOB_STUB_ROUTINES && !w->exact && w->callee_blob)
		f->flags |= SP_FRAMEFLAG_VTHREAD_END | SP_FRAMEFLAG_IN_HEAP;
	if (w->exact)
		ok = sp_top_stub(w, b, &place);
	else if (b->frame_size && b->kind == SP_BLOB_RUNTIME)
		ok = runtime_frame(w, b, &place);
	else
		ok = stub_frame(w, &place);
	if (!ok)
		return w->cut ? SP_WHY_MEMORY : SP_WHY_STUB;
	w->callee_blob = b->addr;
	place.keeps = b->kind == SP_BLOB_STUB_ROUTINES; /* called as C functions are */
	return to_caller(w, &place);
}

/* c2i adapters call the runtime to fix their caller's call site: r13 keeps the stack pointer. */
static enum sp_unwind_reason step_adapter(struct sp_walk *w, const struct sp_blob *b)
{
	struct sp_place place;
	uint64_t r13 = w->regs.r[SP_REG_R13];

	emit_stub(w, b);
	if (w->exact) {
		if (!frameless(w, true, &place))
			return w->cut ? SP_WHY_MEMORY : SP_WHY_STUB;
		return to_caller(w, &place);
	}
	if (!sp_walk_knows(w, SP_REG_R13) || !in_stack(w, r13))
		return SP_WHY_REGISTER;
	place = (struct sp_place){.ret_slot = r13,
		.sp = r13 + 8,
		.fp = w->regs.r[SP_ARCH_FP],
		.fp_known = sp_walk_knows(w, SP_ARCH_FP)};
	return to_caller(w, &place);
}

enum sp_unwind_reason sp_java_step(struct sp_walk *w)
{
	const struct sp_blob *found;
	struct sp_blob b;
	int r = sp_walk_blob(w, w->regs.r[SP_ARCH_PC], &found);

	if (r < 0) {
		emit_unknown(w);
		return r == -EFAULT ? SP_WHY_MEMORY : SP_WHY_NO_BLOB;
	}
	b = *found; /* checks of return addresses below may evict it */
	switch (b.kind) {
	case SP_BLOB_NMETHOD:
	case SP_BLOB_NATIVE_NMETHOD:
		return step_compiled(w, &b);
	case SP_BLOB_INTERPRETER:
		return step_interpreter(w, &b);
	case SP_BLOB_ADAPTER:
		return step_adapter(w, &b);
	default:
		return step_stub(w, &b);
	}
}
