/* The first picture of the page: see first_paint.h. The page itself makes the same graph of all
 * nodes (src/page/tree.js); both must agree on what is drawn as one frame. */
#include "out/first_paint.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "out/thread_entry_frames.h"

/* A frame is drawn from 0.7 pixels on (src/page/flame.js), here in a window of 4,096. */
enum { NARROWEST = 5851, MOST_NODES = 20000 };

/* A node of the tree that may become part of a drawn one. */
struct member {
	uint32_t frame, place, node;
};

struct list {
	struct member *items; /* owned */
	size_t count, cap;
};

struct drawer {
	struct sp_page *g;
	uint8_t *starts; /* owned: by node, how many frames that threads start with end there */
	struct list next, open; /* what is below a drawn node; starts, to show their callees */
	struct list members;	/* of all drawn nodes, one after the other */
	size_t *first;		/* owned: the first member of each drawn node, and an end */
};

static int push(struct list *l, struct member m)
{
	if (sp_grow(&l->items, &l->cap, l->count, sizeof(*l->items), 256) < 0)
		return -ENOMEM;
	l->items[l->count++] = m;
	return 0;
}

/* As findStarts() in src/page/starts.js: from the root on; a root in brackets is no frame. */
static int find_starts(struct drawer *d)
{
	enum { UNSEEN, WORK, START };
	struct sp_page *g = d->g;
	const struct sp_trie_node *nodes = g->trie.nodes;
	SP_AUTO_FREE uint8_t *known = calloc((size_t)sp_dict_strings(g->names) + 1, 1);
	struct sp_thread_entry_frames *starts;
	int r = known ? sp_thread_entry_frames_new(&starts) : -ENOMEM;

	if (r < 0)
		return r;
	for (size_t i = 1; i < g->trie.count; i++) { /* callers come first */
		uint32_t frame = nodes[i].frame, up = nodes[i].parent;
		bool root = up == 0 ||
			    (nodes[up].parent == 0 &&
				    *sp_dict_get_string(g->names, nodes[up].frame, NULL) == '[');

		if (!d->starts[up] && !root)
			continue;
		if (known[frame] == UNSEEN)
			known[frame] = sp_thread_entry_frames_has(
					       starts, sp_dict_get_string(g->names, frame, NULL))
					       ? START
					       : WORK;
		if (known[frame] == START)
			d->starts[i] = d->starts[up] < 255 ? (uint8_t)(d->starts[up] + 1) : 255;
		if (d->starts[i] > g->starts_deepest)
			g->starts_deepest = d->starts[i];
	}
	sp_thread_entry_frames_free(starts);
	return 0;
}

static int by_frame(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Callees of one node: to d->next, or to d->open where they are starts. */
static int add_callees(struct drawer *d, uint32_t node)
{
	const struct sp_page *g = d->g;
	int r = 0;

	for (uint32_t c = g->trie.nodes[node].child; c && r == 0; c = g->trie.nodes[c].next)
		if (g->trie.nodes[c].total > 0)
			r = push(d->starts[c] ? &d->open : &d->next,
				(struct member){g->trie.nodes[c].frame, g->place[c], c});
	return r;
}

/* What is one step above a drawn node, in the order of frames. */
static int find_callees(struct drawer *d, uint32_t drawn)
{
	int r = 0;

	d->next.count = d->open.count = 0;
	for (size_t i = d->first[drawn]; i < d->first[drawn + 1] && r == 0; i++)
		r = add_callees(d, d->members.items[i].node);
	for (size_t i = 0; i < d->open.count && r == 0; i++)
		r = add_callees(d, d->open.items[i].node);
	if (d->next.count)
		qsort(d->next.items, d->next.count, sizeof(*d->next.items), by_frame);
	return r;
}

/* Makes a drawn node of @count members, unless it is too narrow. It looks like the heaviest. */
static int draw(struct drawer *d, uint32_t caller, const struct member *m, size_t count)
{
	struct sp_page *g = d->g;
	const struct sp_trie_node *nodes = g->trie.nodes, *best = &nodes[m->node];
	uint64_t total = 0;
	uint32_t at;
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		total += nodes[m[i].node].total;
		best = nodes[m[i].node].total > best->total ? &nodes[m[i].node] : best;
	}
	if (total < nodes[0].total / NARROWEST || g->picture.count > MOST_NODES)
		return 0;
	at = sp_trie_child(&g->picture, caller, m->frame);
	if (!at)
		return -ENOMEM;
	g->picture.nodes[at].total = total;
	g->picture.nodes[at].type = best->type;
	g->picture.nodes[at].area = best->area;
	g->picture.nodes[at].line = best->line;
	for (size_t i = 0; i < count && r == 0; i++)
		r = push(&d->members, m[i]);
	d->first[at + 1] = d->members.count;
	return r;
}

/* Row by row, so that what is left out when there is too much is far from the root. */
static int draw_all(struct drawer *d)
{
	struct sp_trie *t = &d->g->picture;
	int r = push(&d->members, (struct member){0});

	d->first[1] = 1;
	t->nodes[0].total = d->g->trie.nodes[0].total;
	for (uint32_t i = 0; i < t->count && r == 0; i++) {
		r = find_callees(d, i);
		for (size_t k = 0, end; k < d->next.count && r == 0; k = end) {
			for (end = k; end < d->next.count &&
				      d->next.items[end].frame == d->next.items[k].frame;)
				end++;
			r = draw(d, i, &d->next.items[k], end - k);
		}
	}
	return r;
}

int sp_first_paint(struct sp_page *g)
{
	struct drawer d = {.g = g};
	int r = sp_trie_init(&g->picture);

	if (r < 0 || g->diff || g->row_count == 0)
		return r;
	for (size_t i = 0; i < g->row_count && g->rows[i].event == g->rows[0].event; i++)
		g->trie.nodes[g->rows[i].leaf].self += g->rows[i].value;
	sp_trie_sum(&g->trie);
	d.starts = calloc(g->trie.count, 1);
	d.first = calloc(MOST_NODES + 3, sizeof(*d.first));
	r = d.starts && d.first ? find_starts(&d) : -ENOMEM;
	if (r == 0)
		r = draw_all(&d);
	free(d.starts);
	free(d.first);
	free(d.next.items);
	free(d.open.items);
	free(d.members.items);
	return r;
}
