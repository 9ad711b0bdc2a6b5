/* See hook_path_cache.h. */
#include "unwind/hook_path_cache.h"

#include "unwind/unwind_internal.h"

#include <string.h>

static uint64_t start_sp(const struct sp_walk *w)
{
	return w->snap->regs[SP_ARCH_SP];
}

/* What a callee may change is not known of a thread in a call. */
static bool is_hook(const struct sp_snapshot *s)
{
	const uint32_t needed = SP_ARCH_SAVED | SP_KNOWN(SP_ARCH_SP) | SP_KNOWN(SP_ARCH_PC);

	return s->tid && (s->known & SP_REG_ALL) == needed &&
	       s->anchor.last_java_sp > s->regs[SP_ARCH_SP];
}

static struct sp_hook_path *slot(struct sp_unwinder *u, uint64_t pc, uint64_t depth)
{
	return &u->ways[((pc ^ depth * 31) * 0x9e3779b97f4a7c15ull >> 40) & u->way_mask];
}

/* Without a note in the trail: what lies above generated code is never compared. */
static bool word_at(const struct sp_walk *w, uint64_t addr, uint64_t *ret)
{
	const struct sp_snapshot *s = w->snap;
	uint64_t off = addr - s->stack_addr;

	if (addr < s->stack_addr || s->stack_len < 8 || off > s->stack_len - 8)
		return false;
	memcpy(ret, s->stack + off, 8);
	return true;
}

static bool words_same(const struct sp_walk *w, const struct sp_hook_path *y)
{
	uint64_t sp = start_sp(w), v;

	if (y->fp_used && w->snap->regs[SP_ARCH_FP] - sp != y->fp_distance)
		return false;
	for (uint32_t i = 0; i < y->word_count; i++) {
		const struct sp_hook_path_word *k = &y->words[i];

		if (!word_at(w, sp + k->offset, &v) || v - (k->relative ? sp : 0) != k->value)
			return false;
	}
	return true;
}

bool sp_hook_path_take(struct sp_walk *w)
{
	const struct sp_snapshot *s = w->snap;
	uint64_t sp = start_sp(w), fp = s->regs[SP_ARCH_FP];
	uint64_t depth = s->anchor.last_java_sp - sp;
	struct sp_hook_path *y, *draft = w->u->draft;

	if (!is_hook(s))
		return false;
	y = slot(w->u, s->regs[SP_ARCH_PC], depth);
	if (y->pc == s->regs[SP_ARCH_PC] && y->depth == depth &&
		y->epoch == sp_modules_epoch(w->u->modules) && y->frame_count < w->max &&
		words_same(w, y) && (!y->fp_saved || word_at(w, sp + y->fp_offset, &fp))) {
		memcpy(w->frames, y->frames, y->frame_count * sizeof(*y->frames));
		w->res->count = y->frame_count;
		sp_walk_set(w, y->end_pc, sp + y->end_offset, fp, true);
		w->exact = false;
		return true;
	}
	*draft = (struct sp_hook_path){.pc = s->regs[SP_ARCH_PC],
		.depth = depth,
		.epoch = sp_modules_epoch(w->u->modules)};
	w->way = draft;
	return false;
}

void sp_hook_path_lose(struct sp_walk *w)
{
	w->way = NULL;
}

static void need(struct sp_hook_path *y, uint64_t offset, uint64_t value, bool relative)
{
	if (y->word_count < SP_WAY_WORDS && offset < UINT32_MAX)
		y->words[y->word_count] =
			(struct sp_hook_path_word){value, (uint32_t)offset, relative};
	y->word_count++;
}

/* The frame pointer is what the next frame's place depends on. */
static void need_fp(struct sp_walk *w, struct sp_hook_path *y)
{
	uint64_t distance = w->regs.r[SP_ARCH_FP] - start_sp(w);

	if (y->fp_saved) {
		need(y, y->fp_offset, distance, true);
	} else {
		y->fp_used = true;
		y->fp_distance = distance;
	}
}

static bool is_plain(const struct sp_walk *w, const struct sp_cfi_row *row)
{
	uint8_t fp = row->how[SP_ARCH_FP];

	return !row->cfa_expr && !row->signal && w->regs.known & SP_KNOWN(row->cfa_reg) &&
	       (row->cfa_reg == SP_ARCH_SP || row->cfa_reg == SP_ARCH_FP) &&
	       row->how[SP_ARCH_PC] == SP_CFI_OFFSET && row->how[SP_ARCH_SP] == SP_CFI_SAME &&
	       (fp == SP_CFI_SAME || fp == SP_CFI_OFFSET);
}

void sp_hook_path_note(struct sp_walk *w, const struct sp_cfi_row *row)
{
	struct sp_hook_path *y = w->way;
	uint64_t sp = start_sp(w), cfa, at, ret;

	if (!y)
		return;
	if (!is_plain(w, row)) {
		sp_hook_path_lose(w);
		return;
	}
	if (row->cfa_reg == SP_ARCH_FP)
		need_fp(w, y);
	cfa = w->regs.r[row->cfa_reg] + (uint64_t)(int64_t)row->cfa_val;
	at = cfa + (uint64_t)(int64_t)row->val[SP_ARCH_PC];
	if (!word_at(w, at, &ret)) {
		sp_hook_path_lose(w);
		return;
	}
	need(y, at - sp, ret, false);
	if (row->how[SP_ARCH_FP] == SP_CFI_OFFSET) {
		at = cfa + (uint64_t)(int64_t)row->val[SP_ARCH_FP];
		y->fp_saved = true;
		y->fp_offset = (uint32_t)(at - sp);
		/* below the stack pointer it was popped already */
		if (at < w->regs.r[SP_ARCH_SP] || at - sp >= UINT32_MAX)
			sp_hook_path_lose(w);
	}
}

void sp_hook_path_keep(struct sp_walk *w)
{
	struct sp_hook_path *y = w->way;
	uint64_t offset = w->regs.r[SP_ARCH_SP] - start_sp(w);

	if (!y)
		return;
	w->way = NULL;
	if (w->res->count > SP_WAY_FRAMES || y->word_count > SP_WAY_WORDS || w->exact ||
		offset >= UINT32_MAX || !sp_walk_knows(w, SP_ARCH_FP))
		return;
	y->frame_count = (uint8_t)w->res->count;
	memcpy(y->frames, w->frames, y->frame_count * sizeof(*y->frames));
	y->end_pc = w->regs.r[SP_ARCH_PC];
	y->end_offset = (uint32_t)offset;
	*slot(w->u, y->pc, y->depth) = *y;
}
