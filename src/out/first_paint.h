/* Inside of src/out: what the page draws before it has read everything. */
#ifndef SP_OUT_FIRST_PAINT_H
#define SP_OUT_FIRST_PAINT_H

#include "out/pagedata_put.h"

/* Sums the first event's rows of @g in its tree, then fills g->picture with the graph that the page
 * opens with: frames of one name under one caller are one node, what threads start with is left out
 * (thread_entry_frames.h), and so is what no window is wide enough for. A comparison has none.
 * Returns 0 or -ENOMEM. */
int sp_first_paint(struct sp_page *g);

#endif
