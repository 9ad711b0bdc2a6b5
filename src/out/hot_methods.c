/* Sums over the frames of a view: see hot_methods.h. */
#include "out/hot_methods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static int by_self(const void *a, const void *b)
{
	const struct sp_hot_method *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int by_stack(const void *a, const void *b, void *arg)
{
	const struct sp_view *v = arg;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	if (v->stacks[x].weight != v->stacks[y].weight)
		return v->stacks[x].weight > v->stacks[y].weight ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* @seen: the last stack + 1 that a frame was met in, so that recursion counts once. */
static void add_stack(
	struct sp_hot_methods *h, const struct sp_view *v, size_t stack, uint32_t top, size_t *seen)
{
	const struct sp_view_stack *s = &v->stacks[stack];

	for (uint32_t i = 0; i + top < s->count; i++) {
		struct sp_hot_method *m = &h->methods[s->frames[i]];

		if (seen[s->frames[i]] != stack + 1)
			m->total += s->weight;
		seen[s->frames[i]] = stack + 1;
		if (i + top + 1 == s->count)
			m->self += s->weight;
	}
}

int sp_hot_methods_init(struct sp_hot_methods *h, const struct sp_view *v, uint32_t top)
{
	size_t frames = (size_t)sp_view_frames(v) + 1;
	SP_AUTO_FREE size_t *seen = calloc(frames, sizeof(*seen));

	h->methods = calloc(frames, sizeof(*h->methods));
	h->stacks = calloc(v->stack_count + 1, sizeof(*h->stacks));
	if (!seen || !h->methods || !h->stacks) {
		sp_hot_methods_done(h);
		return -ENOMEM;
	}
	h->count = frames;
	for (size_t i = 0; i < frames; i++) {
		h->methods[i].frame = (uint32_t)i;
		h->methods[i].name = sp_view_get_frame(v, (uint32_t)i).name;
	}
	for (size_t i = 0; i < v->stack_count; i++) {
		add_stack(h, v, i, top, seen);
		h->stacks[i] = i;
	}
	qsort(h->methods, h->count, sizeof(*h->methods), by_self);
	qsort_r(h->stacks, v->stack_count, sizeof(*h->stacks), by_stack, (void *)v);
	return 0;
}

void sp_hot_methods_done(struct sp_hot_methods *h)
{
	free(h->methods);
	free(h->stacks);
	*h = (struct sp_hot_methods){0};
}
