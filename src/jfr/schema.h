/* The types a chunk declares about itself, read from its metadata event. */
#ifndef SP_JFR_SCHEMA_H
#define SP_JFR_SCHEMA_H

#include "jfr/cursor.h"

/* How a value is encoded. */
enum sp_jfr_prim {
	SP_JFR_P_STRUCT, /* its fields, one after the other */
	SP_JFR_P_BOOLEAN,
	SP_JFR_P_BYTE,
	SP_JFR_P_CHAR,
	SP_JFR_P_SHORT,
	SP_JFR_P_INT,
	SP_JFR_P_LONG,
	SP_JFR_P_FLOAT,
	SP_JFR_P_DOUBLE,
	SP_JFR_P_STRING,
};

struct sp_jfr_member {
	const char *name;
	uint64_t type_id;
	int type; /* index into the schema's types, -1 where it is not declared */
	bool pool, array;
	bool ticks, nanos, millis; /* unit of a number */
};

struct sp_jfr_decl {
	uint64_t id;
	const char *name;
	bool event;
	uint8_t prim;	       /* enum sp_jfr_prim */
	uint32_t first, count; /* its members */
	uint32_t flat;	       /* values in it, with those of structs in it */
	uint32_t varints;      /* a struct of nothing but so many compressed numbers; else 0 */
	/* A struct of @lead single bytes and then an array of such structs of @tail numbers each: a
	 * stack. 0: another. */
	uint32_t lead, tail;
	int wanted;   /* for the reader: see there */
	uint8_t plan; /* for the reader: number of its plan + 1; 0: none */
};

#define SP_JFR_SMALL 256

struct sp_jfr_schema {
	char *words; /* the strings, decoded */
	uint32_t *word_at;
	uint32_t word_count;
	struct sp_jfr_decl *types;
	uint32_t type_count, type_cap;
	struct sp_jfr_member *members;
	uint32_t member_count, member_cap;
	uint32_t *index; /* by id, open addressing */
	uint32_t index_mask;
	uint16_t small[SP_JFR_SMALL]; /* index + 1 of types with small ids; 0: ask the index */
	int64_t gmt_offset;
};

/* Reads the metadata event at @c. Returns 0; -EBADMSG if it cannot be one; -ENOMEM. On failure
 * there is nothing to free. */
int sp_jfr_schema_read(struct sp_jfr_schema *s, struct sp_jfr_cursor c);
void sp_jfr_schema_done(struct sp_jfr_schema *s);

/* Index of the type with that id or name, -1 if there is none. */
int sp_jfr_schema_look_up(const struct sp_jfr_schema *s, uint64_t id);
static inline int sp_jfr_schema_find(const struct sp_jfr_schema *s, uint64_t id)
{
	return id < SP_JFR_SMALL && s->small[id] ? s->small[id] - 1 : sp_jfr_schema_look_up(s, id);
}
int sp_jfr_schema_named(const struct sp_jfr_schema *s, const char *name);

/* Moves @c behind a value of type @type. */
void sp_jfr_schema_skip(const struct sp_jfr_schema *s, struct sp_jfr_cursor *c, int type);
void sp_jfr_schema_skip_member(
	const struct sp_jfr_schema *s, struct sp_jfr_cursor *c, const struct sp_jfr_member *m);

#endif
