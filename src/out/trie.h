/* The prefix tree of stacks: each node is a frame called from its parent. Inside of src/out; the
 * page and the SVG are drawn from it. */
#ifndef SP_OUT_TRIE_H
#define SP_OUT_TRIE_H

#include <stddef.h>
#include <stdint.h>

#include "prof/view/view.h"

struct sp_trie_node {
	uint32_t parent, frame; /* of node 0, the root, both are 0 */
	uint32_t child, next;	/* first child, next sibling; 0: none */
	/* What most samples say: two stacks of one name may differ in these. */
	int32_t line;
	uint8_t type;
	uint8_t area; /* number + 1; 0: none of its own */
	uint64_t line_votes;
	float type_votes[SP_FRAME_TYPES];
	uint64_t total, self;
};

struct sp_trie {
	struct sp_trie_node *nodes; /* owned */
	size_t count, cap;
	uint32_t *index; /* owned hash table: (parent, frame) to node */
	size_t index_size;
};

/* Returns 0 or -ENOMEM. */
int sp_trie_init(struct sp_trie *t);
void sp_trie_done(struct sp_trie *t);

/* The child of @parent that is @frame, made when new. Returns its number, or 0 when out of memory.
 */
uint32_t sp_trie_child(struct sp_trie *t, uint32_t parent, uint32_t frame);

/* @votes more samples say that this node is in @line (≤ 0: not known) and of @type. */
void sp_trie_vote(struct sp_trie *t, uint32_t node, int32_t line, uint8_t type, uint64_t votes);

/* For each frame of a view built with split_types the first one of its name: interpreted, compiled
 * and inlined a method is the same.
 * Owner:   the caller.
 * Returns: frames by frame, or NULL when out of memory. */
uint32_t *sp_trie_same_names(const struct sp_view *v);

/* Adds the selfs of all nodes up to the root. */
void sp_trie_sum(struct sp_trie *t);

/* Puts the children of all nodes in order: most total first. Returns 0 or -ENOMEM. */
int sp_trie_sort(struct sp_trie *t);

/* Numbers the nodes in pre-order, children in the order in which they came.
 * Owner:   *ret_order (node by place) and *ret_place (place by node) belong to the caller.
 * Returns: 0 or -ENOMEM. */
int sp_trie_order(const struct sp_trie *t, uint32_t **ret_order, uint32_t **ret_place);

#endif
