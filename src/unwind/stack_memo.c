/* See stack_memo.h. */
#include "unwind/stack_memo.h"

#include "unwind/unwind_internal.h"

#include <string.h>

/* A method may be redefined in place: what was read of it is not believed for longer. */
#define KEEP_NS 250000000ull

#define PLAIN (SP_KNOWN(SP_ARCH_PC) | SP_KNOWN(SP_ARCH_SP) | SP_KNOWN(SP_ARCH_FP))

/* Few threads run at a time; the memo of one that has not for longest is the next one's. */
static uint32_t slot_of(const struct sp_stack_memos *a, uint32_t tid)
{
	uint32_t oldest = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		if (a->owner[i].tid == tid)
			return i;
		if (a->uses - a->owner[i].used > a->uses - a->owner[oldest].used)
			oldest = i;
	}
	return oldest;
}

void sp_stack_memo_begin(struct sp_walk *w)
{
	const struct sp_snapshot *s = w->snap;
	struct sp_stack_memo_trail *t = w->trail;
	struct sp_stack_memos *a = &w->u->memos;
	struct sp_stack_memo *m;

	t->words = t->marks = t->next = 0;
	t->lost = t->met = false;
	t->slot = slot_of(a, s->tid);
	m = &a->memo[t->slot];
	/* Rings are not read in the order of time: code that went away after an older sample is not
	 * what it was. */
	if (!s->tid || a->owner[t->slot].tid != s->tid ||
		m->epoch != sp_modules_epoch(w->u->modules) || m->unloads != w->u->unloads ||
		s->time_ns <= w->u->unloaded_ns || s->time_ns - m->born_ns > KEEP_NS)
		m = NULL;
	t->last = m;
}

static const struct sp_stack_memo_mark *mark_at(const struct sp_stack_memo *m, uint32_t i)
{
	return &m->marks[SP_MEMO_MARKS - m->mark_count + i];
}

/* Whether the code of @m's marks from @i on is still what it was. */
static bool code_same(struct sp_walk *w, const struct sp_stack_memo *m, uint32_t i)
{
	const struct sp_blob *b;

	if (m->batch == w->u->batch)
		return true;
	for (; i < m->mark_count; i++) {
		const struct sp_stack_memo_mark *k = mark_at(m, i);

		if (sp_walk_blob(w, k->pc, &b) < 0 || b->addr != k->blob ||
			b->compile_id != k->compile_id)
			return false;
	}
	return true;
}

static bool words_same(const struct sp_walk *w, const struct sp_stack_memo *m, uint32_t count)
{
	const struct sp_snapshot *s = w->snap;
	const struct sp_stack_memo_word *p = &m->words[SP_MEMO_WORDS - count];

	for (uint32_t i = 0; i < count; i++) {
		uint64_t off = p[i].addr - s->stack_addr, now;

		if (off > s->stack_len || s->stack_len - off < 8)
			return false;
		memcpy(&now, s->stack + off, 8);
		if (now != p[i].value)
			return false;
	}
	return true;
}

static void append(
	struct sp_walk *w, const struct sp_stack_memo *m, const struct sp_stack_memo_mark *k)
{
	struct sp_unwind_result *r = w->res;
	const struct sp_frame *from = &m->frames[SP_MEMO_FRAMES - k->frames];

	memcpy(w->frames + r->count, from, k->frames * sizeof(*from));
	for (uint32_t i = 0; i < k->frames; i++)
		r->java_count += from[i].kind == SP_FRAME_KIND_JAVA;
	r->count += k->frames;
	w->regs.r[SP_ARCH_PC] = m->stop_pc;
	w->regs.r[SP_ARCH_SP] = m->stop_sp;
	w->trail->met = true;
	w->trail->at = *k;
}

/* What the rest of the walk depends on beside the words of the stack. A compiled method's frame has
 * a known size and keeps its caller's registers: what they hold there does not matter. */
