/* Stacks as a tree: see tree.h. */
#include "out/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/thread_entry_frames.h"

#define NAMES_CAP (1ull << 30) /* address space, touched as used */

int sp_tree_init(struct sp_tree *t)
{
	memset(t, 0, sizeof(*t));
	t->cap = 1024;
	t->index_size = 4096;
	t->nodes = calloc(t->cap, sizeof(*t->nodes));
	t->index = calloc(t->index_size, sizeof(*t->index));
	t->count = 1; /* the root */
	if (!t->nodes || !t->index)
		return -ENOMEM;
	return sp_dict_new(&t->names, NAMES_CAP);
}

void sp_tree_done(struct sp_tree *t)
{
	free(t->nodes);
	free(t->index);
	sp_dict_free(t->names);
}

static size_t hash(const struct sp_tree *t, uint32_t parent, uint32_t name, uint8_t kind)
{
	uint64_t h = ((uint64_t)parent << 32 | name) * 0x9e3779b97f4a7c15ull + kind;

	h = (h ^ h >> 32) * 0xff51afd7ed558ccdull;
	return (h ^ h >> 29) & (t->index_size - 1);
}

static uint32_t *slot(const struct sp_tree *t, uint32_t parent, uint32_t name, uint8_t kind)
{
	size_t i = hash(t, parent, name, kind);

	for (; t->index[i]; i = (i + 1) & (t->index_size - 1)) {
		const struct sp_tree_node *n = &t->nodes[t->index[i]];

		if (n->parent == parent && n->name == name && n->kind == kind)
			break;
	}
	return &t->index[i];
}

static int grow(struct sp_tree *t)
{
	size_t cap = t->cap * 2;
	struct sp_tree_node *nodes = reallocarray(t->nodes, cap, sizeof(*nodes));
	uint32_t *index;

	if (!nodes)
		return -ENOMEM;
	t->nodes = nodes;
	index = cap < UINT32_MAX / 4 ? calloc(cap * 4, sizeof(*index)) : NULL;
	if (!index)
		return -ENOMEM;
	free(t->index);
	t->index = index;
	t->index_size = cap * 4;
	t->cap = cap;
	for (size_t i = 1; i < t->count; i++)
		*slot(t, nodes[i].parent, nodes[i].name, nodes[i].kind) = (uint32_t)i;
	return 0;
}

/* The child of that name, made when new; 0 when out of memory. */
static uint32_t child(struct sp_tree *t, uint32_t parent, uint32_t name, uint8_t kind)
{
	uint32_t *at = slot(t, parent, name, kind);
	struct sp_tree_node *n;

	if (*at)
		return *at;
	if (t->count == t->cap) {
		if (grow(t) < 0)
			return 0;
		at = slot(t, parent, name, kind);
	}
	n = &t->nodes[t->count];
	*n = (struct sp_tree_node){.parent = parent, .name = name, .kind = kind};
	n->next = t->nodes[parent].child;
	t->nodes[parent].child = (uint32_t)t->count;
	return *at = (uint32_t)t->count++;
}

static void count_type(struct sp_tree_node *n, enum sp_frame_type type, uint64_t value)
{
	n->inlined += type == SP_FRAME_INLINED ? value : 0;
	n->c1 += type == SP_FRAME_C1 ? value : 0;
	n->interpreted += type == SP_FRAME_INTERPRETED ? value : 0;
}

static int add_stack(struct sp_tree *t, const struct sp_view *v, const struct sp_view_stack *s,
	unsigned side, const uint32_t *names)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		enum sp_frame_type type = sp_view_get_frame(v, s->frames[i]).type;
		uint8_t kind = type <= SP_FRAME_INLINED ? SP_FRAME_C2 : (uint8_t)type;

		t->nodes[at].total[side] += s->value;
		at = child(t, at, names[s->frames[i]], kind);
		if (!at)
			return -ENOMEM;
		count_type(&t->nodes[at], type, s->value);
	}
	t->nodes[at].total[side] += s->value;
	t->nodes[at].self[side] += s->value;
	return 0;
}

/* The string of each frame of @v; NULL when out of memory. */
static uint32_t *take_names(struct sp_tree *t, const struct sp_view *v)
{
	uint32_t count = sp_view_frames(v);
	SP_AUTO_FREE uint32_t *names = calloc(count + 1ul, sizeof(*names));

	for (uint32_t i = 1; names && i <= count; i++) {
		const char *s = sp_view_get_frame(v, i).name;

		names[i] = sp_dict_string(t->names, s, strlen(s));
		if (!names[i])
			return NULL;
	}
	return sp_steal_ptr(names);
}

