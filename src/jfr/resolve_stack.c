/* Stacks into the dictionary: see resolve.h. Most of a recording's constants are these, so those of
 * the chunk before are not decoded again, and of others each frame in a few steps. */
#include "jfr/resolve.h"

#include "base/cleanup.h"
#include "jfr/types.h"

#include <ctype.h>

#define PLAIN_MOST 36 /* bytes of a frame of four numbers */

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
			m.class_id = sp_jfr_resolve_name_id(r, f->type, sp_jfr_get_long(&c));
		else if (r->roles[i] == SP_JFR_R_NAME && f->pool)
			m.name_id = sp_jfr_resolve_name_id(r, f->type, sp_jfr_get_long(&c));
		else if (r->roles[i] == SP_JFR_R_DESCRIPTOR)
			m.sig_id = sp_jfr_resolve_name_id(r, f->type, sp_jfr_get_long(&c));
		else if (r->roles[i] == SP_JFR_R_MODIFIERS)
			m.modifiers = (uint16_t)sp_jfr_get_int(&c);
		else
			sp_jfr_schema_skip_member(s, &c, f);
	}
	set_native(r, &m);
	return sp_dict_method(r->dict, &m);
}

static uint32_t find_method(struct sp_jfr_resolver *r, uint64_t key)
{
	struct sp_jfr_const *k = sp_jfr_resolver_find(r, r->method, key);

	if (!k)
		return 0;
	if (!k->id)
		k->id = read_method(r, k) + 1;
	if (key < r->methods.count)
		r->methods.list[key] = k->id;
	return k->id - 1;
}

/* Asked for each frame of each stack. */
static inline uint32_t resolve_method(struct sp_jfr_resolver *r, uint64_t key)
{
	return key < r->methods.count && r->methods.list[key] ? r->methods.list[key] - 1
							      : find_method(r, key);
}

/* Where keys are close to each other their ids do so too: in a quarter of the memory, which the
 * nearest cache has room for. Without memory for them they are looked up, as others are. */
