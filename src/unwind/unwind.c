/* The loop: one frame after the other, native ones by CFI, generated code by java.c, until the
 * thread's entry. */
#include "unwind/unwind_internal.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>

#define CAP_DEFAULT (2u << 20)

static uint32_t pow2_below(size_t n)
{
	uint32_t p = 1;

	while ((size_t)p * 2 <= n)
		p *= 2;
	return p;
}

int sp_unwinder_new(struct sp_unwinder **ret, const struct sp_mem *mem, struct sp_modules *modules,
	struct sp_hotspot *hotspot, size_t cap)
{
	const size_t memo = sizeof(struct sp_stack_memo) + sizeof(struct sp_stack_memo_owner);
	struct sp_arena arena;
	struct sp_unwinder *u;
	int r;

	if (!cap)
		cap = CAP_DEFAULT;
	r = sp_arena_init(&arena, cap);
	if (r < 0)
		return r;
	u = sp_arena_alloc(&arena, sizeof(*u));
	if (!u) {
		sp_arena_done(&arena);
		return -ENOMEM;
	}
	u->mem = mem;
	u->modules = modules;
	u->hotspot = hotspot;
	cap -= sizeof(*u) + 64;
	cap -= sizeof(*u->trail) + sizeof(*u->draft);
	u->way_mask = pow2_below(cap / 16 / sizeof(*u->ways)) - 1;
	cap -= (u->way_mask + 1) * sizeof(*u->ways);
	u->memos.count = (uint32_t)(cap / 3 / memo) + 1;
	cap -= u->memos.count * memo;
	u->row_mask = pow2_below(cap / 3 / sizeof(*u->rows)) - 1;
	u->blob_mask = pow2_below(cap / 4 / sizeof(*u->blobs)) - 1;
	u->scope_mask = pow2_below(cap / 3 / sizeof(*u->scopes)) - 1;
	u->memos.memo = sp_arena_alloc(&arena, u->memos.count * sizeof(*u->memos.memo));
	u->memos.owner = sp_arena_alloc(&arena, u->memos.count * sizeof(*u->memos.owner));
	u->trail = sp_arena_alloc(&arena, sizeof(*u->trail));
	u->draft = sp_arena_alloc(&arena, sizeof(*u->draft));
	u->ways = sp_arena_alloc(&arena, (u->way_mask + 1) * sizeof(*u->ways));
	u->rows = sp_arena_alloc(&arena, (u->row_mask + 1) * sizeof(*u->rows));
	u->blobs = sp_arena_alloc(&arena, (u->blob_mask + 1) * sizeof(*u->blobs));
	u->scopes = sp_arena_alloc(&arena, (u->scope_mask + 1) * sizeof(*u->scopes));
	if (!u->rows || !u->blobs || !u->scopes || !u->memos.memo || !u->memos.owner || !u->trail ||
		!u->draft || !u->ways) {
		sp_arena_done(&arena);
		return -ENOMEM;
	}
	u->arena = arena;
	*ret = u;
	return 0;
}

void sp_unwinder_free(struct sp_unwinder *u)
{
	if (u)
		sp_arena_done_own(&u->arena);
}

size_t sp_unwinder_bytes(const struct sp_unwinder *u)
{
	return u->arena.used;
}

void sp_unwinder_batch(struct sp_unwinder *u)
{
	u->batched = true;
	u->batch++;
}

void sp_unwinder_mark(struct sp_unwinder *u, uint64_t address)
{
	u->mark = address;
}

static uint32_t hash(uint64_t pc)
{
	return (uint32_t)((pc * 0x9e3779b97f4a7c15ull) >> 32);
}

int sp_walk_load(void *walk, uint64_t addr, uint64_t *ret)
{
	struct sp_walk *w = walk;
	const struct sp_snapshot *s = w->snap;
	uint64_t off = addr - s->stack_addr;

	if (addr >= s->stack_addr && s->stack_len >= 8 && off <= s->stack_len - 8) {
		memcpy(ret, s->stack + off, 8);
		sp_stack_memo_note(w->trail, addr, *ret);
		return 0;
	}
	w->trail->lost = true;
	if (addr >= s->stack_addr && addr < s->stack_end && s->stack_end - addr >= 8) {
		w->cut = true;
		return -ENODATA;
	}
	return -EFAULT;
}

struct sp_frame *sp_walk_emit(struct sp_walk *w, enum sp_frame_kind kind, enum sp_frame_type type)
{
	struct sp_frame *f;

