/* Native code without unwind rows (hand-written assembler, -fno-asynchronous-unwind-tables). What
 * is found here without a row is believed only where it leads exactly to the last Java frame: stale
 * return addresses on the stack look like real ones. Otherwise the native frames in between are
 * one gap. */
#include "unwind/java.h"

#include <string.h>

#define PUSHED_MAX	40
#define FUNCTION_MAX	(64u << 10)
#define LINKS_MAX	128
#define ACC_NATIVE	0x100u
#define WRAPPER_MAX	4096 /* bytes of a native method's wrapper frame */
#define INTERPRETED_MAX 512  /* from an interpreted one's frame pointer down to its call */

/* Whether the call before @ret goes to a function that may hold @pc: it starts below, in the same
 * module. */
static bool calls_function_of(struct sp_walk *w, uint64_t target, uint64_t pc)
{
	const struct sp_module *mod = sp_modules_find(w->u->modules, pc);
	uint64_t func = sp_call_through(w->u->mem, target);

	return func && func <= pc && pc - func < FUNCTION_MAX && mod &&
	       sp_modules_find(w->u->modules, func) == mod;
}

enum calls { ANY_CALL, CALL_OF_THIS, INDIRECT_CALL };

/* Whether a call to @target (0: an indirect one) is one of @which, seen from @pc. */
static bool is_call_of(struct sp_walk *w, enum calls which, uint64_t target, uint64_t pc)
{
	switch (which) {
	case CALL_OF_THIS:
		return calls_function_of(w, target, pc);
	case INDIRECT_CALL:
		return !target;
	default:
		return true;
	}
}

/* Goes on behind a return address at @slot, if there is one: it follows a call of that kind. */
static bool return_from(struct sp_walk *w, uint64_t slot, uint32_t kept, enum calls which)
{
	uint64_t ret, target, pc = w->regs.r[SP_ARCH_PC];

	if ((w->anchor.last_java_sp && slot >= w->anchor.last_java_sp) ||
		!sp_walk_word(w, slot, &ret) ||
		(!sp_modules_find(w->u->modules, ret) && !sp_walk_in_java(w, ret)) ||
		!sp_call_site_before(w->u->mem, ret, &target) || !is_call_of(w, which, target, pc))
		return false;
	w->regs.r[SP_ARCH_PC] = ret;
	w->regs.r[SP_ARCH_SP] = slot + 8;
	w->regs.known &= kept | SP_KNOWN(SP_ARCH_PC) | SP_KNOWN(SP_ARCH_SP);
	w->exact = false;
	w->callee_blob = 0;
	return true;
}

/* Whether the word on top of the stack is the pushed rbp: it is still the same, or points there. */
static bool pushed_fp(struct sp_walk *w)
{
	uint64_t sp = w->regs.r[SP_ARCH_SP], fp = w->regs.r[SP_ARCH_FP], word;

	return sp_walk_word(w, sp, &word) &&
	       (!sp_walk_knows(w, SP_ARCH_FP) || fp == word || fp == sp);
}

/* Leaves (libjvm's copy loops) have their return address on top of the stack, or behind a pushed
 * rbp; others (zstd's decoders) behind all the registers and arguments that they pushed: a call of
 * this very function before one through a pointer. */
static bool find_return(struct sp_walk *w)
{
	uint64_t sp = w->regs.r[SP_ARCH_SP];

	if (return_from(w, sp, SP_ARCH_SAVED, ANY_CALL))
		return true;
	if (pushed_fp(w) && return_from(w, sp + 8, SP_ARCH_SAVED, ANY_CALL)) {
		sp_walk_word(w, sp, &w->regs.r[SP_ARCH_FP]);
		return true;
	}
	for (enum calls which = CALL_OF_THIS; which <= INDIRECT_CALL; which++)
		for (unsigned i = 2; i < PUSHED_MAX; i++)
			if (return_from(w, sp + 8ull * i, 0, which))
				return true;
	return false;
}

bool sp_rowless_step(struct sp_walk *w)
{
	struct sp_cfi_regs before = w->regs;
	bool cut = w->cut;

	if (!w->exact || !find_return(w)) {
		w->cut = cut;
		return false;
	}
	w->doubt = w->u->hotspot != NULL;
	w->doubt_regs = before;
	w->doubt_count = w->res->count;
	return true;
}

