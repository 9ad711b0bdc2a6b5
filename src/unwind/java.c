/* Frames of generated code: compiled methods, call stub, adapters and other stubs; the
 * interpreter's are in interpreter.c. Shapes of frames are HotSpot's for x86-64 (frame_x86.hpp, the
 * same from 11 to 25). */
#include "unwind/java.h"

#include <errno.h>
#include <string.h>

/* call_stub's frame, relative to rbp */
#define C_WRAPPER (-48)
#define C_RBX	  (-56)
#define C_R12	  (-64)

#define COOKIE (~0ull) /* what method_entry_barrier pushes below its return address */

struct sp_frame *sp_java_emit(
	struct sp_walk *w, enum sp_frame_type type, uint64_t method, uint64_t cm, int32_t bci)
{
	struct sp_frame *f = sp_walk_emit(w, SP_FRAME_KIND_JAVA, type);

	if (f) {
		f->method = method;
		f->const_method = cm;
		f->bci = bci;
	}
	return f;
}

struct sp_frame *sp_java_emit_stub(struct sp_walk *w, const struct sp_blob *b)
{
	struct sp_frame *f = sp_walk_emit(w, SP_FRAME_KIND_STUB, SP_FRAME_NATIVE);

	if (f) {
		f->method = b->name;
		f->code = b->code_begin;
		f->const_method = b->code_end;
	}
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
		return sp_call_site_before(w->u->mem, pc, &target);
	default:
		return false;
	}
}

bool sp_java_place_ok(struct sp_walk *w, const struct sp_walk_place *p, uint64_t ret)
{
	const struct sp_hotspot *h = w->u->hotspot;
	uint64_t method, cm;

	if (!sp_java_return_ok(w, ret))
		return false;
	if (ret < h->interp_low || ret >= h->interp_high)
		return ret != h->call_stub_return || (p->fp_known && in_stack(w, p->fp));
	return p->fp_known && p->fp > p->sp - 8 && in_stack(w, p->fp) &&
	       sp_walk_word(w, at(p->fp, I_METHOD), &method) &&
	       sp_code_cache_method(w->u->hotspot, method, &cm);
}

bool sp_java_anchor_ok(struct sp_walk *w, struct sp_anchor *a)
{
	if (a->last_java_sp <= w->regs.r[SP_ARCH_SP] || a->last_java_sp >= w->snap->stack_end)
		return false;
	if (!a->last_java_pc && !sp_walk_word(w, a->last_java_sp - 8, &a->last_java_pc))
		return false;
	return sp_walk_in_java(w, a->last_java_pc);
}

