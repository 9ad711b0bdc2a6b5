/* Constants into the dictionary: see resolve.h. What a constant became is kept beside its key. */
#include "jfr/resolve.h"

#include "base/cleanup.h"
#include "jfr/put.h"
#include "jfr/text.h"
#include "jfr/types.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

static void expect_stacks(struct sp_jfr_resolver *r);

int sp_jfr_resolver_init(struct sp_jfr_resolver *r, struct sp_dict *dict)
{
	memset(r, 0, sizeof(*r));
	r->dict = dict;
	sp_buf_init(&r->scratch);
	sp_buf_init(&r->constant);
	r->frames = malloc(SP_DICT_MAX_FRAMES * sizeof(*r->frames));
	return r->frames ? 0 : -ENOMEM;
}

int sp_jfr_resolver_enter(struct sp_jfr_resolver *r, struct sp_jfr_chunk_data *chunk)
{
	struct sp_jfr_schema *s = &chunk->schema;

	r->chunk = chunk;
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
	expect_stacks(r);
	return 0;
}

void sp_jfr_resolver_done(struct sp_jfr_resolver *r)
{
	free(r->roles);
	free(r->frames);
	sp_buf_done(&r->scratch);
	sp_buf_done(&r->constant);
}

static struct sp_jfr_const *find(struct sp_jfr_resolver *r, int type, uint64_t key)
{
	return type >= 0 ? sp_jfr_table_find(&r->chunk->tables[type], key) : NULL;
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
		return sp_jfr_text_utf8(b, t, ret_len);
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
	struct sp_jfr_const *k = find(r, type, key);

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

/* "()L;" or "()L<hex>;" with nothing but ACC_NATIVE: a function, not a Java method. */
static void set_native(struct sp_jfr_resolver *r, struct sp_method *m)
{
	size_t len;
	const char *sig = sp_dict_get_string(r->dict, m->sig_id, &len);
	bool hex = len >= 4 && memcmp(sig, "()L", 3) == 0 && sig[len - 1] == ';';

	if (m->modifiers != 0x100)
		return;
	if (r->ours && strcmp(sig, SP_PYTHON_SIGNATURE) == 0) {
		m->native = SP_NATIVE_PYTHON;
		m->modifiers = 0;
		return;
	}
	for (size_t i = 3; hex && i < len - 1; i++)
		hex = isxdigit((unsigned char)sig[i]);
	if (!hex)
		return;
	m->native = r->ours ? 1 : SP_NATIVE_FINAL;
	m->unresolved = len > 4;
	m->modifiers = 0;
	if (len == 4)
		m->sig_id = 0;
}

static uint32_t read_method(struct sp_jfr_resolver *r, struct sp_jfr_const *k)
{
	const struct sp_jfr_schema *s = &r->chunk->schema;
	const struct sp_jfr_decl *t = &s->types[r->method];
	struct sp_jfr_cursor c = sp_jfr_chunk_at(r->chunk, k->at);
	struct sp_method m = {0};

	for (uint32_t i = t->first; i < t->first + t->count && !c.bad; i++) {
		const struct sp_jfr_member *f = &s->members[i];

		if (r->roles[i] == SP_JFR_R_CLASS)
			m.class_id = resolve_string(r, f->type, sp_jfr_get_long(&c), 0);
		else if (r->roles[i] == SP_JFR_R_NAME && f->pool)
			m.name_id = resolve_string(r, f->type, sp_jfr_get_long(&c), 0);
		else if (r->roles[i] == SP_JFR_R_DESCRIPTOR)
			m.sig_id = resolve_string(r, f->type, sp_jfr_get_long(&c), 0);
		else if (r->roles[i] == SP_JFR_R_MODIFIERS)
			m.modifiers = (uint16_t)sp_jfr_get_int(&c);
		else
			sp_jfr_schema_skip_member(s, &c, f);
	}
	set_native(r, &m);
	return sp_dict_method(r->dict, &m);
}

/* Asked for each frame of each stack. */
static inline uint32_t resolve_method(struct sp_jfr_resolver *r, uint64_t key)
{
	struct sp_jfr_const *k = find(r, r->method, key);

	if (!k)
		return 0;
	if (!k->id)
		k->id = read_method(r, k) + 1;
	return k->id - 1;
}

static bool is_python(const struct sp_jfr_resolver *r, uint32_t method)
{
	const struct sp_method *m = sp_dict_get_method(r->dict, method);

	return m && m->native == SP_NATIVE_PYTHON;
}

static uint8_t name_frame_type(struct sp_jfr_resolver *r, uint64_t key)
{
	static const uint8_t types[SP_JFR_FRAMES] = {
		[SP_JFR_FRAME_INTERPRETED] = SP_FRAME_INTERPRETED,
		[SP_JFR_FRAME_JIT] = SP_FRAME_C2,
		[SP_JFR_FRAME_INLINED] = SP_FRAME_INLINED,
		[SP_JFR_FRAME_NATIVE] = SP_FRAME_NATIVE,
		[SP_JFR_FRAME_CPP] = SP_FRAME_CPP,
		[SP_JFR_FRAME_KERNEL] = SP_FRAME_KERNEL,
		[SP_JFR_FRAME_C1] = SP_FRAME_C1,
	};
	uint32_t id = resolve_string(r, r->frame_type, key, 0);
	size_t len;
	const char *name = sp_dict_get_string(r->dict, id, &len);

	for (unsigned i = 0; i < SP_JFR_FRAMES; i++) {
		if (len == strlen(sp_jfr_frame_names[i]) &&
			memcmp(name, sp_jfr_frame_names[i], len) == 0)
			return types[i];
	}
	return SP_FRAME_INTERPRETED;
}

static uint8_t resolve_frame_type(struct sp_jfr_resolver *r, uint64_t key)
{
	if (key >= SP_COUNT(r->frame_types))
		return name_frame_type(r, key);
	if (!r->frame_types[key])
		r->frame_types[key] = name_frame_type(r, key) + 1;
	return r->frame_types[key] - 1;
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

uint8_t sp_jfr_resolve_state(struct sp_jfr_resolver *r, uint64_t key)
{
	const char *name;
	size_t len;
	uint8_t state;

	if (key < SP_COUNT(r->states) && r->states[key])
		return r->states[key] - 1;
	name = sp_dict_get_string(r->dict, resolve_string(r, r->state, key, 0), &len);
	state = state_named(name, len);
	if (key < SP_COUNT(r->states))
		r->states[key] = state + 1;
	return state;
}

/* How the members of a type are laid out, as a hash over @h. */
static uint64_t hash_layout(const struct sp_jfr_resolver *r, int type, uint64_t h)
{
	const struct sp_jfr_schema *s = &r->chunk->schema;
	const struct sp_jfr_decl *t = &s->types[type];

	for (uint32_t i = t->first; i < t->first + t->count; i++) {
		const struct sp_jfr_member *m = &s->members[i];
		uint64_t prim = m->type >= 0 ? s->types[m->type].prim : 255;

		h = (h ^ (prim << 16 | (uint64_t)m->pool << 9 | (uint64_t)m->array << 8 |
				 r->roles[i])) *
		    0xff51afd7ed558ccdull;
		h ^= h >> 32;
		if (r->roles[i] == SP_JFR_R_FRAMES && m->type != type)
			h = hash_layout(r, m->type, h);
	}
	return h;
}

/* Stacks of the chunks before may be those of this one, if they are laid out alike: as ours and all
 * others' are, so that their bytes tell where they end. */
static void expect_stacks(struct sp_jfr_resolver *r)
{
	struct sp_jfr_chunk_data *c = r->chunk;
	const struct sp_jfr_decl *t = r->stack >= 0 ? &c->schema.types[r->stack] : NULL;

	if (!r->known || r->method < 0 || !t || !t->tail || c->raw)
		return;
	r->round = sp_jfr_known_enter(
		r->known, hash_layout(r, r->stack, (uint64_t)t->lead << 32 | t->tail));
	c->known = r->known;
	c->stack = r->stack;
}

static void forget_stacks(struct sp_jfr_table *stacks)
{
	for (uint32_t i = 0; stacks->slots && i <= stacks->mask; i++)
		stacks->slots[i].id = 0;
}

/* They are, with the same methods and the same kinds of frames. */
void sp_jfr_resolver_compare(struct sp_jfr_resolver *r)
{
	const struct sp_jfr_table *methods;
	uint64_t kinds = 0;

	if (!r->chunk->known)
		return;
	for (uint64_t key = 0; key < SP_COUNT(r->frame_types); key++) {
		kinds = (kinds ^ resolve_frame_type(r, key)) * 0xc4ceb9fe1a85ec53ull;
		kinds ^= kinds >> 29;
	}
	sp_jfr_known_kinds(r->known, kinds);
	methods = &r->chunk->tables[r->method];
	for (uint32_t i = 0; methods->slots && i <= methods->mask; i++)
		if (methods->slots[i].at)
			sp_jfr_known_method(r->known, methods->slots[i].key,
				resolve_method(r, methods->slots[i].key));
	if (!sp_jfr_known_since(r->known, r->round))
		forget_stacks(&r->chunk->tables[r->stack]);
}

/* The next number of a frame whose member has that role. @near: numbers alone, and room for each. */
static inline uint64_t frame_number(struct sp_jfr_cursor *c, uint8_t role, bool near)
{
	if (near)
		return sp_jfr_get_near(c);
	return role == SP_JFR_R_LINE || role == SP_JFR_R_BCI ? sp_jfr_get_int(c)
							      : sp_jfr_get_long(c);
}

static inline struct sp_frame_ref read_frame(struct sp_jfr_resolver *r, struct sp_jfr_cursor *c,
	const struct sp_jfr_decl *t, bool near)
{
	struct sp_frame_ref f = {.bci = -1};

	for (uint32_t i = t->first; i < t->first + t->count && !c->bad; i++) {
		uint8_t role = r->roles[i];

		switch (role) {
		case SP_JFR_R_METHOD:
			f.method = resolve_method(r, frame_number(c, role, near));
			break;
		case SP_JFR_R_LINE:
			f.line = (int32_t)frame_number(c, role, near);
			break;
		case SP_JFR_R_BCI:
			f.bci = (int32_t)frame_number(c, role, near);
			break;
		case SP_JFR_R_FRAME_TYPE:
			f.type = resolve_frame_type(r, frame_number(c, role, near));
			break;
		default:
			sp_jfr_schema_skip_member(&r->chunk->schema, c, &r->chunk->schema.members[i]);
		}
	}
	if (r->ours && f.type == SP_FRAME_INTERPRETED && is_python(r, f.method))
		f.type = SP_FRAME_PYTHON;
	if (f.type >= SP_FRAME_NATIVE)
		f.bci = -1;
	return f;
}

/* Frames of a stack; those beyond what the dictionary takes are skipped. Returns how many. */
static uint32_t read_frames(
	struct sp_jfr_resolver *r, struct sp_jfr_cursor *c, int type, int *ret_truncated)
{
	const struct sp_jfr_decl *t = &r->chunk->schema.types[type];
	uint32_t total = sp_jfr_get_int(c), count = 0;
	bool numbers = t->varints == t->count && !c->raw;

	if (!t->flat)
		return 0;
	for (uint32_t n = 0; n < total && !c->bad; n++) {
		bool near = numbers && c->end - c->p >= 9 * (ptrdiff_t)t->count;
		struct sp_frame_ref f =
			near ? read_frame(r, c, t, true) : read_frame(r, c, t, false);

		if (count < SP_DICT_MAX_FRAMES)
			r->frames[count++] = f;
		else
			*ret_truncated = 1;
	}
	return count;
}

/* Decodes a stack. *ret_whole: nothing that it refers to is missing. */
static uint32_t read_stack(struct sp_jfr_resolver *r, uint32_t at, bool *ret_whole)
{
	const struct sp_jfr_schema *s = &r->chunk->schema;
	const struct sp_jfr_decl *t = &s->types[r->stack];
	struct sp_jfr_cursor c = sp_jfr_chunk_at(r->chunk, at);
	uint32_t count = 0;
	int truncated = 0;

	for (uint32_t i = t->first; i < t->first + t->count && !c.bad; i++) {
		if (r->roles[i] == SP_JFR_R_TRUNCATED)
			truncated |= sp_jfr_get_byte(&c) != 0;
		else if (r->roles[i] == SP_JFR_R_FRAMES)
			count = read_frames(r, &c, s->members[i].type, &truncated);
		else
			sp_jfr_schema_skip_member(s, &c, &s->members[i]);
	}
	*ret_whole = !c.bad;
	for (uint32_t i = 0; i < count && *ret_whole; i++)
		*ret_whole = r->frames[i].method != 0;
	return sp_dict_stack(r->dict, r->frames, count, truncated);
}

static void keep_stack(struct sp_jfr_resolver *r, uint64_t key, uint32_t at, uint32_t id)
{
	struct sp_jfr_cursor c = sp_jfr_chunk_at(r->chunk, at);
	const uint8_t *from = c.p;

	sp_jfr_schema_skip(&r->chunk->schema, &c, r->stack);
	if (!c.bad)
		sp_jfr_known_keep(r->known, key, from, (size_t)(c.p - from), id);
}

uint32_t sp_jfr_resolve_stack(struct sp_jfr_resolver *r, uint64_t key)
{
	struct sp_jfr_const *k = find(r, r->stack, key);
	bool whole;

	if (!k)
		return 0;
	if (k->id)
		return k->id - 1;
	k->id = read_stack(r, k->at, &whole) + 1;
	if (whole && r->chunk->known)
		keep_stack(r, key, k->at, k->id - 1);
	return k->id - 1;
}

uint32_t sp_jfr_resolve_thread(struct sp_jfr_resolver *r, uint64_t key)
{
	struct sp_jfr_const *k = find(r, r->thread, key);
	const struct sp_jfr_schema *s = &r->chunk->schema;
	const struct sp_jfr_decl *t;
	struct sp_jfr_cursor c;
	struct sp_thread out = {0};
	uint32_t os_name = 0;

	if (!k)
		return 0;
	if (k->id)
		return k->id - 1;
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