	if (w->res->count >= w->max)
		return NULL;
	f = &w->frames[w->res->count++];
	*f = (struct sp_frame){.kind = (uint8_t)kind, .type = (uint8_t)type, .bci = -1};
	f->pc = w->regs.r[SP_ARCH_PC];
	f->module = SP_NO_MODULE;
	if (kind == SP_FRAME_KIND_JAVA)
		w->res->java_count++;
	else if (kind == SP_FRAME_KIND_UNKNOWN)
		w->res->unknown++;
	return f;
}

void sp_walk_set(struct sp_walk *w, uint64_t pc, uint64_t sp, uint64_t fp, bool fp_known)
{
	w->regs.r[SP_ARCH_PC] = pc;
	w->regs.r[SP_ARCH_SP] = sp;
	w->regs.r[SP_ARCH_FP] = fp;
	w->regs.known = SP_KNOWN(SP_ARCH_PC) | SP_KNOWN(SP_ARCH_SP);
	if (fp_known)
		w->regs.known |= SP_KNOWN(SP_ARCH_FP);
}

int sp_walk_row(struct sp_walk *w, uint64_t pc, const struct sp_cfi_row **ret, uint64_t *ret_func)
{
	struct sp_row_entry *e = &w->u->rows[hash(pc) & w->u->row_mask];
	uint32_t epoch = sp_modules_epoch(w->u->modules);

	if (e->pc != pc || e->epoch != epoch) {
		const struct sp_module *mod = sp_modules_find(w->u->modules, pc);

		if (!mod)
			return -ENOENT;
		e->err = sp_cfi_find(w->u->mem, mod, pc, &e->row, &e->func);
		e->pc = e->err == -EFAULT ? 0 : pc;
		e->epoch = epoch;
	}
	*ret = &e->row;
	*ret_func = e->func;
	return e->err;
}

int sp_walk_blob(struct sp_walk *w, uint64_t pc, const struct sp_blob **ret)
{
	struct sp_blob_entry *e = &w->u->blobs[hash(pc) & w->u->blob_mask];
	int r;

	if (e->pc != pc ||
		(e->batch != w->u->batch && !sp_code_cache_same(w->u->hotspot, &e->blob))) {
		e->pc = 0;
		r = sp_code_cache_find(w->u->hotspot, pc, &e->blob);
		if (r < 0)
			return r;
		e->pc = pc;
	}
	e->batch = w->u->batch;
	*ret = &e->blob;
	return 0;
}

static void scopes_keep(struct sp_scopes_entry *e, const struct sp_scope *scopes, int count)
{
	e->valid = count <= SP_SCOPES_CACHED;
	for (int i = 0; i < count && e->valid; i++) {
		e->bci[i] = scopes[i].bci;
		e->method[i] = scopes[i].method;
		e->const_method[i] = scopes[i].const_method;
	}
	e->count = (uint8_t)count;
}

int sp_walk_scopes(struct sp_walk *w, const struct sp_blob *b, uint64_t pc, bool top,
	struct sp_scope *ret, unsigned max, bool *ret_exact)
{
	struct sp_scopes_entry *e = &w->u->scopes[hash(pc * 2 + top) & w->u->scope_mask];
	bool exact;
	uint64_t end;
	int r;

	if (e->valid && e->pc == pc && e->compile_id == b->compile_id && e->top == top &&
		e->count <= max) {
		for (int i = 0; i < e->count; i++)
			ret[i] = (struct sp_scope){e->method[i], e->const_method[i], e->bci[i]};
		*ret_exact = e->exact;
		return e->count;
	}
	r = sp_code_cache_scopes(w->u->hotspot, b, pc, top, ret, max, &exact);
	if (r <= 0)
		return r;
	end = top ? sp_top_frame_return(w, b, pc) : 0;
	if (end && sp_code_cache_returning(w->u->hotspot, b, pc, end, ret))
		r = 1;
	e->pc = pc;
	e->compile_id = b->compile_id;
	e->top = top;
	e->exact = exact;
	scopes_keep(e, ret, r);
	*ret_exact = exact;
	return r;
}

static enum sp_unwind_reason why_cfi(int err)
{
	switch (err) {
	case -ENOENT:
		return SP_WHY_NO_CFI;
	case -ENXIO:
		return SP_WHY_REGISTER;
	case -EFAULT:
	case -ENODATA:
		return SP_WHY_MEMORY;
	default:
		return SP_WHY_BAD_CFI;
	}
}

