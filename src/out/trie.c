/* The prefix tree of stacks: see trie.h. */
#include "out/trie.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { FIRST = 1024 };

int sp_trie_init(struct sp_trie *t)
{
	*t = (struct sp_trie){.cap = FIRST, .index_size = 2 * (size_t)FIRST, .count = 1};
	t->nodes = calloc(t->cap, sizeof(*t->nodes));
	t->index = calloc(t->index_size, sizeof(*t->index));
	if (t->nodes && t->index)
		return 0;
	sp_trie_done(t);
	return -ENOMEM;
}

void sp_trie_done(struct sp_trie *t)
{
	free(t->nodes);
	free(t->index);
	*t = (struct sp_trie){0};
}

static uint32_t *slot_of(const struct sp_trie *t, uint32_t parent, uint32_t frame)
{
	uint64_t h = ((uint64_t)parent << 32 | frame) * 0x9e3779b97f4a7c15ull;
	size_t mask = t->index_size - 1, at = (h ^ (h >> 29)) & mask;

	for (; t->index[at]; at = (at + 1) & mask) {
		const struct sp_trie_node *n = &t->nodes[t->index[at]];

		if (n->parent == parent && n->frame == frame)
			break;
	}
	return &t->index[at];
}

static int grow(struct sp_trie *t)
{
	size_t cap = t->cap * 2;
	struct sp_trie_node *nodes;
	uint32_t *index;

	if (cap > UINT32_MAX / 4)
		return -ENOMEM;
	nodes = reallocarray(t->nodes, cap, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	t->nodes = nodes;
	index = calloc(cap * 2, sizeof(*index));
	if (!index)
		return -ENOMEM;
	free(t->index);
	t->index = index;
	t->index_size = cap * 2;
	t->cap = cap;
	for (uint32_t i = 1; i < t->count; i++)
		*slot_of(t, nodes[i].parent, nodes[i].frame) = i;
	return 0;
}

uint32_t sp_trie_child(struct sp_trie *t, uint32_t parent, uint32_t frame)
{
	uint32_t *slot = slot_of(t, parent, frame);

	if (*slot)
		return *slot;
	if (t->count == t->cap) {
		if (grow(t) < 0)
			return 0;
		slot = slot_of(t, parent, frame);
	}
	*slot = (uint32_t)t->count++;
	t->nodes[*slot] = (struct sp_trie_node){
		.parent = parent, .frame = frame, .next = t->nodes[parent].child};
	t->nodes[parent].child = *slot;
	return *slot;
}

void sp_trie_vote(struct sp_trie *t, uint32_t node, int32_t line, uint8_t type, uint64_t votes)
{
	struct sp_trie_node *n = &t->nodes[node];

	/* Boyer and Moore: the candidate that survives is the majority, if there is one */
	if (n->line == line || n->line_votes == 0) {
		n->line = line;
		n->line_votes += votes;
	} else {
		n->line = n->line_votes < votes ? line : n->line;
		n->line_votes =
			n->line_votes < votes ? votes - n->line_votes : n->line_votes - votes;
	}
	n->type_votes[type % SP_FRAME_TYPES] += (float)votes;
	if (n->type_votes[type % SP_FRAME_TYPES] > n->type_votes[n->type])
		n->type = type % SP_FRAME_TYPES;
}

static int by_name(const void *a, const void *b, void *view)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int c = strcmp(sp_view_get_frame(view, x).name, sp_view_get_frame(view, y).name);

	return c ? c : x < y ? -1 : x > y;
}

uint32_t *sp_trie_same_names(const struct sp_view *v)
{
	uint32_t count = sp_view_frames(v);
	SP_AUTO_FREE uint32_t *order = calloc(count + 1ul, sizeof(*order));
	SP_AUTO_FREE uint32_t *same = calloc(count + 1ul, sizeof(*same));

	if (!order || !same)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i + 1;
	qsort_r(order, count, sizeof(*order), by_name, (void *)v);
	for (uint32_t i = 0; i < count; i++) {
		bool again = i && strcmp(sp_view_get_frame(v, order[i]).name,
					  sp_view_get_frame(v, order[i - 1]).name) == 0;

		same[order[i]] = again ? same[order[i - 1]] : order[i];
	}
	return sp_steal_ptr(same);
}

void sp_trie_sum(struct sp_trie *t)
{
	for (size_t i = 0; i < t->count; i++)
		t->nodes[i].total = t->nodes[i].self;
	for (size_t i = t->count; i-- > 1;)
		t->nodes[t->nodes[i].parent].total += t->nodes[i].total;
}

static int by_total(const void *a, const void *b, void *nodes)
{
	const struct sp_trie_node *x = (struct sp_trie_node *)nodes + *(const uint32_t *)a;
	const struct sp_trie_node *y = (struct sp_trie_node *)nodes + *(const uint32_t *)b;

	if (x->total != y->total)
		return x->total < y->total ? -1 : 1;
	return x->frame > y->frame ? -1 : x->frame < y->frame;
}

int sp_trie_sort(struct sp_trie *t)
{
	SP_AUTO_FREE uint32_t *order = calloc(t->count, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++) {
		order[i] = i;
		t->nodes[i].child = 0;
	}
	qsort_r(order, t->count, sizeof(*order), by_total, t->nodes);
	/* lists are filled from the front, so what comes last is first */
	for (size_t i = 0; i < t->count; i++) {
		struct sp_trie_node *n = &t->nodes[order[i]];

		if (order[i] == 0)
			continue;
		n->next = t->nodes[n->parent].child;
		t->nodes[n->parent].child = order[i];
	}
	return 0;
}

/* Turns the lists of children round: they were filled from the front. */
static void reverse_children(struct sp_trie_node *nodes, uint32_t parent)
{
	uint32_t list = 0;

	for (uint32_t c = nodes[parent].child, next; c; c = next) {
		next = nodes[c].next;
		nodes[c].next = list;
		list = c;
	}
	nodes[parent].child = list;
}

int sp_trie_order(const struct sp_trie *t, uint32_t **ret_order, uint32_t **ret_place)
{
	SP_AUTO_FREE uint32_t *order = calloc(t->count, sizeof(*order));
	SP_AUTO_FREE uint32_t *place = calloc(t->count, sizeof(*place));
	uint32_t n = 0, at = 0;

	if (!order || !place)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++)
		reverse_children(t->nodes, i);
	for (;;) {
		order[n] = at;
		place[at] = n++;
		if (t->nodes[at].child) {
			at = t->nodes[at].child;
			continue;
		}
		while (at && !t->nodes[at].next)
			at = t->nodes[at].parent;
		if (!at)
			break;
		at = t->nodes[at].next;
	}
	for (uint32_t i = 0; i < t->count; i++)
		reverse_children(t->nodes, i);
	*ret_order = sp_steal_ptr(order);
	*ret_place = sp_steal_ptr(place);
	return 0;
}
