/* The JFR reader: see reader.h. Chunk by chunk: header, types, places of constants (chunk.c), then
 * event by event, constants resolved as they are met (resolve.c). Called by the launcher's reports.
 */
#include "jfr/reader.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "jfr/chunk_source.h"
#include "jfr/decode_plan.h"
#include "jfr/encode.h"
#include "jfr/resolve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define PLANS 32 /* types read by a plan; others are read whole */

#define RELAX (4u << 20) /* bytes of events after which memory is given back */

struct reader {
	struct sp_jfr_chunk_source src;
	struct sp_jfr_resolver res;
	const struct sp_jfr_visitor *v;
	struct sp_jfr_stats stats;
	struct sp_jfr_value values[SP_JFR_VALUES];
	struct sp_jfr_event event;
	struct sp_jfr_decode_plan plans[PLANS];
	uint8_t plan_count;
	struct sp_jfr_batch batch;
	struct sp_err first; /* the first damage */
	bool damaged;
};

static void note_damage(struct reader *r, const struct sp_err *what)
{
	if (!r->damaged)
		r->first = *what;
	r->damaged = true;
}

static struct sp_jfr_value *add_value(struct reader *r, const struct sp_jfr_member *m)
{
	struct sp_jfr_value *v;

	if (r->event.count == SP_JFR_VALUES)
		return NULL;
	v = &r->values[r->event.count++];
	*v = (struct sp_jfr_value){.name = m->name, .s = ""};
	return v;
}

static void read_number(struct reader *r, struct sp_jfr_cursor *c, const struct sp_jfr_member *m,
	uint8_t prim, struct sp_jfr_value *v)
{
	uint32_t bits;

	v->kind = SP_JFR_V_INT;
	switch (prim) {
	case SP_JFR_P_BOOLEAN:
		v->u = sp_jfr_get_byte(c) != 0;
		break;
	case SP_JFR_P_BYTE:
		v->u = (uint64_t)(int64_t)(int8_t)sp_jfr_get_byte(c);
		break;
	case SP_JFR_P_CHAR:
	case SP_JFR_P_SHORT:
		v->u = sp_jfr_get_short(c);
		break;
	case SP_JFR_P_INT:
		v->u = (uint64_t)(int64_t)(int32_t)sp_jfr_get_int(c);
		break;
	case SP_JFR_P_FLOAT:
		v->kind = SP_JFR_V_FLOAT;
		bits = (uint32_t)sp_jfr_get_be(c, 4);
		v->f = (double)((union {
			uint32_t u;
			float f;
		}){bits})
			       .f;
		break;
	case SP_JFR_P_DOUBLE:
		v->kind = SP_JFR_V_FLOAT;
		v->f = ((union {
			uint64_t u;
			double f;
		}){sp_jfr_get_be(c, 8)})
			       .f;
		break;
	default:
		v->u = sp_jfr_get_long(c);
		if (m->ticks)
			v->u = sp_jfr_to_ns(r->res.chunk, v->u);
		else if (m->millis)
			v->u *= 1000000;
	}
}

static void read_struct(struct reader *r, struct sp_jfr_cursor *c, const struct sp_jfr_decl *t);

/* A field that has no role: into the values. */
static void read_other(struct reader *r, struct sp_jfr_cursor *c, const struct sp_jfr_member *m)
{
	const struct sp_jfr_schema *s = &r->res.chunk->schema;
	const struct sp_jfr_decl *t = m->type >= 0 ? &s->types[m->type] : NULL;
	struct sp_jfr_value *v;
	struct sp_jfr_text text;

	if (t && !m->pool && !m->array && t->prim == SP_JFR_P_STRUCT && t->flat &&
		t->flat <= SP_JFR_VALUES) {
		read_struct(r, c, t);
		return;
	}
	v = add_value(r, m);
	if (!v || !t || m->array || (!m->pool && t->prim == SP_JFR_P_STRUCT)) {
		sp_jfr_schema_skip_member(s, c, m);
	} else if (m->pool) {
		v->s = sp_jfr_resolve_name(&r->res, m->type, sp_jfr_get_long(c), &v->len);
		v->kind = v->s ? SP_JFR_V_TEXT : SP_JFR_V_NONE;
	} else if (t->prim == SP_JFR_P_STRING) {
		text = sp_jfr_get_text(c);
		v->s = sp_jfr_resolve_text(&r->res, &text, &v->len);
		v->kind = v->s ? SP_JFR_V_TEXT : SP_JFR_V_NONE;
	} else {
		read_number(r, c, m, t->prim, v);
	}
	if (v && !v->s)
		v->s = "";
}

