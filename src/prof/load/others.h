/* Who else used the node, by profiler.ProcessSample (--proc): each process's CPU time in all and
 * the most memory that it had, as a note of the profile. */
#ifndef SP_PROF_LOAD_OTHERS_H
#define SP_PROF_LOAD_OTHERS_H

#include "jfr/reader.h"
#include "prof/model/profile.h"

#include <stdint.h>

struct sp_process_sum {
	uint64_t pid, uid, cpu_ns, rss;
	char name[32];
};

struct sp_others {
	struct sp_process_sum *rows; /* owned */
	size_t count, cap;
	bool looked; /* also where there is none */
};

void sp_others_done(struct sp_others *p);

/* Adds one event, or what another reader of the same file found. Return 0 or -ENOMEM. */
int sp_others_add(struct sp_others *p, const struct sp_jfr_event *e);
int sp_others_join(struct sp_others *p, const struct sp_others *other);

/* Says which had most. */
void sp_others_note(struct sp_others *p, struct sp_profile *to);

#endif
