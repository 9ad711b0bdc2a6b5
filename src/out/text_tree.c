/* Where the weight goes, from the top down: the stacks as a tree that fits a terminal. Frames that
 * threads start with are left out, recursion (of a method, or of several in turn) is one frame, and
 * of a run of frames in which nothing spreads only the last has a line. See text_internal.h. */
#include "out/text_internal.h"

#include <stdio.h>
#include <string.h>

#include "out/number.h"
#include "out/tree.h"

#define LINES	30   /* the least share that has a line rises until there are no more */
#define LEAST	1.0  /* percent */
#define PASSES	0.90 /* a child with so much of its parent's weight: nothing spreads there */
#define INDENT	2
#define DEEPEST 24 /* indents no further */

struct writer {
	const struct sp_text *t;
	const struct sp_view *v;
	const struct sp_tree *tree;
	double least; /* percent */
	size_t lines;
	bool write; /* else only counted */
};

static const struct sp_tree_node *node(const struct writer *w, uint32_t i)
{
	return &w->tree->nodes[i];
}

/* Follows single file; *ret_skipped: how many frames that is. */
static uint32_t spreading(const struct writer *w, uint32_t i, unsigned *ret_skipped)
{
	*ret_skipped = 0;
	for (;;) {
		uint32_t child = node(w, i)->child; /* the heaviest */

		/* "[stage 5.0]": what --by asked for has a line of its own */
		if (!child || sp_tree_name(w->tree, node(w, i))[0] == '[' ||
			(double)node(w, child)->total[0] < PASSES * (double)node(w, i)->total[0] ||
			sp_percent(node(w, i)->self[0], w->v->weight) >= LEAST)
			return i;
		i = child;
		++*ret_skipped;
	}
}

static void write_line(struct writer *w, uint32_t i, unsigned depth, unsigned skipped)
{
	const struct sp_tree_node *n = node(w, i);
	unsigned indent = (depth < DEEPEST ? depth : DEEPEST) * INDENT;
	char more[32] = "";

	w->lines++;
	if (!w->write)
		return;
	if (skipped)
		snprintf(more, sizeof(more), "%s%u ", w->t->o->utf8 ? "…" : "..", skipped);
	sp_sink_puts(w->t->sink, "  ");
	sp_text_percent(w->t, sp_percent(n->total[0], w->v->weight));
	sp_sink_puts(w->t->sink, "  ");
	sp_text_percent(w->t, sp_percent(n->self[0], w->v->weight));
	sp_sink_printf(w->t->sink, "  %*s%s", (int)indent, "", more);
	sp_text_name(w->t, sp_tree_name(w->tree, n), 20 + indent + strlen(more));
}

static void write_below(struct writer *w, uint32_t i, unsigned depth)
{
	for (uint32_t c = node(w, i)->child; c; c = node(w, c)->next) {
		unsigned skipped;
		uint32_t at;

		if (sp_percent(node(w, c)->total[0], w->v->weight) < w->least)
			return; /* the others weigh less */
		at = spreading(w, c, &skipped);
		write_line(w, at, depth, skipped);
		if (w->lines <= LINES || w->write)
			write_below(w, at, depth + 1);
	}
}

int sp_text_tree(const struct sp_text *t, const struct sp_view *v)
{
	__attribute__((cleanup(sp_tree_done))) struct sp_tree tree;
	struct writer w = {.t = t, .v = v, .tree = &tree, .least = LEAST};
	int r = sp_tree_init(&tree);
	char title[96];

	if (r == 0)
		r = sp_tree_add_folded(&tree, v);
	if (r < 0)
		return r;
	for (;; w.least *= 1.5) {
		w.lines = 0;
		write_below(&w, 0, 0);
		if (w.lines <= LINES || w.least > 50)
			break;
	}
	snprintf(title, sizeof(title), "From the top down (%.1f %% and more)", w.least);
	sp_text_heading(t, title);
	sp_sink_printf(t->sink, "     total      self  method (%sN: N skipped)\n",
		t->o->utf8 ? "…" : "..");
	w.write = true;
	write_below(&w, 0, 0);
	return 0;
}
