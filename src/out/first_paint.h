/* Inside of src/out: what the page draws before it has read everything. */
#ifndef SP_OUT_PICTURE_H
#define SP_OUT_PICTURE_H

#include "out/pagedata_put.h"

/* Sums the first event's rows of @g in its tree, then fills g->picture with the graph that the page
 * opens with: frames of one name under one caller are one node, what threads start with is left out
 * (starts.h), and so is what no window is wide enough for. A comparison has none.
 * Returns 0 or -ENOMEM. */
int sp_page_picture(struct sp_page *g);

#endif