static void read_member(struct reader *r, struct sp_jfr_cursor *c, uint32_t i)
{
	const struct sp_jfr_chunk_data *chunk = r->res.chunk;
	const struct sp_jfr_member *m = &chunk->schema.members[i];
	struct sp_jfr_event *e = &r->event;

	switch (r->res.roles[i]) {
	case SP_JFR_R_START:
		e->start_ns = chunk->start_ns +
			      sp_jfr_to_ns(chunk, sp_jfr_get_long(c) - chunk->start_ticks);
		break;
	case SP_JFR_R_DURATION:
		e->duration_ns = sp_jfr_get_long(c);
		if (m->ticks)
			e->duration_ns = sp_jfr_to_ns(chunk, e->duration_ns);
		break;
	case SP_JFR_R_THREAD:
		e->thread = sp_jfr_resolve_thread(&r->res, sp_jfr_get_long(c));
		break;
	case SP_JFR_R_STACK:
		e->stack = sp_jfr_resolve_stack(&r->res, sp_jfr_get_long(c));
		break;
	case SP_JFR_R_STATE:
		e->state = sp_jfr_resolve_state(&r->res, sp_jfr_get_long(c));
		break;
	default:
		read_other(r, c, m);
	}
}

static void read_struct(struct reader *r, struct sp_jfr_cursor *c, const struct sp_jfr_decl *t)
{
	for (uint32_t i = t->first; i < t->first + t->count && !c->bad; i++)
		read_member(r, c, i);
}

/* What a visitor picks of an event that had to be read whole. */
static void pick_values(struct reader *r, const char *const *fields)
{
	struct sp_jfr_event *e = &r->event;

	for (int i = 0; fields && fields[i] && i < SP_JFR_PICKS; i++) {
		for (uint32_t v = 0; v < e->count; v++) {
			const struct sp_jfr_value *x = &e->values[v];

			if (strcmp(x->name, fields[i]) != 0)
				continue;
			e->picked[i] = x->kind == SP_JFR_V_TEXT
					       ? sp_dict_string(r->res.dict, x->s, x->len)
					       : x->u;
		}
	}
}

static int read_event(struct reader *r, struct sp_jfr_cursor *c, const struct sp_jfr_decl *t)
{
	if (t->plan) {
		r->event = (struct sp_jfr_event){.type = t->name, .wanted = t->wanted};
		sp_jfr_decode_plan_read(&r->plans[t->plan - 1], &r->res, c, &r->event);
		if (c->bad)
			return -EBADMSG;
		r->stats.events++;
		return r->v->event(r->v->ctx, &r->event);
	}
	sp_buf_clear(&r->res.scratch);
	if (!sp_buf_reserve(&r->res.scratch, 4 * (size_t)(c->end - c->p) + 64))
		return -ENOMEM;
	r->event = (struct sp_jfr_event){.type = t->name, .wanted = t->wanted, .values = r->values};
	read_struct(r, c, t);
	if (c->bad)
		return -EBADMSG;
	if (r->v->fields)
		pick_values(r, r->v->fields(r->v->ctx, t->wanted));
	r->stats.events++;
	return r->v->event(r->v->ctx, &r->event);
}

/* Gives the events of the batch. Returns 0, or what the visitor stopped with. */
static int give_batch(struct reader *r)
{
	int n = 0;

	for (unsigned i = 0; i < r->batch.count && n == 0; i++) {
		sp_jfr_batch_get(&r->batch, i, &r->res, &r->event);
		r->stats.events++;
		n = r->v->event(r->v->ctx, &r->event);
	}
	return n;
}

/* The event at *at, whatever it is; *ret_end: there is none. Returns as the visitor, or -EBADMSG.
 */
static int read_alone(struct reader *r, struct sp_jfr_chunk_data *c, uint64_t *at, bool *ret_end)
{
	struct sp_jfr_cursor cur;
	uint64_t type;
	int n = sp_jfr_chunk_next(c, at, &cur, &type);
	int i = n > 0 ? sp_jfr_schema_find(&c->schema, type) : -1;
	const struct sp_jfr_decl *t = i >= 0 ? &c->schema.types[i] : NULL;

	*ret_end = n == 0;
	if (n <= 0)
		return n;
	if (t && t->event && t->wanted)
		return read_event(r, &cur, t);
	r->stats.skipped += type > SP_JFR_CHECKPOINT;
	return 0;
}

