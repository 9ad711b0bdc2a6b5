/* Reads a chunk's metadata event into tables: see schema.h. Recursion is bounded, and so is what is
 * allocated: by the bytes of the event. */
#include "jfr/schema.h"

#include "jfr/encode.h"

#include <errno.h>
#include <stdlib.h>

#define DEPTH 12  /* elements in elements */
#define FLAT  512 /* values in a struct with all structs in it */

static int grow(void **data, uint32_t *cap, uint32_t count, size_t size)
{
	uint32_t to = *cap ? *cap * 2 : 64;
	void *p;

	if (count < *cap)
		return 0;
	p = realloc(*data, to * size);
	if (!p)
		return -ENOMEM;
	*data = p;
	*cap = to;
	return 0;
}

/* Metadata strings are ASCII in practice; other characters of UTF-16 become '?'. */
static size_t copy_word(char *to, const struct sp_jfr_text *t)
{
	struct sp_jfr_cursor c = {.p = t->data, .end = t->end, .raw = t->raw};
	uint32_t i = 0;

	if (t->encoding == SP_JFR_STR_UTF16) {
		for (; i < t->len; i++) {
			uint32_t v = sp_jfr_get_short(&c);

			to[i] = v < 0x80 ? (char)v : '?';
		}
	} else if (t->len) {
		memcpy(to, t->data, t->len);
		i = t->len;
	}
	to[i] = '\0';
	return i + 1;
}

static int read_words(struct sp_jfr_schema *s, struct sp_jfr_cursor *c)
{
	uint32_t count = sp_jfr_get_int(c);
	size_t left = (size_t)(c->end - c->p), at = 0;

	if (c->bad || count > left)
		return -EBADMSG; /* each takes a byte at least */
	s->words = malloc(left + count + 1);
	s->word_at = calloc(count + 1, sizeof(*s->word_at));
	if (!s->words || !s->word_at)
		return -ENOMEM;
	for (uint32_t i = 0; i < count && !c->bad; i++) {
		struct sp_jfr_text t = sp_jfr_get_text(c);

		s->word_at[i] = (uint32_t)at;
		at += copy_word(s->words + at, &t);
	}
	s->word_count = count;
	return c->bad ? -EBADMSG : 0;
}

static const char *word(const struct sp_jfr_schema *s, struct sp_jfr_cursor *c)
{
	uint32_t i = sp_jfr_get_int(c);

	if (i < s->word_count)
		return s->words + s->word_at[i];
	c->bad = true;
	return "";
}

static uint8_t prim_of(const char *name)
{
	static const char *const names[] = {
		[SP_JFR_P_STRUCT] = "",
		[SP_JFR_P_BOOLEAN] = "boolean",
		[SP_JFR_P_BYTE] = "byte",
		[SP_JFR_P_CHAR] = "char",
		[SP_JFR_P_SHORT] = "short",
		[SP_JFR_P_INT] = "int",
		[SP_JFR_P_LONG] = "long",
		[SP_JFR_P_FLOAT] = "float",
		[SP_JFR_P_DOUBLE] = "double",
		[SP_JFR_P_STRING] = "java.lang.String",
	};

	for (unsigned i = 1; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], name) == 0)
			return (uint8_t)i;
	}
	return SP_JFR_P_STRUCT;
}

/* The attributes that matter of any element. */
struct element {
	const char *tag, *name, *super, *value;
	uint64_t id, type;
	bool pool;
	uint64_t dimension;
	int64_t gmt;
};

