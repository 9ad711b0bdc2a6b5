/* Constants into the dictionary: see resolve.h. What a constant became is kept beside its key.
 * Stacks are in resolve_stack.c. */
#include "jfr/resolve.h"

#include "base/cleanup.h"
#include "jfr/encode.h"
#include "jfr/string_decode.h"
#include "jfr/types.h"

#include <errno.h>
#include <stdlib.h>

int sp_jfr_resolver_init(struct sp_jfr_resolver *r, struct sp_dict *dict)
{
	memset(r, 0, sizeof(*r));
	r->dict = dict;
	sp_buf_init(&r->scratch);
	sp_buf_init(&r->constant);
	r->packed = malloc(SP_DICT_MAX_FRAMES * SP_DICT_FRAME);
	return r->packed ? 0 : -ENOMEM;
}

int sp_jfr_resolver_enter(struct sp_jfr_resolver *r, struct sp_jfr_chunk_data *chunk)
{
	struct sp_jfr_schema *s = &chunk->schema;

	r->chunk = chunk;
	r->methods.count = r->stacks.count = 0;
	memset(r->states, 0, sizeof(r->states));
	memset(r->frame_types, 0, sizeof(r->frame_types));
	free(r->roles);
	r->roles = calloc(s->member_count + 1, 1);
	if (!r->roles)
		return -ENOMEM;
	r->ours = sp_jfr_schema_named(s, "sparkprof.Counts") >= 0;
	r->string = sp_jfr_schema_named(s, "java.lang.String");
	r->symbol = sp_jfr_schema_named(s, "jdk.types.Symbol");
	r->cls = sp_jfr_schema_named(s, "java.lang.Class");
	r->method = sp_jfr_schema_named(s, "jdk.types.Method");
	r->stack = sp_jfr_schema_named(s, "jdk.types.StackTrace");
	r->thread = sp_jfr_schema_named(s, "java.lang.Thread");
	r->group = sp_jfr_schema_named(s, "jdk.types.ThreadGroup");
	r->frame_type = sp_jfr_schema_named(s, "jdk.types.FrameType");
	r->state = sp_jfr_schema_named(s, "jdk.types.ThreadState");
	for (uint32_t t = 0; t < s->type_count; t++) {
		for (uint32_t i = s->types[t].first; i < s->types[t].first + s->types[t].count;
			i++) {
			r->roles[i] = sp_jfr_role(r, &s->types[t], &s->members[i]);
		}
	}
	sp_jfr_resolver_expect(r);
	return 0;
}

void sp_jfr_resolver_done(struct sp_jfr_resolver *r)
{
	free(r->roles);
	free(r->packed);
	free(r->methods.list);
	free(r->stacks.list);
	sp_buf_done(&r->scratch);
	sp_buf_done(&r->constant);
}

static uint32_t resolve_string(struct sp_jfr_resolver *r, int type, uint64_t key, int depth);

static const char *text_of(struct sp_jfr_resolver *r, struct sp_buf *b, const struct sp_jfr_text *t,
	int depth, size_t *ret_len)
{
	uint32_t id;

	*ret_len = 0;
	switch (t->encoding) {
	case SP_JFR_STR_EMPTY:
		return "";
	case SP_JFR_STR_POOL:
		id = resolve_string(r, r->string, t->key, depth + 1);
		return id ? sp_dict_get_string(r->dict, id, ret_len) : NULL;
	case SP_JFR_STR_NULL:
		return NULL;
	default:
		return sp_jfr_string_utf8(b, t, ret_len);
	}
}

const char *sp_jfr_resolve_text(
	struct sp_jfr_resolver *r, const struct sp_jfr_text *t, size_t *ret_len)
{
	return text_of(r, &r->scratch, t, 0, ret_len);
}

/* As a string of the dictionary. */
static uint32_t intern_text(struct sp_jfr_resolver *r, struct sp_jfr_cursor *c, int depth)
{
	struct sp_jfr_text t = sp_jfr_get_text(c);
	size_t len;
	const char *s;

	sp_buf_clear(&r->constant);
	s = text_of(r, &r->constant, &t, depth, &len);
	return s ? sp_dict_string(r->dict, s, len) : 0;
}