static int read_events(struct reader *r, struct sp_jfr_chunk_data *c, struct sp_err *err)
{
	uint64_t at = SP_JFR_HEADER, start = at, relaxed = at;
	bool end = false;
	int n = 0;

	while (n == 0 && !end) {
		start = at = sp_jfr_batch_read(&r->batch, r->plans, &r->res, at, relaxed + RELAX);
		n = give_batch(r);
		if (n == 0 && r->batch.count < SP_JFR_BATCH)
			n = read_alone(r, c, &at, &end);
		if (at - relaxed > RELAX) {
			sp_jfr_chunk_source_relax(&r->src);
			relaxed = at;
		}
	}
	r->stats.skipped += r->batch.skipped;
	r->batch.skipped = 0;
	if (n != -EBADMSG)
		return n;
	if (c->unfinished) /* a killed writer leaves half an event */
		return 0;
	return sp_err_set(
		err, n, "the event at offset %" PRIu64 " cannot be read", c->offset + start);
}

/* How events of each type are read. */
static void choose_ways(struct reader *r, const struct sp_jfr_schema *s)
{
	for (unsigned type = 0; type < SP_COUNT(r->batch.ways); type++) {
		int i = sp_jfr_schema_find(s, type);
		const struct sp_jfr_decl *t = i >= 0 && s->types[i].event ? &s->types[i] : NULL;
		uint8_t way = SP_JFR_ALONE;

		if (type > SP_JFR_CHECKPOINT && !(t && t->wanted))
			way = SP_JFR_SKIP;
		else if (type > SP_JFR_CHECKPOINT && t->plan && r->plans[t->plan - 1].numbers)
			way = (uint8_t)(SP_JFR_PLAN + t->plan - 1);
		r->batch.ways[type] = way;
	}
}

/* Returns 0, or what the visitor wants less than nothing with. */
static int choose_types(struct reader *r, struct sp_jfr_schema *s)
{
	r->plan_count = 0;
	for (uint32_t i = 0; i < s->type_count; i++) {
		struct sp_jfr_decl *t = &s->types[i];

		const char *const *fields;

		t->wanted = !t->event ? 0 : r->v->want ? r->v->want(r->v->ctx, t->name) : 1;
		t->plan = 0;
		if (t->wanted < 0)
			return t->wanted;
		fields = t->wanted && r->v->fields ? r->v->fields(r->v->ctx, t->wanted) : NULL;
		if (fields && r->plan_count < PLANS &&
			sp_jfr_decode_plan_make(&r->plans[r->plan_count], &r->res, t, fields))
			t->plan = ++r->plan_count;
	}
	choose_ways(r, s);
	return 0;
}

static void count_chunk(struct reader *r, const struct sp_jfr_chunk_data *c)
{
	struct sp_jfr_stats *st = &r->stats;
	uint64_t end_ns = c->start_ns + c->duration_ns;

	st->chunks++;
	/* Where a file that is being written to has a hole, nothing is missing. */
	st->unfinished += c->unfinished && (!c->whole || c->whole > r->src.size - c->offset);
	if (!st->start_ns || c->start_ns < st->start_ns)
		st->start_ns = c->start_ns;
	if (end_ns > st->end_ns)
		st->end_ns = end_ns;
}

/* Whether the chunk has an event of a type that the visitor wants. */
static bool holds_wanted(struct reader *r, struct sp_jfr_chunk_data *c)
{
	struct sp_jfr_schema *s = &c->schema;
	struct sp_jfr_cursor cur;
	uint64_t at = SP_JFR_HEADER, type;
	bool declared = false, found = false;

	for (uint32_t i = 0; i < s->type_count; i++) {
		struct sp_jfr_decl *t = &s->types[i];

		t->wanted = t->event ? r->v->want(r->v->ctx, t->name) : 0;
		t->plan = 0;
		declared |= t->wanted != 0;
	}
	choose_ways(r, s);
	r->res.chunk = c;
	while (declared && !found) {
		int i;

		at = sp_jfr_batch_read(&r->batch, r->plans, &r->res, at, c->len);
		if (sp_jfr_chunk_next(c, &at, &cur, &type) <= 0)
			break;
		i = sp_jfr_schema_find(s, type);
		found = i >= 0 && s->types[i].wanted;
	}
	r->batch.skipped = 0;
	return found;
}