static void read_attributes(
	const struct sp_jfr_schema *s, struct sp_jfr_cursor *c, struct element *e)
{
	uint32_t count;

	memset(e, 0, sizeof(*e));
	e->tag = word(s, c);
	e->name = e->super = e->value = "";
	count = sp_jfr_get_int(c);
	for (uint32_t i = 0; i < count && !c->bad; i++) {
		const char *key = word(s, c), *value = word(s, c);

		if (strcmp(key, "name") == 0)
			e->name = value;
		else if (strcmp(key, "id") == 0)
			e->id = strtoull(value, NULL, 10);
		else if (strcmp(key, "class") == 0)
			e->type = strtoull(value, NULL, 10);
		else if (strcmp(key, "superType") == 0)
			e->super = value;
		else if (strcmp(key, "constantPool") == 0)
			e->pool = strcmp(value, "true") == 0;
		else if (strcmp(key, "dimension") == 0)
			e->dimension = strtoull(value, NULL, 10);
		else if (strcmp(key, "value") == 0)
			e->value = value;
		else if (strcmp(key, "gmtOffset") == 0)
			e->gmt = strtoll(value, NULL, 10);
	}
}

static int add_type(struct sp_jfr_schema *s, const struct element *e)
{
	struct sp_jfr_decl *t;

	if (grow((void **)&s->types, &s->type_cap, s->type_count, sizeof(*t)) < 0)
		return -ENOMEM;
	t = &s->types[s->type_count++];
	*t = (struct sp_jfr_decl){.id = e->id, .name = e->name, .first = s->member_count};
	t->event = strcmp(e->super, "jdk.jfr.Event") == 0;
	t->prim = prim_of(e->name);
	return 0;
}

static int add_member(struct sp_jfr_schema *s, const struct element *e)
{
	struct sp_jfr_member *m;

	if (!s->type_count)
		return -EBADMSG;
	if (grow((void **)&s->members, &s->member_cap, s->member_count, sizeof(*m)) < 0)
		return -ENOMEM;
	m = &s->members[s->member_count++];
	*m = (struct sp_jfr_member){.name = e->name, .type_id = e->type, .type = -1};
	m->pool = e->pool;
	m->array = e->dimension > 0;
	s->types[s->type_count - 1].count++;
	return 0;
}

static int read_element(struct sp_jfr_schema *s, struct sp_jfr_cursor *c, int depth, bool in_field)
{
	struct element e;
	uint32_t children;
	bool field;
	int r = 0;

	read_attributes(s, c, &e);
	field = strcmp(e.tag, "field") == 0;
	if (depth > DEPTH)
		return -EBADMSG;
	if (strcmp(e.tag, "class") == 0)
		r = add_type(s, &e);
	else if (field)
		r = add_member(s, &e);
	else if (strcmp(e.tag, "region") == 0)
		s->gmt_offset = e.gmt;
	else if (in_field && s->member_count) {
		struct sp_jfr_member *m = &s->members[s->member_count - 1];

		m->ticks |= strcmp(e.value, "TICKS") == 0;
		m->nanos |= strncmp(e.value, "NANOSECONDS", 11) == 0;
		m->millis |= strncmp(e.value, "MILLISECONDS", 12) == 0;
	}
	children = sp_jfr_get_int(c);
	for (uint32_t i = 0; i < children && !c->bad && r == 0; i++)
		r = read_element(s, c, depth + 1, field);
	return r < 0 ? r : c->bad ? -EBADMSG : 0;
}

static uint32_t slot_of(const struct sp_jfr_schema *s, uint64_t id)
{
	return (uint32_t)((id * 0x9e3779b97f4a7c15ull) >> 40) & s->index_mask;
}

/* Counts the values in a struct and the structs in it, so that skipping one is bounded and a struct
 * without bytes is known. Too many, a struct in itself, or an unknown type gives more than FLAT. */
static uint32_t flatten(struct sp_jfr_schema *s, int type, int depth)
{
	struct sp_jfr_decl *t = &s->types[type];
	uint32_t sum = 0;

	if (t->prim != SP_JFR_P_STRUCT)
		return t->flat = 1;
	if (t->flat != UINT32_MAX)
		return t->flat;
	t->flat = FLAT + 1; /* found again on the way: in itself */
	if (depth > DEPTH)
		return t->flat;
	for (uint32_t i = 0; i < t->count && sum <= FLAT; i++) {
		const struct sp_jfr_member *m = &s->members[t->first + i];

		sum += m->pool || m->array ? 1 : 0;
		if (!m->pool)
			sum += m->type < 0 ? FLAT + 1 : flatten(s, m->type, depth + 1);
	}
	return t->flat = sum;
}

