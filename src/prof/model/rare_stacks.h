/* Profiles with more different stacks than a report can hold, such as those of generated code: the
 * stacks that weigh least keep their outermost frames only. Sums stay what they are. */
#ifndef SP_PROF_MODEL_RARE_STACKS_H
#define SP_PROF_MODEL_RARE_STACKS_H

#include "prof/model/profile.h"

/* Different stacks of one report. A page takes some 2 KB for each while it is made. */
#define SP_STACKS_MOST (1u << 18)

/* The leaf of a stack that was cut. */
#define SP_RARE_STACKS "[rare stacks]"

/* Cuts the lightest stacks where there are more than @most different ones, and adds a note that
 * says so. At most @most are left; half of them are whole. Returns 0 or -ENOMEM. */
int sp_profile_fold_rare(struct sp_profile *p, size_t most);

#endif