/* Everything in one chunk. Damage is noted, not returned. */
static int read_chunk(struct reader *r, struct sp_jfr_chunk_data *c, struct sp_err *err)
{
	int n = sp_jfr_chunk_types(c, err);

	if (n == 0 && r->v->rare && !holds_wanted(r, c)) {
		count_chunk(r, c);
		sp_jfr_chunk_done(c);
		return 0;
	}
	if (n == 0)
		n = sp_jfr_resolver_enter(&r->res, c);
	if (n == 0)
		n = choose_types(r, &c->schema);
	if (n == 0)
		n = sp_jfr_chunk_load(c, err);

	count_chunk(r, c);
	if (n == -EBADMSG)
		note_damage(r, err);
	if (n == 0 || (n == -EBADMSG && c->tables)) {
		sp_jfr_chunk_source_relax(&r->src);
		sp_jfr_resolver_compare(&r->res);
		n = read_events(r, c, err);
		if (n == -EBADMSG)
			note_damage(r, err);
	}
	sp_jfr_chunk_done(c);
	return n == -EBADMSG ? 0 : n;
}

static int read_all(struct reader *r, uint64_t at, uint64_t to, struct sp_err *err)
{
	struct sp_jfr_chunk_source *s = &r->src;

	while (at < s->size && at < to) {
		struct sp_jfr_chunk_data c;
		const uint8_t *data;
		int64_t got = sp_jfr_chunk_source_chunk(s, at, &data), next;
		bool killed;
		int n;

		if (got < 0)
			return sp_err_set(err, (int)got, "the recording cannot be read: %s",
				strerror((int)-got));
		n = sp_jfr_chunk_open(&c, data, (uint64_t)got, at, err);
		killed = n == 0 && c.unfinished;
		if (n < 0) {
			note_damage(r, err);
			next = sp_jfr_chunk_source_find(s, at + 1);
		} else {
			n = read_chunk(r, &c, err);
			if (n != 0)
				return n;
			at += c.len;
			next = killed ? sp_jfr_chunk_source_find(s, at) : (int64_t)at;
		}
		if (next < 0)
			return sp_err_set(err, (int)next, "the recording cannot be read");
		at = (uint64_t)next;
	}
	return 0;
}

int sp_jfr_read_part(int fd, uint64_t from, uint64_t to, struct sp_dict *dict,
	const struct sp_jfr_visitor *v, struct sp_jfr_stats *ret, struct sp_err *err)
{
	struct sp_err own;
	struct reader *r = calloc(1, sizeof(*r));
	uint64_t refused = sp_dict_refused(dict);
	int n;

	if (!err)
		err = &own;
	if (!r)
		return sp_err_set(err, -ENOMEM, "no memory for reading the recording");
	r->v = v;
	n = sp_jfr_chunk_source_open(&r->src, fd, err);
	if (n == 0 && r->src.size < SP_JFR_HEADER)
		n = sp_err_set(err, -EBADMSG, "not a recording: only %llu bytes",
			(unsigned long long)r->src.size);
	if (n == 0 && sp_jfr_resolver_init(&r->res, dict) < 0)
		n = sp_err_set(err, -ENOMEM, "no memory for reading the recording");
	r->res.known = v->known;
	if (n == 0)
		n = read_all(r, from, to, err);
	if (n == -ENOMEM)
		sp_err_set(err, n, "no memory for reading the recording");
	if (n == 0 && r->damaged) {
		*err = r->first;
		n = -EBADMSG;
	}
	r->stats.bytes = r->src.size;
	r->stats.dropped = sp_dict_refused(dict) - refused;
	if (ret)
		*ret = r->stats;
	sp_jfr_resolver_done(&r->res);
	sp_jfr_chunk_source_done(&r->src);
	free(r);
	return n;
}

int sp_jfr_read(int fd, struct sp_dict *dict, const struct sp_jfr_visitor *v,
	struct sp_jfr_stats *ret, struct sp_err *err)
{
	return sp_jfr_read_part(fd, 0, UINT64_MAX, dict, v, ret, err);
}

const struct sp_jfr_value *sp_jfr_value_of(const struct sp_jfr_event *e, const char *name)
{
	for (uint32_t i = 0; i < e->count; i++)
		if (strcmp(e->values[i].name, name) == 0)
			return &e->values[i];
	return NULL;
}