static enum sp_unwind_reason native_step(struct sp_walk *w)
{
	uint64_t pc = w->regs.r[SP_ARCH_PC] - !w->exact, func;
	const struct sp_module *mod = sp_modules_find(w->u->modules, pc);
	struct sp_frame *f = sp_walk_emit(
		w, mod ? SP_FRAME_KIND_NATIVE : SP_FRAME_KIND_UNKNOWN, SP_FRAME_NATIVE);
	const struct sp_cfi_row *row;
	uint64_t sp;
	int r;

	if (!f)
		return SP_WHY_NONE;
	if (!mod)
		return SP_WHY_NO_MODULE;
	f->module = mod->id;
	f->offset = pc - mod->base;
	r = sp_walk_row(w, pc, &row, &func);
	if (r < 0)
		sp_hook_path_lose(w);
	if (r == -ENOENT && sp_rowless_step(w))
		return SP_WHY_NONE;
	if (r < 0)
		return why_cfi(r);
	sp_hook_path_note(w, row);
	sp = w->regs.r[SP_ARCH_SP];
	r = sp_cfi_step(w->u->mem, row, sp_walk_load, w, &w->regs);
	if (r == -ENXIO && sp_blocked_step(w, row, func)) {
		sp_hook_path_lose(w);
		f->flags |= SP_FRAMEFLAG_GUESSED;
		r = 0;
	}
	if (r < 0)
		return why_cfi(r);
	if (w->u->mark >= sp && w->u->mark < w->regs.r[SP_ARCH_SP])
		w->res->marked = w->res->count - 1;
	w->done = r == 1 || w->regs.r[SP_ARCH_PC] == 0;
	w->exact = row->signal;
	w->callee_blob = 0;
	return SP_WHY_NONE;
}

/* Where native frames could not be followed, the JVM's own note of the last Java frame helps. */
static bool recover(struct sp_walk *w, enum sp_unwind_reason why)
{
	struct sp_anchor a = w->anchor;

	memset(&w->anchor, 0, sizeof(w->anchor));
	sp_hook_path_lose(w);
	if (!w->u->hotspot)
		return false;
	if (a.last_java_sp) {
		if (!sp_java_anchor_ok(w, &a))
			return false;
		if (why == SP_WHY_NO_CFI)
			sp_rowless_gap(w);
		sp_java_from_anchor(w, &a);
	} else if (why != SP_WHY_NO_CFI || !sp_rowless_by_links(w)) {
		return false;
	}
	w->res->anchors++;
	sp_stack_memo_restart(w->trail);
	return true;
}

static void finish(struct sp_walk *w, enum sp_unwind_status status, enum sp_unwind_reason why)
{
	w->res->status = status;
	w->res->reason = why;
	w->res->stop_pc = w->regs.r[SP_ARCH_PC];
	w->res->stop_sp = w->regs.r[SP_ARCH_SP];
}

/* One frame. *ret_known: the rest is, and was appended. */
static enum sp_unwind_reason step(struct sp_walk *w, bool *ret_known)
{
	if (!sp_walk_in_java(w, w->regs.r[SP_ARCH_PC]))
		return native_step(w);
	if (w->doubt && !sp_rowless_arrived(w))
		return SP_WHY_NO_CFI;
	w->doubt = false;
	sp_hook_path_keep(w);
	*ret_known = sp_stack_memo_meet(w);
	return *ret_known ? SP_WHY_NONE : sp_java_step(w);
}

static void loop(struct sp_walk *w)
{
	for (;;) {
		uint64_t sp = w->regs.r[SP_ARCH_SP];
		bool top = w->exact; /* a frame may be empty once its return address was popped */
		bool known = false;
		enum sp_unwind_reason why;

		if (w->res->count >= w->max) {
			finish(w, SP_UNWIND_DEPTH_CAP, SP_WHY_NONE);
			return;
		}
		why = step(w, &known);
		if (sp_rowless_refuted(w, why)) {
			sp_rowless_undo(w);
			sp = w->regs.r[SP_ARCH_SP];
			why = SP_WHY_NO_CFI;
		}
		if (w->done || known) {
			finish(w, SP_UNWIND_COMPLETE, SP_WHY_NONE);
			return;
		}
		if (why == SP_WHY_NONE && w->regs.r[SP_ARCH_SP] < sp + !top &&
			w->res->count < w->max)
			why = SP_WHY_NO_PROGRESS;
		if (why == SP_WHY_NONE)
			continue;
		if (w->cut) {
			finish(w, SP_UNWIND_TRUNCATED, why);
			return;
		}
		w->regs.r[SP_ARCH_SP] = sp;
		if (!recover(w, why)) {
			if (why == SP_WHY_NO_CFI)
				sp_rowless_gap(w);
			finish(w, SP_UNWIND_BROKEN, why);
			return;
		}
	}
}

