/* Summing samples: see profile.h. */
#include "prof/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sat.h"

int sp_profile_new_with(struct sp_profile **ret, struct sp_dict *dict)
{
	struct sp_profile *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->dict = sp_dict_share(dict);
	p->unknown_id = sp_dict_string(p->dict, "[unknown]", strlen("[unknown]"));
	p->unread_id = sp_dict_string(p->dict, SP_PYTHON_UNREAD, strlen(SP_PYTHON_UNREAD));
	*ret = p;
	return 0;
}

int sp_profile_new(struct sp_profile **ret, size_t cap)
{
	struct sp_dict *dict;
	int r = sp_dict_new(&dict, cap);

	if (r < 0)
		return r;
	r = sp_profile_new_with(ret, dict);
	sp_dict_free(dict);
	return r;
}

void sp_profile_free(struct sp_profile *p)
{
	if (!p)
		return;
	sp_dict_free(p->dict);
	for (int i = 0; i < SP_SERIES_KINDS; i++)
		free(p->series[i].points);
	free(p->rows);
	free(p->index);
	free(p->tasks);
	free(p->placed);
	free(p->pasts);
	free(p->stages);
	free(p);
}

int sp_profile_event(
	struct sp_profile *p, const char *name, enum sp_unit unit, uint64_t interval, bool measured)
{
	uint32_t id = sp_dict_string(p->dict, name, strlen(name));
	struct sp_event *e;

	if (id == 0)
		return -ENOMEM;
	for (unsigned i = 0; i < p->event_count; i++)
		if (p->events[i].name_id == id)
			return (int)i;
	if (p->event_count == SP_PROFILE_EVENTS)
		return -ENOSPC;
	e = &p->events[p->event_count];
	*e = (struct sp_event){
		.name_id = id, .unit = unit, .interval = interval, .measured = measured};
	return (int)p->event_count++;
}

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

enum { LOOSE_ROWS = 1 << 18 }; /* 14 MB */
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

/* Makes room for @more rows. */
static int grow(struct sp_profile *p, size_t more)
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

static bool is_unknown(const struct sp_profile *p, uint32_t method)
{
	const struct sp_method *m = sp_dict_get_method(p->dict, method);

	return !m || (m->native && m->name_id == p->unknown_id);
}

static bool is_unread(const struct sp_profile *p, uint32_t method)
{
	const struct sp_method *m = sp_dict_get_method(p->dict, method);

	return m && m->native && m->name_id == p->unread_id;
}

static uint8_t look_at_stack(struct sp_profile *p, uint32_t stack)
{
	const struct sp_stack *st = sp_dict_get_stack(p->dict, stack);
	uint8_t verdict = SP_STACK_LOOKED_AT;

	if (!st || st->count == 0)
		return SP_STACK_LOOKED_AT | SP_STACK_UNKNOWN;
	if (is_unread(p, st->frames[0].method)) {
		verdict |= SP_STACK_TRUNCATED;
		p->unread = true;
	}
	if (st->truncated)
		verdict |= SP_STACK_TRUNCATED;
	for (uint32_t i = 0; i < st->count; i++)
		if (is_unknown(p, st->frames[i].method))
			return verdict | SP_STACK_UNKNOWN;
	return verdict;
}

/* A stack is unpacked once, however many samples have it. */
static uint8_t verdict_of(struct sp_profile *p, uint32_t stack)
{
	uint8_t marks = sp_dict_stack_marks(p->dict, stack);

	if (marks & SP_STACK_LOOKED_AT)
		return marks;
	marks = look_at_stack(p, stack);
	sp_dict_add_stack_marks(p->dict, stack, marks);
	return marks;
}

static uint64_t samples_of(const struct sp_event *e, uint64_t count, uint64_t weight)
{
	struct sp_rounding r = sp_rounding_of(e);

	return sp_round(&r, count, weight);
}

/* Counts a sample, and what its stack lacks; count_samples is to follow. Numbers come by value: to
 * read both at once after each was written makes the CPU wait. */
static inline void count_sample(
	struct sp_profile *p, struct sp_event *e, uint32_t stack, uint64_t count, uint64_t weight)
{
	uint8_t verdict = verdict_of(p, stack);

	p->count += count;
	e->count += count;
	e->weight += weight;
	if (verdict & SP_STACK_TRUNCATED) {
		e->truncated.count += count;
		e->truncated.weight += weight;
	}
	if (verdict & SP_STACK_UNKNOWN) {
		e->unknown.count += count;
		e->unknown.weight += weight;
	}
}

/* From what was recorded of an event to samples, and those to the profile's. */
static void count_samples(struct sp_profile *p, struct sp_event *e)
{
	struct sp_tally *t = &e->truncated, *u = &e->unknown;

	p->samples -= e->samples;
	p->truncated -= t->samples;
	p->unknown -= u->samples;
	p->samples += e->samples = samples_of(e, e->count, e->weight);
	p->truncated += t->samples = samples_of(e, t->count, t->weight);
	p->unknown += u->samples = samples_of(e, u->count, u->weight);
}