bool sp_rowless_refuted(const struct sp_walk *w, enum sp_unwind_reason why)
{
	if (!w->doubt)
		return false;
	if (w->done || w->cut) /* at the thread's entry, or where the copy ends */
		return w->anchor.last_java_sp;
	return why != SP_WHY_NONE;
}

void sp_rowless_undo(struct sp_walk *w)
{
	w->doubt = w->cut = w->done = false;
	w->regs = w->doubt_regs;
	w->res->count = w->doubt_count;
	w->res->unknown = 0;
	w->callee_blob = 0;
}

/* A native method's compiled wrapper has its frame pointer at the frame's upper end. */
static uint64_t wrapper_fp(const struct sp_blob *b, uint64_t sp)
{
	return sp + b->frame_size - 16;
}

static bool is_native_method(const struct sp_walk *w, uint64_t method)
{
	const struct sp_hotspot *h = w->u->hotspot;
	uint32_t access;
	uint64_t cm;

	return sp_code_cache_method(h, method, &cm) &&
	       sp_mem_u32(h->mem, method + h->f.method_access, &access) && (access & ACC_NATIVE);
}

/* The compiled native method with the frame pointer @fp: its callee returns into it, and that
 * return address is exactly a frame below. Two that fit: *ret_unsure, the name is not known. */
static bool wrapper_at(struct sp_walk *w, uint64_t fp, struct sp_anchor *ret, bool *ret_unsure)
{
	uint64_t low = w->regs.r[SP_ARCH_SP], slot = fp - 8, word, target;
	const struct sp_blob *b;
	bool found = false;

	if (fp - low > WRAPPER_MAX)
		low = fp - WRAPPER_MAX;
	*ret_unsure = false;
	for (; slot >= low; slot -= 8) {
		if (!sp_walk_word(w, slot, &word) || !sp_walk_in_java(w, word) ||
			sp_walk_blob(w, word, &b) < 0 || b->kind != SP_BLOB_NATIVE_NMETHOD ||
			wrapper_fp(b, slot + 8) != fp ||
			!sp_call_site_before(w->u->mem, word, &target))
			continue;
		*ret_unsure |= found;
		found = true;
		*ret = (struct sp_anchor){slot + 8, fp, word};
	}
	return found;
}

/* Whether @fp is that of an interpreted native method that called at @sp. A compiled one's frame in
 * the same place may still hold words of the interpreter's. */
static bool interpreted_from(struct sp_walk *w, uint64_t fp, uint64_t sp)
{
	struct sp_anchor compiled;
	uint64_t method;
	bool unsure;

	return in_stack(w, fp) && fp - sp <= INTERPRETED_MAX &&
	       sp_walk_word(w, at(fp, I_METHOD), &method) && is_native_method(w, method) &&
	       !wrapper_at(w, fp, &compiled, &unsure);
}

/* As sp_rowless_arrived, without an anchor. */
static bool arrived_plainly(struct sp_walk *w, const struct sp_blob *b)
{
	uint64_t sp = w->regs.r[SP_ARCH_SP], fp = w->regs.r[SP_ARCH_FP];
	bool fp_known = sp_walk_knows(w, SP_ARCH_FP);

	if (b->kind == SP_BLOB_INTERPRETER)
		return fp_known && interpreted_from(w, fp, sp);
	if (b->kind != SP_BLOB_NATIVE_NMETHOD)
		return sp_java_return_ok(w, w->regs.r[SP_ARCH_PC]);
	/* Behind frames with rows it is believed as it is. */
	if (!fp_known && w->res->count > w->doubt_count)
		return true;
	return (fp_known ? fp : w->doubt_regs.r[SP_ARCH_FP]) == wrapper_fp(b, sp);
}

bool sp_rowless_arrived(struct sp_walk *w)
{
	const struct sp_anchor *a = &w->anchor;
	const struct sp_blob *b;

	if (sp_walk_blob(w, w->regs.r[SP_ARCH_PC], &b) < 0)
		return false;
	if (!a->last_java_sp)
		return arrived_plainly(w, b);
	if (b->kind == SP_BLOB_INTERPRETER)
		return sp_walk_knows(w, SP_ARCH_FP) && w->regs.r[SP_ARCH_FP] == a->last_java_fp;
	return w->regs.r[SP_ARCH_SP] == a->last_java_sp;
}