static void attempt(struct sp_unwinder *u, const struct sp_snapshot *snap, struct sp_frame *frames,
	uint32_t max, struct sp_unwind_result *ret)
{
	struct sp_walk w = {.u = u,
		.snap = snap,
		.exact = true,
		.frames = frames,
		.max = max,
		.trail = u->trail};
	uint64_t sp = snap->regs[SP_ARCH_SP];

	memset(ret, 0, sizeof(*ret));
	ret->marked = UINT32_MAX;
	w.res = ret;
	memcpy(w.regs.r, snap->regs, sizeof(w.regs.r));
	w.regs.known = snap->known & SP_REG_ALL;
	w.anchor = snap->anchor;
	sp_stack_memo_begin(&w);
	if (!sp_walk_knows(&w, SP_ARCH_PC) && recover(&w, SP_WHY_REGISTER)) {
		w.exact = false;
		loop(&w);
		sp_stack_memo_end(&w);
		return;
	}
	if (!sp_walk_knows(&w, SP_ARCH_PC) || !sp_walk_knows(&w, SP_ARCH_SP) ||
		sp < snap->stack_addr || sp - snap->stack_addr > snap->stack_len) {
		if (max && sp_walk_knows(&w, SP_ARCH_PC)) {
			const struct sp_module *mod =
				sp_modules_find(u->modules, snap->regs[SP_ARCH_PC]);
			struct sp_frame *f =
				sp_walk_emit(&w, mod ? SP_FRAME_KIND_NATIVE : SP_FRAME_KIND_UNKNOWN,
					SP_FRAME_NATIVE);

			if (f && mod) {
				f->module = mod->id;
				f->offset = f->pc - mod->base;
			}
		}
		finish(&w, SP_UNWIND_BROKEN, SP_WHY_NO_STACK);
		return;
	}
	sp_hook_path_take(&w);
	loop(&w);
	sp_stack_memo_end(&w);
}

/* Whether code went away since the last snapshot: what lies there now may be another's. */
static bool code_unloaded(struct sp_unwinder *u)
{
	uint32_t now = u->hotspot ? __atomic_load_n(&u->hotspot->unload_next, __ATOMIC_RELAXED) : 0;
	bool gone = now != u->unloads;

	if (gone)
		u->unloaded_ns = sp_clock_mono_ns();
	u->unloads = now;
	return gone;
}

void sp_unwind(struct sp_unwinder *u, const struct sp_snapshot *snap, struct sp_frame *frames,
	uint32_t max, struct sp_unwind_result *ret)
{
	if (code_unloaded(u) || !u->batched)
		u->batch++;
	attempt(u, snap, frames, max, ret);
	if ((ret->status != SP_UNWIND_BROKEN && !ret->unknown) || ret->reason == SP_WHY_NO_STACK ||
		ret->reason == SP_WHY_NO_CFI || !u->mem->forget)
		return;
	/* code may have been made, or a library loaded, since the batch began */
	u->mem->forget(u->mem->ctx);
	sp_modules_look_again(u->modules);
	u->batch++;
	attempt(u, snap, frames, max, ret);
}

const char *sp_unwind_reason_text(enum sp_unwind_reason reason)
{
	static const char *const text[] = {"none", "no stack", "no module", "no unwind row",
		"bad unwind table", "register unknown", "no progress", "no code blob",
		"unknown return address", "bad debug information", "no method", "interpreter frame",
		"stub frame", "memory", "code changed"};

	return (unsigned)reason < SP_WHY_COUNT ? text[reason] : "?";
}

const char *sp_unwind_status_text(enum sp_unwind_status status)
{
	static const char *const text[] = {"complete", "truncated", "depth cap", "broken"};

	return (unsigned)status < 4 ? text[status] : "?";
}

const char *sp_unwind_stub_name(
	const struct sp_unwinder *u, const struct sp_frame *f, char *buf, size_t size)
{
	const char *name = NULL;

	if (!size)
		return "";
	if (f->kind == SP_FRAME_KIND_STUB && u->hotspot && u->hotspot->stubs)
		name = sp_stubs_find(u->hotspot->stubs, f->pc, f->code, f->const_method, NULL);
	if (name) {
		strncpy(buf, name, size - 1);
		buf[size - 1] = 0;
		return buf;
	}
	if (f->kind != SP_FRAME_KIND_STUB || !f->method ||
		sp_mem_str(u->mem, f->method, buf, size) < 0)
		buf[0] = 0;
	return buf;
}