void sp_profile_recount(struct sp_profile *p)
{
	p->samples = p->truncated = p->unknown = 0;
	for (unsigned i = 0; i < p->event_count; i++) {
		struct sp_event *e = &p->events[i];

		e->samples = e->truncated.samples = e->unknown.samples = 0;
		count_samples(p, e);
	}
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

/* The same for several, up to SP_PROFILE_BATCH: most of what they need is not in the caches. */
static void sum_rows(struct sp_profile *p, const struct sp_sample *s, size_t count)
{
	uint32_t hashes[SP_PROFILE_BATCH], mask = (uint32_t)(p->index_size - 1);

	if (p->loose) {
		memmove(&p->rows[p->row_count], s, count * sizeof(*s));
		p->row_count += count;
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

int sp_profile_add_batch(struct sp_profile *p, struct sp_sample *s, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (s[i].event >= p->event_count)
			return -EINVAL;
	if (grow(p, count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct sp_event *e = &p->events[s[i].event];

		uint64_t count_of = sp_sat_fitting(p->count, s[i].count);
		uint64_t weight = sp_sat_fitting(e->weight, s[i].weight);

		s[i].count = count_of;
		s[i].weight = weight;
		count_sample(p, e, s[i].stack, count_of, weight);
		if (i + 1 == count || s[i + 1].event != s[i].event)
			count_samples(p, e);
	}
	sum_rows(p, s, count);
	return 0;
}

int sp_profile_add_many(struct sp_profile *p, const struct sp_sample *s, size_t count)
{
	struct sp_sample copy[SP_PROFILE_BATCH];

	memcpy(copy, s, count * sizeof(*s));
	return sp_profile_add_batch(p, copy, count);
}

int sp_profile_add(struct sp_profile *p, const struct sp_sample *s)
{
	return sp_profile_add_many(p, s, 1);
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
		sum_rows(p, batch, many); /* never more than before: those read are behind us */
	}
}

static void leave_row(void *ctx, struct sp_sample *row)
{
}

void sp_profile_reindex(struct sp_profile *p)
{
	sp_profile_rekey(p, leave_row, NULL);
}

void sp_profile_loosen(struct sp_profile *p)
{
	p->loose = p->row_count == 0 && !p->index;
}

/* From now on equal rows are one. */
static int tighten(struct sp_profile *p)
{
	if (p->row_cap && grow_index(p, p->row_cap) < 0)
		return -ENOMEM;
	p->loose = false;
	sp_profile_reindex(p);
	return 0;
}

void sp_profile_restart(struct sp_profile *p)
{
	for (unsigned i = 0; i < p->event_count; i++) {
		struct sp_event *e = &p->events[i];

		e->samples = e->count = e->weight = 0;
		e->truncated = e->unknown = (struct sp_tally){0};
	}
	p->count = p->samples = p->truncated = p->unknown = 0;
	p->row_count = 0;
	if (p->index)
		memset(p->index, 0, p->index_size * sizeof(*p->index));
}

int sp_profile_keep_events(struct sp_profile *p, uint32_t mask)
{
	uint32_t map[SP_PROFILE_EVENTS] = {0};
	size_t n = p->row_count;
	unsigned kept = 0;
	bool rows_go = false;
	int r = 0;

	for (unsigned i = 0; i < p->event_count; i++) {
		if (!(mask & 1u << i)) {
			rows_go |= p->events[i].count || p->events[i].weight;
			continue;
		}
		map[i] = kept;
		p->events[kept++] = p->events[i];
	}
	p->event_count = kept;
	for (size_t i = 0; i < n && !rows_go; i++)
		p->rows[i].event = map[p->rows[i].event];
	if (!rows_go)
		return 0;
	sp_profile_restart(p);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct sp_sample s = p->rows[i]; /* those read are behind us */

		if (!(mask & 1u << s.event))
			continue;
		s.event = map[s.event];
		r = sp_profile_add(p, &s);
	}
	return r;
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

/* Adds to the remark of that text; what does not fit is summed under the last one. */
static void remark(
	struct sp_profile *p, struct sp_remark *list, unsigned *n, const char *text, uint64_t count)
{
	uint32_t id = sp_dict_string(p->dict, text, strlen(text));

	for (unsigned i = 0; i < *n; i++) {
		if (list[i].text_id == id || i == SP_PROFILE_REMARKS - 1) {
			list[i].count = sp_sat_add(list[i].count, count);
			return;
		}
	}
	list[(*n)++] = (struct sp_remark){id, count};
}

void sp_profile_lost(struct sp_profile *p, const char *reason, uint64_t count)
{
	if (count == 0)
		return;
	p->lost_total = sp_sat_add(p->lost_total, count);
	remark(p, p->lost, &p->lost_count, reason, count);
}

void sp_profile_note(struct sp_profile *p, const char *sentence)
{
	remark(p, p->notes, &p->note_count, sentence, 0);
}
