/* Profiles that would be too large, such as those of hundreds of executors: more rows become one,
 * step by step, until what is left fits. Sums stay what they are. */
#ifndef SP_PROF_MODEL_COARSEN_H
#define SP_PROF_MODEL_COARSEN_H

#include "prof/model/profile.h"

/* Joins threads, and tasks of one stage (of one executor each, or with SP_FOLD_EXECUTORS of all):
 * what is known of each task goes to profile.pasts. Returns 0 or -ENOMEM. */
int sp_profile_coarsen(struct sp_profile *p, enum sp_fold to);

/* Folds, and widens buckets of time, until there are at most @rows, or nothing is left to fold.
 * Returns 0 or -ENOMEM. */
int sp_profile_bound(struct sp_profile *p, size_t rows);

/* What was joined, as a sentence for reports; "" where nothing was. */
void sp_profile_describe_coarsened(const struct sp_profile *p, char *buf, size_t size);

#endif
