/* How much of the recording the CPU limit of the target's container took. */
#ifndef SP_PROF_MODEL_THROTTLE_H
#define SP_PROF_MODEL_THROTTLE_H

#include "prof/model/profile.h"

struct sp_throttle {
	uint64_t periods, throttled; /* of the limit, and those in which it was used up */
	uint64_t ns;		     /* without a core for that, of all CPUs together */
};

/* Of all recordings together. Returns false where none has a limit. */
bool sp_throttle_of(const struct sp_profile *p, struct sp_throttle *ret);

/* The same in a sentence; "" where there is nothing to say. */
void sp_throttle_describe(const struct sp_profile *p, char *buf, size_t size);

#endif
