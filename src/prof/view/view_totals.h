/* Summing what threads and states have of a view. Inside of src/prof. */
#ifndef SP_PROF_VIEW_VIEW_TOTALS_H
#define SP_PROF_VIEW_VIEW_TOTALS_H

#include "prof/view/view.h"

/* Adds a sample to the share at @id of @n; ids beyond go to 0, unknown. */
void sp_view_totals_add(
	struct sp_view_share *shares, size_t n, uint32_t id, const struct sp_sample *s);

/* Drops empty shares, puts the heaviest first and counts their samples as @e does. Returns how many
 * are left. */
size_t sp_view_totals_rank(struct sp_view_share *s, size_t n, const struct sp_event *e);

#endif
