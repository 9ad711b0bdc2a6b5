/* How events of one type are read when only a few of their fields are wanted. Inside of src/jfr. */
#ifndef SP_JFR_DECODE_PLAN_H
#define SP_JFR_DECODE_PLAN_H

#include "jfr/reader.h"
#include "jfr/resolve.h"

#define SP_JFR_STEPS 32

struct sp_jfr_decode_step {
	uint8_t op, slot;
	uint32_t member;
};

struct sp_jfr_decode_plan {
	struct sp_jfr_decode_step steps[SP_JFR_STEPS];
	uint8_t count;
	bool numbers; /* each step takes one compressed number */
	/* The same by meaning: which number is the start, the thread …; count: none. */
	uint8_t start, thread, stack, state;
	uint8_t others[SP_JFR_PICKS + 1], other_count; /* steps that are none of these */
};

/* Makes the plan for type @t of the resolver's chunk. @fields: NULL-ended names.
 * Returns false where the type has too many fields for a plan. */
bool sp_jfr_decode_plan_make(struct sp_jfr_decode_plan *p, const struct sp_jfr_resolver *r,
	const struct sp_jfr_decl *t, const char *const *fields);

/* Reads an event. Damage is in c->bad. */
void sp_jfr_decode_plan_read(const struct sp_jfr_decode_plan *p, struct sp_jfr_resolver *r,
	struct sp_jfr_cursor *c, struct sp_jfr_event *e);

/* Ticks of the chunk as nanoseconds. */
uint64_t sp_jfr_to_ns(const struct sp_jfr_chunk_data *c, uint64_t ticks);

#endif
