/* One chunk in memory: its header, types and constants. Shared by the reader and the rewriter. */
#ifndef SP_JFR_CHUNK_H
#define SP_JFR_CHUNK_H

#include "base/err.h"
#include "jfr/schema.h"
#include "jfr/stack_cache.h"

struct sp_jfr_const {
	uint64_t key;
	uint32_t at; /* where its value starts in the chunk; 0: free slot */
	uint32_t id; /* for the reader: what it became, + 1 */
};

/* The constants of one type. */
struct sp_jfr_table {
	struct sp_jfr_const *slots;
	uint32_t count, mask;
	uint64_t most; /* the largest key */
	bool dense;    /* keys are small: each has its own slot */
};

struct sp_jfr_chunk_data {
	const uint8_t *data; /* borrowed */
	uint64_t offset;     /* in the file */
	uint32_t len;	     /* of the chunk, at most what the file has */
	bool unfinished;     /* or what there is of it ends early */
	uint64_t whole;	     /* its length by its header; 0: that cannot be known yet */
	uint64_t pool, meta;
	uint64_t start_ns, duration_ns, start_ticks, ticks_per_s;
	uint64_t ns_per_tick; /* times 2^64, rounded up; 0: a tick is longer than a nanosecond */
	bool raw;
	struct sp_jfr_schema schema;
	struct sp_jfr_table *tables; /* by index of the type */
	/* Borrowed; NULL: none. Stacks that are known have their ids as soon as they are found. */
	const struct sp_jfr_stack_cache *known;
	int stack; /* index of their type */
};

/* Takes the header from @data (@len bytes, the rest of the file at @offset).
 * Returns 0, or -EBADMSG with a sentence. */
int sp_jfr_chunk_open(struct sp_jfr_chunk_data *c, const uint8_t *data, uint64_t len,
	uint64_t offset, struct sp_err *err);

/* Reads the types alone. Returns as sp_jfr_chunk_load, which may follow. */
int sp_jfr_chunk_types(struct sp_jfr_chunk_data *c, struct sp_err *err);

/* Reads types and the places of all constants. Returns 0; -EBADMSG with a sentence (constants that
 * were found are usable if schema.types is set); -ENOMEM. sp_jfr_chunk_done in any case. */
int sp_jfr_chunk_load(struct sp_jfr_chunk_data *c, struct sp_err *err);
void sp_jfr_chunk_done(struct sp_jfr_chunk_data *c);

/* A cursor from @at to the chunk's end. */
struct sp_jfr_cursor sp_jfr_chunk_at(const struct sp_jfr_chunk_data *c, uint64_t at);

/* The next event: moves *at behind it and gives a cursor over its body (behind the type) and its
 * type. Returns 1; 0 at the end; -EBADMSG if its length cannot be. */
int sp_jfr_chunk_next(const struct sp_jfr_chunk_data *c, uint64_t *at, struct sp_jfr_cursor *ret,
	uint64_t *ret_type);

static inline uint32_t sp_jfr_table_slot(const struct sp_jfr_table *t, uint64_t key)
{
	return (uint32_t)(t->dense ? key : (key * 0x9e3779b97f4a7c15ull) >> 32) & t->mask;
}

/* The constant of that key; NULL: there is none. Asked for each frame of each stack. */
static inline struct sp_jfr_const *sp_jfr_table_find(const struct sp_jfr_table *t, uint64_t key)
{
	if (!t->slots)
		return NULL;
	for (uint32_t i = sp_jfr_table_slot(t, key); t->slots[i].at; i = (i + 1) & t->mask)
		if (t->slots[i].key == key)
			return &t->slots[i];
	return NULL;
}

#endif
