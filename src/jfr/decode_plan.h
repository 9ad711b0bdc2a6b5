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
	const char *type; /* its name */
	int wanted;	  /* as the visitor wants it */
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

/* Most events are short and nothing but numbers, of a few types: these are read several at once, so
 * that no event waits for the memory of the one before. */
#define SP_JFR_BATCH 32

struct sp_jfr_batch {
	const struct sp_jfr_decode_plan *plans[SP_JFR_BATCH];
	uint64_t numbers[SP_JFR_BATCH][SP_JFR_STEPS];
	unsigned count;
	uint64_t skipped; /* events that are not wanted: all there were */
	/* By type what is done with its events: enum sp_jfr_way, or that + the plan's number. */
	uint8_t ways[128];
};

enum sp_jfr_way { SP_JFR_ALONE, SP_JFR_SKIP, SP_JFR_PLAN };

/* Reads events from @at to @to at most, until the batch is full or one has to be read alone.
 * Returns where that one is. */
uint64_t sp_jfr_batch_read(struct sp_jfr_batch *b, const struct sp_jfr_decode_plan *plans,
	const struct sp_jfr_resolver *r, uint64_t at, uint64_t to);

/* An event of the batch; @e is the one before, zero at first. */
void sp_jfr_batch_get(const struct sp_jfr_batch *b, unsigned i, struct sp_jfr_resolver *r,
	struct sp_jfr_event *e);

/* Ticks of the chunk as nanoseconds. */
uint64_t sp_jfr_to_ns(const struct sp_jfr_chunk_data *c, uint64_t ticks);

#endif
