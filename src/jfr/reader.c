/* The JFR reader: see reader.h. Chunk by chunk: header, types, places of constants (chunk.c), then
 * event by event, constants resolved as they are met (resolve.c). Called by the launcher's reports.
 */
#include "jfr/reader.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "jfr/put.h"
#include "jfr/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPE_MAX (1ull << 32)

/* The file, by pieces; a pipe is read whole first. */
struct source {
	int fd;
	uint64_t size;
	struct sp_buf all; /* a pipe's contents */
	bool whole;
	uint8_t *piece; /* owned */
	size_t cap;
};

struct reader {
	struct source src;
	struct sp_jfr_resolver res;
	const struct sp_jfr_visitor *v;
	struct sp_jfr_stats stats;
	struct sp_jfr_value values[SP_JFR_VALUES];
	struct sp_jfr_event event;
	struct sp_err first; /* the first damage */
	bool damaged;
};

static int source_open(struct source *s, int fd, struct sp_err *err)
{
	struct stat st;
	int r;

	memset(s, 0, sizeof(*s));
	s->fd = fd;
	sp_buf_init(&s->all);
	if (fstat(fd, &st) < 0)
		return sp_err_set(err, -errno, "the recording cannot be read: %s", strerror(errno));
	s->size = (uint64_t)st.st_size;
	if (S_ISREG(st.st_mode))
		return 0;
	s->whole = true;
	r = sp_buf_read_fd(&s->all, fd, PIPE_MAX);
	s->size = s->all.len;
	return r < 0 ? sp_err_set(err, r, "the recording cannot be read: %s", strerror(-r)) : 0;
}

static void source_done(struct source *s)
{
	sp_buf_done(&s->all);
	free(s->piece);
}

