/* Inside of src/out: which methods and stacks of a view weigh most. */
#ifndef SP_OUT_HOT_METHODS_H
#define SP_OUT_HOT_METHODS_H

#include <stddef.h>
#include <stdint.h>

#include "prof/view/view.h"

struct sp_hot_method {
	uint32_t frame;	  /* of the view */
	uint64_t self;	  /* weight of stacks that end in it */
	uint64_t total;	  /* weight of stacks that hold it, once each */
	const char *name; /* borrowed from the view */
};

struct sp_hot_methods {
	struct sp_hot_method *methods; /* owned; by self, then total, then name */
	size_t count;
	size_t *stacks; /* owned; numbers of v->stacks, by weight, then in the view's order */
};

/* @top: so many frames at the leaf end of each stack are not counted. Returns 0 or -ENOMEM. */
int sp_hot_methods_init(struct sp_hot_methods *h, const struct sp_view *v, uint32_t top);
void sp_hot_methods_done(struct sp_hot_methods *h);

#endif