int sp_tree_add(struct sp_tree *t, const struct sp_view *v, unsigned side)
{
	SP_AUTO_FREE uint32_t *names = take_names(t, v);
	int r = names ? 0 : -ENOMEM;

	for (size_t i = 0; i < v->stack_count && r == 0; i++)
		r = add_stack(t, v, &v->stacks[i], side, names);
	return r;
}

/* What folding needs: by frame of the view, its string, whether threads start with it, and where it
 * is on the way to the frame at hand. */
struct folding {
	uint32_t *names, *place, *way; /* owned */
	bool *start;		       /* owned */
	struct sp_thread_entry_frames *starts;
};

static void folding_done(struct folding *f)
{
	free(f->names);
	free(f->place);
	free(f->way);
	free(f->start);
	sp_thread_entry_frames_free(f->starts);
}

static int folding_init(struct folding *f, struct sp_tree *t, const struct sp_view *v)
{
	size_t count = sp_view_frames(v) + 1ul, deepest = 0;

	for (size_t i = 0; i < v->stack_count; i++)
		deepest = v->stacks[i].count > deepest ? v->stacks[i].count : deepest;
	f->names = take_names(t, v);
	f->place = calloc(count, sizeof(*f->place));
	f->start = calloc(count, sizeof(*f->start));
	f->way = calloc(deepest + 1, sizeof(*f->way));
	if (!f->names || !f->place || !f->start || !f->way ||
		sp_thread_entry_frames_new(&f->starts) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++)
		f->start[i] = sp_thread_entry_frames_has(f->starts, sp_view_get_frame(v, i).name);
	return sp_thread_entry_frames_failed(f->starts) ? -ENOMEM : 0;
}

/* A frame that is on the way already leads back to where it was. */
static int add_folded(struct sp_tree *t, const struct sp_view_stack *s, struct folding *f)
{
	uint32_t at = 0, i = 0, len = 0;

	/* the last frame stays: it is where the weight is */
	while (i + 1 < s->count && f->start[s->frames[i]])
		i++;
	for (; i < s->count; i++) {
		uint32_t frame = s->frames[i], place = f->place[frame];
		uint32_t name = f->names[frame];

		if (place < len && t->nodes[f->way[place]].name == name) {
			len = place + 1;
			at = f->way[place];
			continue;
		}
		at = child(t, at, name, SP_FRAME_C2);
		if (!at)
			return -ENOMEM;
		f->place[frame] = len;
		f->way[len++] = at;
	}
	t->nodes[at].self[0] += s->weight;
	for (; at; at = t->nodes[at].parent)
		t->nodes[at].total[0] += s->weight;
	t->nodes[0].total[0] += s->weight;
	return 0;
}

static int by_total(const void *a, const void *b, void *tree)
{
	const struct sp_tree *t = tree;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (t->nodes[x].total[0] != t->nodes[y].total[0])
		return t->nodes[x].total[0] > t->nodes[y].total[0] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void sort_children(struct sp_tree *t, uint32_t parent, uint32_t *room)
{
	size_t n = 0;

	for (uint32_t c = t->nodes[parent].child; c; c = t->nodes[c].next)
		room[n++] = c;
	if (n < 2)
		return;
	qsort_r(room, n, sizeof(*room), by_total, t);
	t->nodes[parent].child = room[0];
	for (size_t i = 0; i < n; i++)
		t->nodes[room[i]].next = i + 1 < n ? room[i + 1] : 0;
}

int sp_tree_add_folded(struct sp_tree *t, const struct sp_view *v)
{
	__attribute__((cleanup(folding_done))) struct folding f = {0};
	SP_AUTO_FREE uint32_t *room = NULL;
	int r = folding_init(&f, t, v);

	for (size_t i = 0; i < v->stack_count && r == 0; i++)
		r = add_folded(t, &v->stacks[i], &f);
	room = r == 0 ? calloc(t->count, sizeof(*room)) : NULL;
	for (uint32_t i = 0; room && i < t->count; i++)
		sort_children(t, i, room);
	return room ? 0 : -ENOMEM;
}

enum sp_frame_type sp_tree_type(const struct sp_tree_node *n)
{
	uint64_t total = n->total[0] + n->total[1];

	if (n->kind != SP_FRAME_C2)
		return n->kind;
	if (n->inlined * 3 >= total)
		return SP_FRAME_INLINED;
	if (n->c1 * 2 >= total)
		return SP_FRAME_C1;
	return n->interpreted * 2 >= total ? SP_FRAME_INTERPRETED : SP_FRAME_C2;
}

const char *sp_tree_name(const struct sp_tree *t, const struct sp_tree_node *n)
{
	return sp_dict_get_string(t->names, n->name, NULL);
}
