/* From a chunk's constants to the dictionary: each is decoded when an event first refers to it. */
#ifndef SP_JFR_RESOLVE_H
#define SP_JFR_RESOLVE_H

#include "base/buf.h"
#include "dict/dict.h"
#include "jfr/chunk.h"
#include "jfr/stack_cache.h"

/* What a field means to us, whoever wrote the recording. */
enum sp_jfr_role {
	SP_JFR_R_OTHER,
	SP_JFR_R_START,
	SP_JFR_R_DURATION,
	SP_JFR_R_THREAD,
	SP_JFR_R_STACK,
	SP_JFR_R_STATE,
	SP_JFR_R_NAME, /* of a class, package, group … */
	SP_JFR_R_CLASS,
	SP_JFR_R_DESCRIPTOR,
	SP_JFR_R_MODIFIERS,
	SP_JFR_R_TRUNCATED,
	SP_JFR_R_FRAMES,
	SP_JFR_R_METHOD,
	SP_JFR_R_LINE,
	SP_JFR_R_BCI,
	SP_JFR_R_FRAME_TYPE,
	SP_JFR_R_OS_NAME,
	SP_JFR_R_OS_ID,
	SP_JFR_R_JAVA_NAME,
	SP_JFR_R_JAVA_ID,
	SP_JFR_R_GROUP,
};

/* What constants of small keys became, + 1; 0: not asked for yet. Those of larger ones are found in
 * their tables. */
struct sp_jfr_ids {
	uint32_t *list; /* owned, by key */
	size_t count, cap;
};

struct sp_jfr_resolver {
	struct sp_jfr_chunk_data *chunk;  /* borrowed */
	struct sp_dict *dict;		  /* borrowed */
	struct sp_jfr_stack_cache *known; /* borrowed; NULL: none */
	uint64_t round;			  /* see there */
	uint8_t *roles;			  /* by index of the member */
	bool ours; /* sparkprof wrote the chunk: names of functions are as their libraries have them
		    */
	const struct sp_jfr_decl *plain; /* frames: four numbers in the usual order; NULL: others */
	int string, symbol, cls, method, stack, thread, group, frame_type, state;
	uint8_t states[64];	 /* by key: what it became, + 1 */
	uint8_t frame_types[64]; /* the same */
	uint8_t *packed;	 /* a stack that is being read */
	struct sp_jfr_ids methods, stacks;
	struct sp_buf scratch;	/* text of an event that had to be converted: reserve before */
	struct sp_buf constant; /* the same for a constant */
};

/* The role of a field, OTHER where it has none or is not encoded as its role needs it. The types in
 * @r (thread, stack, state) are known. */
uint8_t sp_jfr_role(const struct sp_jfr_resolver *r, const struct sp_jfr_decl *t,
	const struct sp_jfr_member *m);

/* One resolver serves all chunks. Returns 0 or -ENOMEM. */
int sp_jfr_resolver_init(struct sp_jfr_resolver *r, struct sp_dict *dict);

/* Called when a chunk's types are read; then, when its constants are. Return 0 or -ENOMEM. */
int sp_jfr_resolver_enter(struct sp_jfr_resolver *r, struct sp_jfr_chunk_data *chunk);
void sp_jfr_resolver_expect(struct sp_jfr_resolver *r); /* its part in resolve_stack.c */
void sp_jfr_resolver_compare(struct sp_jfr_resolver *r);
void sp_jfr_resolver_done(struct sp_jfr_resolver *r);

static inline struct sp_jfr_const *sp_jfr_resolver_find(
	struct sp_jfr_resolver *r, int type, uint64_t key)
{
	return type >= 0 ? sp_jfr_table_find(&r->chunk->tables[type], key) : NULL;
}

/* Ids of the dictionary; 0 for a key without a value. */
uint32_t sp_jfr_read_stack(struct sp_jfr_resolver *r, uint64_t key);
uint32_t sp_jfr_read_thread(struct sp_jfr_resolver *r, uint64_t key);
uint8_t sp_jfr_read_state(struct sp_jfr_resolver *r, uint64_t key);

/* The same; asked for each event, most have been read before. */
static inline uint32_t sp_jfr_resolve_stack(struct sp_jfr_resolver *r, uint64_t key)
{
	return key < r->stacks.count && r->stacks.list[key] ? r->stacks.list[key] - 1
							    : sp_jfr_read_stack(r, key);
}

/* Where it will look first: to be asked for beforehand. NULL: nowhere. */
static inline const void *sp_jfr_resolver_stack_place(const struct sp_jfr_resolver *r, uint64_t key)
{
	const struct sp_jfr_table *t = r->stack >= 0 ? &r->chunk->tables[r->stack] : NULL;

	if (key < r->stacks.count)
		return &r->stacks.list[key];
	return t && t->slots ? &t->slots[sp_jfr_table_slot(t, key)] : NULL;
}

static inline uint32_t sp_jfr_resolve_thread(struct sp_jfr_resolver *r, uint64_t key)
{
	const struct sp_jfr_const *k = sp_jfr_resolver_find(r, r->thread, key);

	return k && k->id ? k->id - 1 : sp_jfr_read_thread(r, key);
}

static inline uint8_t sp_jfr_resolve_state(struct sp_jfr_resolver *r, uint64_t key)
{
	if (key < sizeof(r->states) && r->states[key])
		return r->states[key] - 1;
	return sp_jfr_read_state(r, key);
}

/* The name that a constant of @type is or has: UTF-8, borrowed until the scratch buffer is cleared
 * (or from the dictionary). NULL if it has none. */
const char *sp_jfr_resolve_name(struct sp_jfr_resolver *r, int type, uint64_t key, size_t *ret_len);

/* The same as a string of the dictionary; 0 if it has none. */
uint32_t sp_jfr_resolve_name_id(struct sp_jfr_resolver *r, int type, uint64_t key);

/* A string in UTF-8, borrowed likewise; NULL for null. Four bytes for each of the text's must be
 * reserved in the scratch buffer. */
const char *sp_jfr_resolve_text(
	struct sp_jfr_resolver *r, const struct sp_jfr_text *t, size_t *ret_len);

#endif
