/* Who records in this JVM, across builds of the agent. Every build exports `sparkprof_owner`, a
 * record with a layout that never changes; before a build starts a recording it claims its own
 * record and then looks at those of the other builds mapped into the process. So two builds work
 * side by side, but never sample at once: if both claim at the same moment, both see it and both
 * step back. Context: the control threads, under control.c's lock. Allocates nothing. */
#ifndef SP_AGENT_CONTROL_RECORDING_CLAIM_H
#define SP_AGENT_CONTROL_RECORDING_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

/* Fixed for ever: other builds read it. */
struct sparkprof_owner {
	char magic[8];	   /* "sprkown1" */
	uint32_t size;	   /* of this record */
	uint32_t claimed;  /* 1 while a recording runs (atomic) */
	uint64_t since_ns; /* wall clock */
	char who[232];	   /* "pid 1, user root, host h"; terminated */
};

extern struct sparkprof_owner sparkprof_owner;

/* Claims this build's record. True if no other build records; else the claim is taken back and
 * *ret_since_ns and @ret_who (of @len bytes) say who does. */
bool sp_recording_claim_claim(const char *who, uint64_t *ret_since_ns, char *ret_who, unsigned len);
void sp_recording_claim_release(void);

/* @symbol in the copy of this very build that was mapped first; NULL if that is the calling one. */
const void *sp_recording_claim_first_copy(const char *symbol);

/* Whether another build records right now, and who. */
bool sp_recording_claim_other(uint64_t *ret_since_ns, char *ret_who, unsigned len);

#endif