static bool is_varint(const struct sp_jfr_schema *s, const struct sp_jfr_member *m)
{
	uint8_t prim = m->type >= 0 ? s->types[m->type].prim : SP_JFR_P_STRUCT;

	/* a boolean is 0 or 1: as bytes, the same */
	return !m->array && (m->pool || prim == SP_JFR_P_BOOLEAN ||
				    (prim >= SP_JFR_P_CHAR && prim <= SP_JFR_P_LONG));
}

/* Stack frames, above all: most bytes of a recording's constants are theirs. */
static void count_varints(const struct sp_jfr_schema *s, struct sp_jfr_decl *t)
{
	t->varints = t->prim == SP_JFR_P_STRUCT ? t->count : 0;
	for (uint32_t i = t->first; i < t->first + t->count && t->varints; i++)
		if (!is_varint(s, &s->members[i]))
			t->varints = 0;
}

static void find_tail(const struct sp_jfr_schema *s, struct sp_jfr_decl *t)
{
	const struct sp_jfr_member *last = t->count ? &s->members[t->first + t->count - 1] : NULL;

	if (t->prim != SP_JFR_P_STRUCT || !last || !last->array || last->pool || last->type < 0)
		return;
	for (uint32_t i = t->first; i < t->first + t->count - 1; i++) {
		const struct sp_jfr_member *m = &s->members[i];
		uint8_t prim = m->type >= 0 ? s->types[m->type].prim : SP_JFR_P_STRUCT;

		if (m->pool || m->array || (prim != SP_JFR_P_BOOLEAN && prim != SP_JFR_P_BYTE))
			return;
	}
	t->lead = t->count - 1;
	t->tail = s->types[last->type].varints;
}

/* The first of each id stays, as in the index. */
static void find_small(struct sp_jfr_schema *s)
{
	for (uint32_t i = 0; i < s->type_count && i < UINT16_MAX; i++) {
		uint64_t id = s->types[i].id;

		if (id < SP_JFR_SMALL && !s->small[id])
			s->small[id] = (uint16_t)(i + 1);
	}
}

static int link_types(struct sp_jfr_schema *s)
{
	uint32_t size = 64;

	while (size < s->type_count * 2)
		size *= 2;
	s->index = calloc(size, sizeof(*s->index));
	if (!s->index)
		return -ENOMEM;
	s->index_mask = size - 1;
	for (uint32_t i = 0; i < s->type_count; i++) {
		uint32_t slot = slot_of(s, s->types[i].id);

		while (s->index[slot])
			slot = (slot + 1) & s->index_mask;
		s->index[slot] = i + 1;
	}
	for (uint32_t i = 0; i < s->member_count; i++)
		s->members[i].type = sp_jfr_schema_find(s, s->members[i].type_id);
	for (uint32_t i = 0; i < s->type_count; i++)
		s->types[i].flat = UINT32_MAX;
	for (uint32_t i = 0; i < s->type_count; i++)
		flatten(s, (int)i, 0);
	for (uint32_t i = 0; i < s->type_count; i++)
		count_varints(s, &s->types[i]);
	for (uint32_t i = 0; i < s->type_count; i++)
		find_tail(s, &s->types[i]);
	find_small(s);
	return 0;
}

int sp_jfr_schema_read(struct sp_jfr_schema *s, struct sp_jfr_cursor c)
{
	int r = -EBADMSG;

	memset(s, 0, sizeof(*s));
	sp_jfr_get_int(&c);
	if (sp_jfr_get_long(&c) != 0)
		return r;
	sp_jfr_get_long(&c); /* start, duration, id */
	sp_jfr_get_long(&c);
	sp_jfr_get_long(&c);
	if (!c.bad)
		r = read_words(s, &c);
	if (r == 0)
		r = read_element(s, &c, 0, false);
	if (r == 0)
		r = link_types(s);
	if (r < 0)
		sp_jfr_schema_done(s);
	return r;
}