/* Frame pointers that lead from native code to the last Java frame. */
struct chain {
	uint64_t fp; /* the Java frame's */
	uint32_t links;
};

/* The interpreted native method with the frame pointer @fp. */
static bool interpreted_at(struct sp_walk *w, uint64_t fp, struct sp_anchor *ret)
{
	const struct sp_hotspot *h = w->u->hotspot;
	uint64_t low = w->regs.r[SP_ARCH_SP], slot = at(fp, I_METHOD), method, word, target;

	if (!sp_walk_word(w, slot, &method) || !is_native_method(w, method))
		return false;
	if (fp - low > INTERPRETED_MAX)
		low = fp - INTERPRETED_MAX;
	for (slot -= 8; slot >= low; slot -= 8)
		if (sp_walk_word(w, slot, &word) && word >= h->interp_low &&
			word < h->interp_high && sp_call_site_before(w->u->mem, word, &target)) {
			*ret = (struct sp_anchor){slot + 8, fp, word};
			return true;
		}
	return false;
}

/* Whether Java code returns from a frame with this frame pointer. */
static bool java_returns_at(struct sp_walk *w, uint64_t fp)
{
	uint64_t ret;

	return sp_walk_word(w, fp + 8, &ret) && sp_java_return_ok(w, ret);
}

/* Of a native function: it returns behind a call, in native code or in the native method. */
static bool is_link(struct sp_walk *w, uint64_t fp)
{
	uint64_t ret, target;

	return sp_walk_word(w, fp + 8, &ret) &&
	       (sp_modules_find(w->u->modules, ret) || sp_walk_in_java(w, ret)) &&
	       sp_call_site_before(w->u->mem, ret, &target);
}

/* Follows frame pointers to one that is a native method's. */
static bool follow_links(
	struct sp_walk *w, struct chain *c, struct sp_anchor *ret, bool *ret_unsure)
{
	uint64_t fp = w->regs.r[SP_ARCH_FP], next;

	*c = (struct chain){0};
	if (!sp_walk_knows(w, SP_ARCH_FP))
		return false;
	for (; c->links < LINKS_MAX && in_stack(w, fp); c->links++) {
		*ret_unsure = false;
		c->fp = fp;
		if (java_returns_at(w, fp) &&
			(wrapper_at(w, fp, ret, ret_unsure) || interpreted_at(w, fp, ret)))
			return true;
		if (!is_link(w, fp) || !sp_walk_word(w, fp, &next) || next <= fp)
			return false;
		fp = next;
	}
	return false;
}

void sp_rowless_gap(struct sp_walk *w)
{
	struct sp_frame *f;

	if (w->res->count && w->frames[w->res->count - 1].flags & SP_FRAMEFLAG_GAP)
		return;
	f = sp_walk_emit(w, SP_FRAME_KIND_UNKNOWN, SP_FRAME_NATIVE);
	if (f) {
		f->flags |= SP_FRAMEFLAG_GAP;
		w->res->unknown--; /* counted as what it is */
		w->res->gaps++;
	}
}

/* A perf ring's record has no anchor. Frame pointers can replace it: code that does not use
 * rbp leaves the native method's own in it, other code saves it where frame pointers lead. */
bool sp_rowless_by_links(struct sp_walk *w)
{
	struct sp_anchor a;
	struct chain c;
	bool unsure = false, cut = w->cut;
	uint64_t ret, fp;

	if (!w->u->hotspot || !follow_links(w, &c, &a, &unsure)) {
		w->cut = cut;
		return false;
	}
	w->cut = cut;
	sp_rowless_gap(w);
	if (!unsure)
		return sp_java_from_anchor(w, &a);
	if (!sp_walk_word(w, c.fp + 8, &ret) || !sp_walk_word(w, c.fp, &fp))
		return false;
	sp_walk_set(w, ret, c.fp + 16, fp, true);
	w->exact = false;
	w->callee_blob = 0;
	return true;
}