static bool mark_here(struct sp_walk *w, struct sp_stack_memo_mark *ret)
{
	const struct sp_blob *b;

	if (sp_walk_blob(w, w->regs.r[SP_ARCH_PC], &b) < 0)
		return false;
	*ret = (struct sp_stack_memo_mark){.pc = w->regs.r[SP_ARCH_PC],
		.sp = w->regs.r[SP_ARCH_SP],
		.java_above = w->callee_blob != 0,
		.blob = b->addr,
		.known = SP_KNOWN(SP_ARCH_PC) | SP_KNOWN(SP_ARCH_SP),
		.compile_id = b->compile_id,
		.frames = (uint16_t)w->res->count,
		.words = (uint16_t)w->trail->words};
	if (w->exact)
		ret->known = 0;
	else if (b->kind != SP_BLOB_NMETHOD)
		ret->known = w->regs.known;
	if (ret->known & SP_KNOWN(SP_ARCH_FP))
		ret->fp = w->regs.r[SP_ARCH_FP];
	return true;
}

static bool same_place(const struct sp_stack_memo_mark *a, const struct sp_stack_memo_mark *b)
{
	return a->sp == b->sp && a->pc == b->pc && a->fp == b->fp && a->known == b->known &&
	       a->java_above == b->java_above && a->known && !(a->known & ~PLAIN);
}

bool sp_stack_memo_meet(struct sp_walk *w)
{
	struct sp_stack_memo_trail *t = w->trail;
	const struct sp_stack_memo *m = t->last;
	const struct sp_stack_memo_mark *k;
	struct sp_stack_memo_mark here;

	if (t->lost)
		return false;
	if (t->marks == SP_MEMO_MARKS || !mark_here(w, &here)) {
		t->lost = true;
		return false;
	}
	while (m && t->next < m->mark_count && mark_at(m, t->next)->sp < here.sp)
		t->next++;
	k = m && t->next < m->mark_count ? mark_at(m, t->next) : NULL;
	if (k && same_place(k, &here) && w->res->count + k->frames <= w->max) {
		if (words_same(w, m, k->words) && code_same(w, m, t->next)) {
			append(w, m, k);
			return true;
		}
		t->last = NULL;
	}
	t->mark[t->marks++] = here;
	return false;
}

void sp_stack_memo_end(struct sp_walk *w)
{
	const struct sp_snapshot *s = w->snap;
	struct sp_unwind_result *r = w->res;
	struct sp_stack_memo_trail *t = w->trail;
	struct sp_stack_memos *a = &w->u->memos;
	struct sp_stack_memo *m = &a->memo[t->slot];
	uint32_t below = t->met ? t->at.frames : 0, under = t->met ? t->at.words : 0;
	uint32_t behind = t->met ? m->mark_count - t->next : 0, top = r->count - below;

	if (t->lost || !s->tid || r->status != SP_UNWIND_COMPLETE || r->unknown ||
		r->continuation || r->count > SP_MEMO_FRAMES || t->words + under > SP_MEMO_WORDS ||
		t->marks + behind > SP_MEMO_MARKS)
		return;
	m->frame_count = (uint16_t)r->count;
	m->word_count = (uint16_t)(t->words + under);
	m->mark_count = (uint16_t)(t->marks + behind);
	memcpy(&m->frames[SP_MEMO_FRAMES - r->count], w->frames, top * sizeof(*w->frames));
	memcpy(&m->words[SP_MEMO_WORDS - m->word_count], t->word, t->words * sizeof(*t->word));
	for (uint32_t i = 0; i < t->marks; i++) {
		t->mark[i].frames = (uint16_t)(m->frame_count - t->mark[i].frames);
		t->mark[i].words = (uint16_t)(m->word_count - t->mark[i].words);
	}
	memcpy(&m->marks[SP_MEMO_MARKS - m->mark_count], t->mark, t->marks * sizeof(*t->mark));
	a->owner[t->slot] = (struct sp_stack_memo_owner){s->tid, ++a->uses};
	m->epoch = sp_modules_epoch(w->u->modules);
	m->unloads = w->u->unloads;
	m->batch = w->u->batch;
	m->born_ns = t->met ? m->born_ns : s->time_ns;
	m->stop_pc = r->stop_pc;
	m->stop_sp = r->stop_sp;
	r->was = m->kept;
	r->kept = &m->kept;
	memset(&m->kept, 0, sizeof(m->kept)); /* the new ones on top are not interned yet */
	r->refs = &m->refs[SP_MEMO_FRAMES - r->count];
	r->same = below;
}