void sp_jfr_schema_done(struct sp_jfr_schema *s)
{
	free(s->words);
	free(s->word_at);
	free(s->types);
	free(s->members);
	free(s->index);
	memset(s, 0, sizeof(*s));
}

int sp_jfr_schema_look_up(const struct sp_jfr_schema *s, uint64_t id)
{
	if (!s->index)
		return -1;
	for (uint32_t slot = slot_of(s, id); s->index[slot]; slot = (slot + 1) & s->index_mask) {
		if (s->types[s->index[slot] - 1].id == id)
			return (int)s->index[slot] - 1;
	}
	return -1;
}

int sp_jfr_schema_named(const struct sp_jfr_schema *s, const char *name)
{
	for (uint32_t i = 0; i < s->type_count; i++) {
		if (strcmp(s->types[i].name, name) == 0)
			return (int)i;
	}
	return -1;
}

static void skip_value(const struct sp_jfr_schema *s, struct sp_jfr_cursor *c, int type);

static void skip_member(
	const struct sp_jfr_schema *s, struct sp_jfr_cursor *c, const struct sp_jfr_member *m)
{
	uint32_t count = m->array ? sp_jfr_get_int(c) : 1;

	if (!m->pool && m->type >= 0 && s->types[m->type].flat == 0)
		return; /* no bytes each: their number may be anything */
	if (m->array && !m->pool && !c->raw && m->type >= 0 && s->types[m->type].varints) {
		sp_jfr_skip_packed(c, (uint64_t)count * s->types[m->type].varints);
		return;
	}
	for (; count && !c->bad; count--) {
		if (m->pool)
			sp_jfr_get_long(c);
		else
			skip_value(s, c, m->type);
	}
}

static void skip_value(const struct sp_jfr_schema *s, struct sp_jfr_cursor *c, int type)
{
	const struct sp_jfr_decl *t = type >= 0 ? &s->types[type] : NULL;

	if (!t || t->flat > FLAT) {
		c->bad = true;
		return;
	}
	if (t->tail && !c->raw) {
		sp_jfr_take(c, t->lead);
		sp_jfr_skip_packed(c, (uint64_t)sp_jfr_get_int(c) * t->tail);
		return;
	}
	if (t->varints && !c->raw) {
		sp_jfr_skip_packed(c, t->varints);
		return;
	}
	switch (t->prim) {
	case SP_JFR_P_STRUCT:
		for (uint32_t i = 0; i < t->count && !c->bad; i++)
			skip_member(s, c, &s->members[t->first + i]);
		break;
	case SP_JFR_P_BOOLEAN:
	case SP_JFR_P_BYTE:
		sp_jfr_take(c, 1);
		break;
	case SP_JFR_P_CHAR:
	case SP_JFR_P_SHORT:
		sp_jfr_get_short(c);
		break;
	case SP_JFR_P_INT:
		sp_jfr_get_int(c);
		break;
	case SP_JFR_P_LONG:
		sp_jfr_get_long(c);
		break;
	case SP_JFR_P_FLOAT:
		sp_jfr_take(c, 4);
		break;
	case SP_JFR_P_DOUBLE:
		sp_jfr_take(c, 8);
		break;
	default:
		sp_jfr_get_text(c);
	}
}

void sp_jfr_schema_skip(const struct sp_jfr_schema *s, struct sp_jfr_cursor *c, int type)
{
	skip_value(s, c, type);
}

void sp_jfr_schema_skip_member(
	const struct sp_jfr_schema *s, struct sp_jfr_cursor *c, const struct sp_jfr_member *m)
{
	skip_member(s, c, m);
}
