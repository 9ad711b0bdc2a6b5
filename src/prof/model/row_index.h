/* Rows of a profile, for those who count what they add. Inside of src/prof. */
#ifndef SP_PROF_MODEL_ROW_INDEX_H
#define SP_PROF_MODEL_ROW_INDEX_H

#include "prof/model/profile.h"

/* Makes room for @more rows. Returns 0 or -ENOMEM. */
int sp_row_index_grow(struct sp_profile *p, size_t more);

/* Adds samples, up to SP_PROFILE_BATCH for which there is room, to the rows of the same keys. */
void sp_row_index_sum(struct sp_profile *p, const struct sp_sample *s, size_t count);

#endif
