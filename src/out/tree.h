/* Stacks as a tree of frames, with the values of one profile or of two. Inside of src/out, and for
 * whoever draws. */
#ifndef SP_OUT_TREE_H
#define SP_OUT_TREE_H

#include "prof/view/view.h"

#include <stddef.h>
#include <stdint.h>

struct sp_tree_node {
	uint32_t parent, child, next; /* numbers of nodes; 0: none (the root has number 0) */
	uint32_t name;		      /* string of the tree's names */
	uint8_t kind;		      /* enum sp_frame_type; all kinds of Java are SP_FRAME_C2 */
	uint64_t self[2], total[2];   /* by side */
	uint64_t inlined, c1, interpreted; /* of the totals of side 1, or of side 0 alone */
};

struct sp_tree {
	struct sp_tree_node *nodes; /* owned */
	size_t count, cap;
	uint32_t *index; /* owned: hash of (parent, name, kind) */
	size_t index_size;
	struct sp_dict *names; /* owned */
};

/* Returns 0 or -ENOMEM; sp_tree_done in any case. */
int sp_tree_init(struct sp_tree *t);
void sp_tree_done(struct sp_tree *t);

/* Adds the stacks of @v, built with split_types, to a side. Returns 0 or -ENOMEM. */
int sp_tree_add(struct sp_tree *t, const struct sp_view *v, unsigned side);

/* The same by weight and for reading, as side 0: without the frames that threads start with
 * (thread_entry_frames.h), a method that calls itself, or several that call each other in turn, as
 * one, and children heaviest first. Returns 0 or -ENOMEM. */
int sp_tree_add_folded(struct sp_tree *t, const struct sp_view *v);

/* How a frame of Java code ran for the most part, as async-profiler's converter decides it: inlined
 * from a third on, else interpreted or C1 from a half on. Others are what they are. */
enum sp_frame_type sp_tree_type(const struct sp_tree_node *n);

const char *sp_tree_name(const struct sp_tree *t, const struct sp_tree_node *n);

#endif
