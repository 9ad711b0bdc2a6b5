/* Rows of a profile: finding those that are equal, and room for more. See row_index.h and
 * profile.h. */
#include "prof/model/row_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Without the event: other numbers for the events leave the rows where they are. */
static uint32_t hash_key(const struct sp_sample *s)
{
	uint64_t h = (uint64_t)s->stack << 32 | s->thread;

	h = (h ^ ((uint64_t)s->state << 32 |
			 (s->root * 64 + s->task * 0x9e3779b1u + s->holder * 0x85ebca6bu))) *
	    0x9e3779b97f4a7c15ull;
	h = (h ^ (h >> 32) ^ ((uint64_t)s->span << 32 | s->bucket)) * 0xc4ceb9fe1a85ec53ull;
	h = (h ^ (h >> 32)) * 0xff51afd7ed558ccdull;
	return (uint32_t)(h ^ (h >> 29));
}

static bool same_key(const struct sp_sample *a, const struct sp_sample *b)
{
	return a->stack == b->stack && a->thread == b->thread && a->state == b->state &&
	       a->event == b->event && a->bucket == b->bucket && a->span == b->span &&
	       a->root == b->root && a->task == b->task && a->holder == b->holder;
}

/* The slot of @s in the index: the one that holds it, or the empty one where it belongs. */
static struct sp_row_slot *find_slot(
	const struct sp_profile *p, const struct sp_sample *s, uint32_t hash)
{
	size_t mask = p->index_size - 1, at = hash & mask;

	while (p->index[at].row &&
		(p->index[at].hash != hash || !same_key(&p->rows[p->index[at].row - 1], s)))
		at = (at + 1) & mask;
	return &p->index[at];
}

enum { LOOSE_ROWS = 1 << 18 };	/* 14 MB */
enum { RECENT_ROWS = 1 << 10 }; /* of which equal ones are found all the same */
enum { LARGE_PAGE = 2 << 20 };

/* Rows are found at random: where the kernel has large pages for them, in half of the time. */
static void large_pages(void *p, size_t size)
{
	uintptr_t from = ((uintptr_t)p + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1);
	uintptr_t to = ((uintptr_t)p + size) & ~(uintptr_t)(LARGE_PAGE - 1);

	if (p && to > from)
		madvise((void *)from, to - from, MADV_HUGEPAGE);
}

static int tighten(struct sp_profile *p);

/* An index for @cap rows, at most half full. */
static int grow_index(struct sp_profile *p, size_t cap)
{
	struct sp_row_slot *index = calloc(cap * 2, sizeof(*index));
	size_t mask = cap * 2 - 1;

	large_pages(index, cap * 2 * sizeof(*index));
	if (!index)
		return -ENOMEM;
	for (size_t i = 0; i < p->index_size; i++) { /* all are different: none is looked at */
		size_t at = p->index[i].hash & mask;

		while (p->index[i].row && index[at].row)
			at = (at + 1) & mask;
		if (p->index[i].row)
			index[at] = p->index[i];
	}
	free(p->index);
	p->index = index;
	p->index_size = cap * 2;
	return 0;
}

