/* Inside of the SVG writer: the drawing, and the tree that is drawn. */
#ifndef SP_OUT_SVG_INTERNAL_H
#define SP_OUT_SVG_INTERNAL_H

#include "out/diff.h"
#include "out/out.h"
#include "out/trie.h"

struct sp_svg {
	const struct sp_view *v;
	const struct sp_diff *diff; /* NULL: v alone is drawn */
	uint64_t *sides[2];	    /* owned, with diff: totals of each node, by side */
	struct sp_trie trie;
	uint64_t whole;
	double narrowest;
	bool reverse;	 /* leaves are at the root */
	bool up;	 /* root at the top, however tall it is */
	double least;	 /* pixels: narrower frames are not asked for */
	bool measuring;	 /* only the depth is asked for */
	uint32_t depth;	 /* rows drawn; the root is the lowest, or of a tall picture the highest */
	uint64_t folded; /* frames too narrow to draw */
	uint64_t deeper; /* frames beyond the last row */
	uint64_t towers; /* frames too narrow for their depth */
	uint32_t starts; /* frames that threads start with, left out of a stack: the most of them */
	uint32_t rows_max;
	struct sp_buf out;
};

/* svg_tree.c: fills d->trie, and d->sides of a comparison, and sums it up. Returns 0 or -ENOMEM. */
int sp_svg_build(struct sp_svg *d);

#endif