static void expect_ids(struct sp_jfr_resolver *r, struct sp_jfr_ids *ids, int type)
{
	const struct sp_jfr_table *t = type >= 0 ? &r->chunk->tables[type] : NULL;
	size_t count = t && t->slots && t->dense ? (size_t)t->most + 1 : 0;

	if (count > ids->cap) {
		free(ids->list);
		ids->list = malloc(count * sizeof(*ids->list));
		ids->cap = ids->list ? count : 0;
	}
	ids->count = count <= ids->cap ? count : 0;
	if (ids->count)
		memset(ids->list, 0, ids->count * sizeof(*ids->list));
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
	uint32_t id = sp_jfr_resolve_name_id(r, r->frame_type, key);
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

/* The type of frames, if they are laid out as read_plain needs it. */
static const struct sp_jfr_decl *plain_frame(const struct sp_jfr_resolver *r)
{
	static const uint8_t roles[] = {
		SP_JFR_R_METHOD, SP_JFR_R_LINE, SP_JFR_R_BCI, SP_JFR_R_FRAME_TYPE};
	const struct sp_jfr_schema *s = &r->chunk->schema;
	int frame = sp_jfr_schema_named(s, "jdk.types.StackFrame");

	const struct sp_jfr_decl *t = frame >= 0 ? &s->types[frame] : NULL;

	return t && t->count == sizeof(roles) && !r->chunk->raw &&
			       memcmp(&r->roles[t->first], roles, sizeof(roles)) == 0
		       ? t
		       : NULL;
}

/* Stacks of the chunks before may be those of this one, if they are laid out alike: as ours and all
 * others' are, so that their bytes show where they end. */
void sp_jfr_resolver_expect(struct sp_jfr_resolver *r)
{
	struct sp_jfr_chunk_data *c = r->chunk;
	const struct sp_jfr_decl *t = r->stack >= 0 ? &c->schema.types[r->stack] : NULL;

	r->plain = plain_frame(r);
	if (!r->known || r->method < 0 || !t || !t->tail || c->raw)
		return;
	r->round = sp_jfr_stack_cache_enter(
		r->known, hash_layout(r, r->stack, (uint64_t)t->lead << 32 | t->tail));
	c->known = r->known;
	c->stack = r->stack;
}

static void forget_stacks(struct sp_jfr_table *stacks)
{
	for (uint32_t i = 0; stacks->slots && i <= stacks->mask; i++)
		stacks->slots[i].id = 0;
}

/* One after the other is quicker than as events ask for them. */
static void list_stacks(struct sp_jfr_ids *ids, const struct sp_jfr_table *stacks)
{
	for (uint32_t i = 0; stacks->slots && i <= stacks->mask && ids->count; i++)
		if (stacks->slots[i].at && stacks->slots[i].key < ids->count)
			ids->list[stacks->slots[i].key] = stacks->slots[i].id;
}

/* They are, with the same methods and the same kinds of frames. */
void sp_jfr_resolver_compare(struct sp_jfr_resolver *r)
{
	const struct sp_jfr_table *methods;
	uint64_t kinds = 0;

	expect_ids(r, &r->methods, r->method);
	expect_ids(r, &r->stacks, r->stack);
	if (!r->chunk->known)
		return;
	for (uint64_t key = 0; key < SP_COUNT(r->frame_types); key++) {
		kinds = (kinds ^ resolve_frame_type(r, key)) * 0xc4ceb9fe1a85ec53ull;
		kinds ^= kinds >> 29;
	}
	sp_jfr_stack_cache_kinds(r->known, kinds);
	methods = &r->chunk->tables[r->method];
	for (uint32_t i = 0; methods->slots && i <= methods->mask; i++)
		if (methods->slots[i].at)
			sp_jfr_stack_cache_method(r->known, methods->slots[i].key,
				resolve_method(r, methods->slots[i].key));
	if (sp_jfr_stack_cache_since(r->known, r->round))
		list_stacks(&r->stacks, &r->chunk->tables[r->stack]);
	else
		forget_stacks(&r->chunk->tables[r->stack]);
}

static struct sp_frame_ref read_frame(
	struct sp_jfr_resolver *r, struct sp_jfr_cursor *c, const struct sp_jfr_decl *t)
{
	struct sp_frame_ref f = {.bci = -1};

	for (uint32_t i = t->first; i < t->first + t->count && !c->bad; i++) {
		switch (r->roles[i]) {
		case SP_JFR_R_METHOD:
			f.method = resolve_method(r, sp_jfr_get_long(c));
			break;
		case SP_JFR_R_LINE:
			f.line = (int32_t)sp_jfr_get_int(c);
			break;
		case SP_JFR_R_BCI:
			f.bci = (int32_t)sp_jfr_get_int(c);
			break;
		case SP_JFR_R_FRAME_TYPE:
			f.type = resolve_frame_type(r, sp_jfr_get_long(c));
			break;
		default:
			sp_jfr_schema_skip_member(
				&r->chunk->schema, c, &r->chunk->schema.members[i]);
		}
	}
	return f;
}

static size_t pack_frame(struct sp_jfr_resolver *r, struct sp_frame_ref f, uint8_t *to)
{
	if (f.type == SP_FRAME_INTERPRETED && r->ours && is_python(r, f.method))
		f.type = SP_FRAME_PYTHON;
	if (f.type >= SP_FRAME_NATIVE)
		f.bci = -1;
	return sp_dict_pack_frame(&f, to);
}

/* A frame as all recorders lay it out: four numbers, for which there is room. */
static inline struct sp_frame_ref read_plain(struct sp_jfr_resolver *r, struct sp_jfr_cursor *c)
{
	struct sp_frame_ref f = {.method = resolve_method(r, sp_jfr_get_near(c))};

	f.line = (int32_t)sp_jfr_get_near(c);
	f.bci = (int32_t)sp_jfr_get_near(c);
	f.type = resolve_frame_type(r, sp_jfr_get_near(c));
	return f;
}

/* Frames of a stack; those beyond what the dictionary takes are skipped. Returns the bytes that
 * they take. */
static size_t read_frames(struct sp_jfr_resolver *r, struct sp_jfr_cursor *at, int type,
	int *ret_truncated, bool *ret_whole)
{
	const struct sp_jfr_decl *t = &r->chunk->schema.types[type];
	struct sp_jfr_cursor c = *at;
	uint32_t total = sp_jfr_get_int(&c), methods = UINT32_MAX;
	bool plain = t == r->plain;
	uint8_t *to = r->packed;

	for (uint32_t n = 0; n < total && !c.bad && t->flat; n++) {
		struct sp_frame_ref f = plain && c.end - c.p >= PLAIN_MOST ? read_plain(r, &c)
									   : read_frame(r, &c, t);

		if (n >= SP_DICT_MAX_FRAMES) {
			*ret_truncated = 1;
			continue;
		}
		to += pack_frame(r, f, to);
		methods = f.method < methods ? f.method : methods;
	}
	*ret_whole &= methods != 0;
	*at = c;
	return (size_t)(to - r->packed);
}

/* Decodes a stack. *ret_len: how many bytes it has there; 0: something that it refers to is
 * missing. */
static uint32_t read_stack(struct sp_jfr_resolver *r, uint32_t at, size_t *ret_len)
{
	const struct sp_jfr_schema *s = &r->chunk->schema;
	const struct sp_jfr_decl *t = &s->types[r->stack];
	struct sp_jfr_cursor c = sp_jfr_chunk_at(r->chunk, at);
	const uint8_t *from = c.p;
	bool whole = true;
	int truncated = 0;
	size_t len = 0;

	for (uint32_t i = t->first; i < t->first + t->count && !c.bad; i++) {
		if (r->roles[i] == SP_JFR_R_TRUNCATED)
			truncated |= sp_jfr_get_byte(&c) != 0;
		else if (r->roles[i] == SP_JFR_R_FRAMES)
			len = read_frames(r, &c, s->members[i].type, &truncated, &whole);
		else
			sp_jfr_schema_skip_member(s, &c, &s->members[i]);
	}
	*ret_len = whole && !c.bad ? (size_t)(c.p - from) : 0;
	return sp_dict_packed(r->dict, r->packed, len, truncated);
}

uint32_t sp_jfr_read_stack(struct sp_jfr_resolver *r, uint64_t key)
{
	struct sp_jfr_const *k = sp_jfr_resolver_find(r, r->stack, key);
	size_t len;

	if (!k)
		return 0;
	if (!k->id) {
		k->id = read_stack(r, k->at, &len) + 1;
		if (len && r->chunk->known)
			sp_jfr_stack_cache_keep(
				r->known, key, r->chunk->data + k->at, len, k->id - 1);
	}
	if (key < r->stacks.count)
		r->stacks.list[key] = k->id;
	return k->id - 1;
}