bool sp_java_from_anchor(struct sp_walk *w, const struct sp_anchor *anchor)
{
	struct sp_anchor a = *anchor;

	if (!sp_java_anchor_ok(w, &a))
		return false;
	sp_walk_set(w, a.last_java_pc, a.last_java_sp, a.last_java_fp, a.last_java_fp != 0);
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

void sp_java_emit_unknown(struct sp_walk *w)
{
	sp_walk_emit(w, SP_FRAME_KIND_UNKNOWN, SP_FRAME_NATIVE);
}

/* The frame of Continuation.enterSpecial holds a ContinuationEntry at its lower end: a word that is
 * not used on x86, the parent, the Continuation, … (continuationEntry.hpp; seen in 21 and 25).
 * @entry: where it is. */
static void note_continuation(struct sp_walk *w, uint64_t entry)
{
	if (!w->res->continuation)
		sp_walk_word(w, entry + 16, &w->res->continuation);
}

/* Its size: as the entry's own frame says, where one was seen. */
static uint32_t entry_size(const struct sp_hotspot *h)
{
	return h->vthreads.entry_size ? h->vthreads.entry_size : 64;
}

/* The wrapper of a native method, or a method without debug information at this pc. */
static void emit_whole(struct sp_walk *w, const struct sp_blob *b)
{
	struct sp_frame *f;
	uint64_t cm;

	if (!sp_code_cache_method_in(w->u->hotspot, b, b->method, &cm)) {
		sp_java_emit_unknown(w);
		return;
	}
	f = sp_java_emit(w, compiled_type(b, false), b->method, cm, -1);
	if (b->continuation && !w->exact && b->frame_size > 16) {
		w->u->hotspot->vthreads.entry_size = b->frame_size - 16;
		note_continuation(w, w->regs.r[SP_ARCH_SP]);
	}
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
			sp_java_emit_unknown(w);
			continue;
		}
		f = sp_java_emit(w, compiled_type(b, i < count - 1), scopes[i].method,
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

enum sp_unwind_reason sp_java_to_caller(struct sp_walk *w, const struct sp_walk_place *p)
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
	struct sp_walk *w, const struct sp_blob *b, uint32_t extra, struct sp_walk_place *ret)
{
	uint64_t sp = w->regs.r[SP_ARCH_SP] + extra + b->frame_size;

	*ret = (struct sp_walk_place){.ret_slot = sp - 8, .sp = sp};
	ret->fp_known = sp_walk_word(w, sp - 16, &ret->fp);
	return ret->fp_known;
}

static bool fits(
	struct sp_walk *w, const struct sp_blob *b, uint32_t extra, struct sp_walk_place *ret)
{
	uint64_t word;

	return full_frame(w, b, extra, ret) && sp_walk_word(w, ret->ret_slot, &word) &&
	       sp_java_place_ok(w, ret, word);
}

/* The frame of a compiled method at a call that has no debug information. The code after the call
 * says what lies on top of the frame; patching stubs of C1 push up to eleven registers. */
static bool leaf_caller(
	struct sp_walk *w, const struct sp_blob *b, uint64_t pc, struct sp_walk_place *ret)
{
	uint32_t known = sp_top_frame_extra(w, b, pc);
	bool cut = w->cut;

	if ((known && fits(w, b, known, ret)) || fits(w, b, 0, ret))
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
	struct sp_walk_place place;
	bool exact = b->kind == SP_BLOB_NATIVE_NMETHOD, ok;
	uint64_t pc = real_pc(w, b);
	int n = -ENOENT;

	if (b->kind == SP_BLOB_NMETHOD)
		n = sp_walk_scopes(w, b, pc, w->exact, scopes, SP_SCOPES_MAX, &exact);
	if (code_changed(w, b))
		sp_java_emit_unknown(w);
	else if (n > 0)
		emit_scopes(w, b, scopes, n);
	else
		emit_whole(w, b);
	if (!b->frame_size && !w->exact)
		return SP_WHY_STUB;
	if (w->exact)
		ok = sp_top_frame_compiled(w, b, &place);
	else
		ok = exact ? full_frame(w, b, 0, &place) : leaf_caller(w, b, pc, &place);
	if (!ok)
		return w->cut ? SP_WHY_MEMORY : SP_WHY_NO_PCDESC;
	w->callee_blob = b->addr;
	return sp_java_to_caller(w, &place);
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
	       sp_modules_find(w->u->modules, ret) && sp_call_site_before(w->u->mem, ret, &target);
}

/* A stub that called something: it has a frame pointer, sometimes with a cookie above it. */
static bool stub_frame(struct sp_walk *w, struct sp_walk_place *ret)
{
	uint64_t fp = w->regs.r[SP_ARCH_FP], word;

	if (!sp_walk_knows(w, SP_ARCH_FP) || !in_stack(w, fp) || !sp_walk_word(w, fp + 8, &word))
		return false;
	*ret = (struct sp_walk_place){.ret_slot = fp + 8, .sp = fp + 16, .fp_known = true};
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
static bool runtime_frame(struct sp_walk *w, const struct sp_blob *b, struct sp_walk_place *ret)
{
	struct sp_walk_place framed;
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
	struct sp_walk_place place;
	bool ok;

	f = sp_java_emit_stub(w, b);
	if (b->kind == SP_BLOB_STUB_ROUTINES && in_call_stub(w))
		return step_call_stub(w);
	/* Java code returns to no other stub than the barrier below thawed frames */
	if (f && b->kind == SP_BLOB_STUB_ROUTINES && !w->exact && w->callee_blob) {
		f->flags |= SP_FRAMEFLAG_VTHREAD_END | SP_FRAMEFLAG_IN_HEAP;
		/* it replaces the entry's frame and has its rbp */
		if (sp_walk_knows(w, SP_ARCH_FP))
			note_continuation(w, w->regs.r[SP_ARCH_FP] - entry_size(w->u->hotspot));
	}
	if (w->exact)
		ok = sp_top_frame_stub(w, b, &place);
	else if (b->frame_size && b->kind == SP_BLOB_RUNTIME)
		ok = runtime_frame(w, b, &place);
	else
		ok = stub_frame(w, &place);
	if (!ok)
		return w->cut ? SP_WHY_MEMORY : SP_WHY_STUB;
	w->callee_blob = b->addr;
	place.keeps = b->kind == SP_BLOB_STUB_ROUTINES; /* called as C functions are */
	return sp_java_to_caller(w, &place);
}

/* c2i adapters call the runtime to fix their caller's call site: r13 keeps the stack pointer. */
static enum sp_unwind_reason step_adapter(struct sp_walk *w, const struct sp_blob *b)
{
	struct sp_walk_place place;
	uint64_t r13 = w->regs.r[SP_REG_R13];

	sp_java_emit_stub(w, b);
	if (w->exact) {
		if (!sp_interpreter_frameless(w, true, &place))
			return w->cut ? SP_WHY_MEMORY : SP_WHY_STUB;
		return sp_java_to_caller(w, &place);
	}
	if (!sp_walk_knows(w, SP_REG_R13) || !in_stack(w, r13))
		return SP_WHY_REGISTER;
	place = (struct sp_walk_place){.ret_slot = r13,
		.sp = r13 + 8,
		.fp = w->regs.r[SP_ARCH_FP],
		.fp_known = sp_walk_knows(w, SP_ARCH_FP)};
	return sp_java_to_caller(w, &place);
}

enum sp_unwind_reason sp_java_step(struct sp_walk *w)
{
	const struct sp_blob *found;
	struct sp_blob b;
	int r = sp_walk_blob(w, w->regs.r[SP_ARCH_PC], &found);

	if (r < 0) {
		sp_java_emit_unknown(w);
		return r == -EFAULT ? SP_WHY_MEMORY : SP_WHY_NO_BLOB;
	}
	b = *found; /* checks of return addresses below may evict it */
	switch (b.kind) {
	case SP_BLOB_NMETHOD:
	case SP_BLOB_NATIVE_NMETHOD:
		return step_compiled(w, &b);
	case SP_BLOB_INTERPRETER:
		return sp_interpreter_step(w, &b);
	case SP_BLOB_ADAPTER:
		return step_adapter(w, &b);
	default:
		return step_stub(w, &b);
	}
}
