/* Stacks as a tree: see tree.h. */
#include "out/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

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

int sp_tree_add(struct sp_tree *t, const struct sp_view *v, unsigned side)
{
	uint32_t count = sp_view_frames(v);
	SP_AUTO_FREE uint32_t *names = calloc(count + 1ul, sizeof(*names));
	int r = 0;

	if (!names)
		return -ENOMEM;
	for (uint32_t i = 1; i <= count && r == 0; i++) {
		const char *s = sp_view_get_frame(v, i).name;

		names[i] = sp_dict_string(t->names, s, strlen(s));
		r = names[i] ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < v->stack_count && r == 0; i++)
		r = add_stack(t, v, &v->stacks[i], side, names);
	return r;
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