int sp_row_index_grow(struct sp_profile *p, size_t more)
{
	size_t cap = p->row_cap ? p->row_cap * 2 : 256;
	struct sp_sample *rows;

	if (p->loose && p->row_count + more > LOOSE_ROWS && tighten(p) < 0)
		return -ENOMEM;
	if (p->row_count + more <= p->row_cap)
		return 0;
	if (cap > UINT32_MAX / 2)
		return -ENOMEM;
	rows = reallocarray(p->rows, cap, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	p->rows = rows;
	large_pages(rows, cap * sizeof(*rows));
	if (!p->loose && grow_index(p, cap) < 0)
		return -ENOMEM;
	p->row_cap = cap;
	return 0;
}

/* Adds to the row of the same key; there is room for a new one. */
static void sum_row(struct sp_profile *p, const struct sp_sample *s, uint32_t hash)
{
	struct sp_row_slot *slot = find_slot(p, s, hash);

	if (slot->row) {
		p->rows[slot->row - 1].count += s->count;
		p->rows[slot->row - 1].weight += s->weight;
	} else {
		p->rows[p->row_count++] = *s;
		*slot = (struct sp_row_slot){hash, (uint32_t)p->row_count};
	}
}

/* Adds to a row of the same key that came shortly before, else puts it behind the rows. Weights
 * that are yet to be given (load_finish.c) stay apart. */
static void sum_recent(struct sp_profile *p, const struct sp_sample *s)
{
	uint32_t hash = hash_key(s);
	struct sp_row_slot *slot = &p->index[hash & (p->index_size - 1)];
	struct sp_sample *row = &p->rows[slot->row - (slot->row > 0)];

	if (slot->row && slot->hash == hash && same_key(row, s) && !row->weight == !s->weight) {
		row->count += s->count;
		row->weight += s->weight;
		return;
	}
	p->rows[p->row_count++] = *s;
	*slot = (struct sp_row_slot){hash, (uint32_t)p->row_count};
}

/* Most of what they need is not in the caches. */
void sp_row_index_sum(struct sp_profile *p, const struct sp_sample *s, size_t count)
{
	uint32_t hashes[SP_PROFILE_BATCH], mask = (uint32_t)(p->index_size - 1);

	if (p->loose) {
		for (size_t i = 0; i < count; i++)
			sum_recent(p, &s[i]);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		hashes[i] = hash_key(&s[i]);
		__builtin_prefetch(&p->index[hashes[i] & mask]);
	}
	for (size_t i = 0; i < count; i++) {
		const struct sp_row_slot *slot = &p->index[hashes[i] & mask];

		if (slot->row)
			__builtin_prefetch(&p->rows[slot->row - 1]);
	}
	for (size_t i = 0; i < count; i++)
		sum_row(p, &s[i], hashes[i]);
}

int sp_profile_hold_rows(struct sp_profile *p)
{
	return p->loose && p->row_count > LOOSE_ROWS / 2 ? tighten(p) : 0;
}

int sp_profile_split_row(struct sp_profile *p, size_t row, const struct sp_sample *part)
{
	if (sp_row_index_grow(p, 1) < 0)
		return -ENOMEM;
	p->rows[row].count -= part->count;
	p->rows[row].weight -= part->weight;
	sp_row_index_sum(p, part, 1);
	return 0;
}

void sp_profile_rekey(struct sp_profile *p, sp_row_change *change, void *ctx)
{
	struct sp_sample batch[SP_PROFILE_BATCH];
	size_t n = p->row_count, many;

	if (n == 0)
		return;
	if (p->index)
		memset(p->index, 0, p->index_size * sizeof(*p->index));
	p->row_count = 0;
	for (size_t i = 0; i < n; i += many) {
		many = n - i < SP_PROFILE_BATCH ? n - i : SP_PROFILE_BATCH;
		memcpy(batch, &p->rows[i], many * sizeof(*batch));
		for (size_t k = 0; k < many; k++)
			change(ctx, &batch[k]);
		sp_row_index_sum(
			p, batch, many); /* never more than before: those read are behind us */
	}
}

static void leave_row(void *ctx, struct sp_sample *row)
{
}

void sp_profile_reindex(struct sp_profile *p)
{
	sp_profile_rekey(p, leave_row, NULL);
}

void sp_profile_defer_dedup(struct sp_profile *p)
{
	if (p->row_count || p->index)
		return;
	p->index = calloc(RECENT_ROWS, sizeof(*p->index));
	p->index_size = p->index ? RECENT_ROWS : 0;
	p->loose = p->index != NULL;
}

/* From now on equal rows are one. */
static int tighten(struct sp_profile *p)
{
	p->index_size = 0; /* recent rows are found anew */
	if (p->row_cap && grow_index(p, p->row_cap) < 0) {
		p->index_size = RECENT_ROWS;
		return -ENOMEM;
	}
	p->loose = false;
	sp_profile_reindex(p);
	return 0;
}

struct stack_map {
	const uint32_t *map;
	size_t count;
};

static void replace_stack(void *ctx, struct sp_sample *row)
{
	const struct stack_map *m = ctx;

	if (row->stack < m->count)
		row->stack = m->map[row->stack];
}

void sp_profile_replace_stacks(struct sp_profile *p, const uint32_t *map, size_t count)
{
	sp_profile_rekey(p, replace_stack, &(struct stack_map){map, count});
}