/* @len bytes at @offset, fewer if the file has become shorter. Returns how many, or -errno. */
static int64_t source_get(struct source *s, uint64_t offset, uint64_t len, const uint8_t **ret)
{
	uint64_t got = 0;

	if (s->whole) {
		*ret = (const uint8_t *)s->all.data + offset;
		return (int64_t)len;
	}
	if (len > s->cap) {
		free(s->piece);
		s->cap = 0;
		s->piece = malloc(len);
		if (!s->piece)
			return -ENOMEM;
		s->cap = len;
	}
	while (got < len) {
		ssize_t n = pread(s->fd, s->piece + got, len - got, (off_t)(offset + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (uint64_t)n;
	}
	*ret = s->piece;
	return (int64_t)got;
}

static void note_damage(struct reader *r, const struct sp_err *what)
{
	if (!r->damaged)
		r->first = *what;
	r->damaged = true;
}

static uint64_t to_ns(const struct sp_jfr_chunk_data *c, uint64_t ticks)
{
	if (c->ticks_per_s == 1000000000 || c->ticks_per_s == 0)
		return ticks;
	return (uint64_t)((__int128)(int64_t)ticks * 1000000000 / (int64_t)c->ticks_per_s);
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
			v->u = to_ns(r->res.chunk, v->u);
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
		e->start_ns =
			chunk->start_ns + to_ns(chunk, sp_jfr_get_long(c) - chunk->start_ticks);
		break;
	case SP_JFR_R_DURATION:
		e->duration_ns = sp_jfr_get_long(c);
		if (m->ticks)
			e->duration_ns = to_ns(chunk, e->duration_ns);
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

static int read_event(struct reader *r, struct sp_jfr_cursor *c, const struct sp_jfr_decl *t)
{
	sp_buf_clear(&r->res.scratch);
	if (!sp_buf_reserve(&r->res.scratch, 4 * (size_t)(c->end - c->p) + 64))
		return -ENOMEM;
	r->event = (struct sp_jfr_event){.type = t->name, .wanted = t->wanted, .values = r->values};
	read_struct(r, c, t);
	if (c->bad)
		return -EBADMSG;
	r->stats.events++;
	return r->v->event(r->v->ctx, &r->event);
}

static int read_events(struct reader *r, struct sp_jfr_chunk_data *c, struct sp_err *err)
{
	uint64_t at = SP_JFR_HEADER, start = at, type;
	struct sp_jfr_cursor cur;
	int n;

	while ((n = sp_jfr_chunk_next(c, &at, &cur, &type)) > 0) {
		int i = sp_jfr_schema_find(&c->schema, type);
		const struct sp_jfr_decl *t = i >= 0 ? &c->schema.types[i] : NULL;

		if (t && t->event && t->wanted) {
			n = read_event(r, &cur, t);
			if (n == -EBADMSG)
				break;
			if (n != 0)
				return n;
		} else if (type > SP_JFR_CHECKPOINT) {
			r->stats.skipped++;
		}
		start = at;
	}
	if (n == 0 || c->unfinished) /* a killed writer leaves half an event */
		return 0;
	return sp_err_set(err, -EBADMSG, "the event at offset %llu cannot be read",
		(unsigned long long)(c->offset + start));
}

static void choose_types(struct reader *r, struct sp_jfr_schema *s)
{
	for (uint32_t i = 0; i < s->type_count; i++) {
		struct sp_jfr_decl *t = &s->types[i];

		t->wanted = !t->event ? 0 : r->v->want ? r->v->want(r->v->ctx, t->name) : 1;
	}
}

static void count_chunk(struct reader *r, const struct sp_jfr_chunk_data *c)
{
	struct sp_jfr_stats *st = &r->stats;
	uint64_t end_ns = c->start_ns + c->duration_ns;

	st->chunks++;
	st->unfinished += c->unfinished;
	if (!st->start_ns || c->start_ns < st->start_ns)
		st->start_ns = c->start_ns;
	if (end_ns > st->end_ns)
		st->end_ns = end_ns;
}

/* Everything in one chunk. Damage is noted, not returned. */
static int read_chunk(struct reader *r, struct sp_jfr_chunk_data *c, struct sp_err *err)
{
	int n = sp_jfr_chunk_load(c, err);

	count_chunk(r, c);
	if (n == -EBADMSG)
		note_damage(r, err);
	if (n == 0 || (n == -EBADMSG && c->tables)) {
		n = sp_jfr_resolver_enter(&r->res, c);
		if (n == 0) {
			choose_types(r, &c->schema);
			n = read_events(r, c, err);
		}
		if (n == -EBADMSG)
			note_damage(r, err);
	}
	sp_jfr_chunk_done(c);
	return n == -EBADMSG ? 0 : n;
}

/* Where the next chunk starts at or behind @at; the file's size if there is none. */
static int64_t find_chunk(struct source *s, uint64_t at)
{
	const uint8_t *p, *hit;

	while (at + SP_JFR_HEADER <= s->size) {
		uint64_t len = s->size - at < 1 << 20 ? s->size - at : 1 << 20;
		int64_t got = source_get(s, at, len, &p);

		if (got < 6)
			return got < 0 ? got : (int64_t)s->size;
		hit = memmem(p, (size_t)got, "FLR\0\0", 5);
		if (hit)
			return (int64_t)(at + (uint64_t)(hit - p));
		at += (uint64_t)got - 4;
		if ((uint64_t)got < len || at + 5 > s->size)
			break;
	}
	return (int64_t)s->size;
}

/* How many bytes of the chunk at @at to load: what its header says, at most what there is. */
static int64_t load_chunk(struct source *s, uint64_t at, const uint8_t **ret)
{
	struct sp_jfr_cursor h;
	int64_t got =
		source_get(s, at, SP_JFR_HEADER < s->size - at ? SP_JFR_HEADER : s->size - at, ret);
	uint64_t size;

	if (got < SP_JFR_HEADER)
		return got;
	h = (struct sp_jfr_cursor){.p = *ret + 8, .end = *ret + SP_JFR_HEADER};
	size = sp_jfr_get_be(&h, 8);
	if (size < SP_JFR_HEADER || size > s->size - at)
		size = s->size - at;
	return source_get(s, at, size, ret);
}

static int read_all(struct reader *r, struct sp_err *err)
{
	struct source *s = &r->src;
	uint64_t at = 0;

	while (at < s->size) {
		struct sp_jfr_chunk_data c;
		const uint8_t *data;
		int64_t got = load_chunk(s, at, &data), next;
		bool killed;
		int n;

		if (got < 0)
			return sp_err_set(err, (int)got, "the recording cannot be read: %s",
				strerror((int)-got));
		n = sp_jfr_chunk_open(&c, data, (uint64_t)got, at, err);
		killed = n == 0 && c.unfinished;
		if (n < 0) {
			note_damage(r, err);
			next = find_chunk(s, at + 1);
		} else {
			n = read_chunk(r, &c, err);
			if (n != 0)
				return n;
			at += c.len;
			next = killed ? find_chunk(s, at) : (int64_t)at;
		}
		if (next < 0)
			return sp_err_set(err, (int)next, "the recording cannot be read");
		at = (uint64_t)next;
	}
	return 0;
}

int sp_jfr_read(int fd, struct sp_dict *dict, const struct sp_jfr_visitor *v,
	struct sp_jfr_stats *ret, struct sp_err *err)
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
	n = source_open(&r->src, fd, err);
	if (n == 0 && r->src.size < SP_JFR_HEADER)
		n = sp_err_set(err, -EBADMSG, "not a recording: only %llu bytes",
			(unsigned long long)r->src.size);
	if (n == 0 && sp_jfr_resolver_init(&r->res, dict) < 0)
		n = sp_err_set(err, -ENOMEM, "no memory for reading the recording");
	if (n == 0)
		n = read_all(r, err);
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
	source_done(&r->src);
	free(r);
	return n;
}