/* The name in a constant: the struct's member with that role, else its first string. */
static uint32_t name_in(struct sp_jfr_resolver *r, int type, uint32_t at, int depth)
{
	const struct sp_jfr_schema *s = &r->chunk->schema;
	const struct sp_jfr_decl *t = &s->types[type];
	struct sp_jfr_cursor c = sp_jfr_chunk_at(r->chunk, at);

	if (t->prim == SP_JFR_P_STRING)
		return intern_text(r, &c, depth);
	for (uint32_t i = t->first; i < t->first + t->count && !c.bad; i++) {
		const struct sp_jfr_member *m = &s->members[i];
		bool text = !m->pool && !m->array && m->type >= 0 &&
			    s->types[m->type].prim == SP_JFR_P_STRING;

		if (text && (r->roles[i] == SP_JFR_R_NAME || t->count == 1))
			return intern_text(r, &c, depth);
		if (m->pool && r->roles[i] == SP_JFR_R_NAME)
			return resolve_string(r, m->type, sp_jfr_get_long(&c), depth + 1);
		sp_jfr_schema_skip_member(s, &c, m);
	}
	return 0;
}

/* A constant that is or has a name, as a string of the dictionary. */
static uint32_t resolve_string(struct sp_jfr_resolver *r, int type, uint64_t key, int depth)
{
	struct sp_jfr_const *k = sp_jfr_resolver_find(r, type, key);

	if (!k || depth > 4)
		return 0;
	if (!k->id)
		k->id = name_in(r, type, k->at, depth) + 1;
	return k->id - 1;
}

uint32_t sp_jfr_resolve_name_id(struct sp_jfr_resolver *r, int type, uint64_t key)
{
	if (type == r->thread) {
		const struct sp_thread *t =
			sp_dict_get_thread(r->dict, sp_jfr_resolve_thread(r, key));

		return t ? t->name_id : 0;
	}
	if (type == r->stack || type == r->method)
		return 0; /* these keep other ids beside their keys */
	return resolve_string(r, type, key, 0);
}

const char *sp_jfr_resolve_name(struct sp_jfr_resolver *r, int type, uint64_t key, size_t *ret_len)
{
	uint32_t id = sp_jfr_resolve_name_id(r, type, key);

	*ret_len = 0;
	return id ? sp_dict_get_string(r->dict, id, ret_len) : NULL;
}

static uint8_t state_named(const char *name, size_t len)
{
	for (unsigned i = 0; i < SP_STATES; i++) {
		if (len == strlen(sp_jfr_state_names[i]) &&
			memcmp(name, sp_jfr_state_names[i], len) == 0)
			return (uint8_t)i;
	}
	return SP_STATE_UNKNOWN;
}

uint8_t sp_jfr_read_state(struct sp_jfr_resolver *r, uint64_t key)
{
	const char *name;
	size_t len;
	uint8_t state;

	name = sp_dict_get_string(r->dict, resolve_string(r, r->state, key, 0), &len);
	state = state_named(name, len);
	if (key < SP_COUNT(r->states))
		r->states[key] = state + 1;
	return state;
}

uint32_t sp_jfr_read_thread(struct sp_jfr_resolver *r, uint64_t key)
{
	struct sp_jfr_const *k = sp_jfr_resolver_find(r, r->thread, key);
	const struct sp_jfr_schema *s = &r->chunk->schema;
	const struct sp_jfr_decl *t;
	struct sp_jfr_cursor c;
	struct sp_thread out = {0};
	uint32_t os_name = 0;

	if (!k)
		return 0;
	t = &s->types[r->thread];
	c = sp_jfr_chunk_at(r->chunk, k->at);
	for (uint32_t i = t->first; i < t->first + t->count && !c.bad; i++) {
		const struct sp_jfr_member *m = &s->members[i];

		if (r->roles[i] == SP_JFR_R_OS_NAME)
			os_name = intern_text(r, &c, 0);
		else if (r->roles[i] == SP_JFR_R_JAVA_NAME)
			out.name_id = intern_text(r, &c, 0);
		else if (r->roles[i] == SP_JFR_R_OS_ID)
			out.tid = (uint32_t)sp_jfr_get_long(&c);
		else if (r->roles[i] == SP_JFR_R_JAVA_ID)
			out.java_id = sp_jfr_get_long(&c);
		else if (r->roles[i] == SP_JFR_R_GROUP)
			out.group_id = resolve_string(r, m->type, sp_jfr_get_long(&c), 0);
		else
			sp_jfr_schema_skip_member(s, &c, m);
	}
	if (!out.name_id)
		out.name_id = os_name;
	k->id = sp_dict_thread(r->dict, &out) + 1;
	return k->id - 1;
}
