/* Renames native frames in a recording: see rewrite.h. Events are copied byte by byte; checkpoints
 * are written again with the changed methods and the new symbols, chained backwards as the JDK does
 * it. Nothing else in a chunk depends on its place. */
#include "jfr/rewrite.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "jfr/chunk.h"
#include "jfr/chunk_source.h"
#include "jfr/encode.h"
#include "jfr/redact_jfr.h"
#include "jfr/types.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define SPILL	(1u << 20)
#define NEW_KEY (1ull << 40) /* keys of symbols that the rewriter makes; never used twice */

struct rewriter {
	int out;
	uint64_t at; /* bytes of the output before @buf */
	struct sp_buf buf;
	struct sp_buf pools;   /* the checkpoint that is being made */
	struct sp_buf symbols; /* its new symbols */
	uint32_t symbol_count;
	uint64_t next_key, plain_key; /* plain_key: "()L;" in this chunk, 0 not yet */
	uint64_t last_checkpoint;     /* in the output chunk, 0 none */
	struct sp_jfr_chunk_data *c;
	int symbol, cls, method;
	bool redact;
	sp_jfr_name_fn *name;
	void *ctx;
	struct sp_jfr_rewrite_stats stats;
	int error;
};

static void put_at(struct rewriter *w, uint64_t offset, const void *data, size_t len)
{
	const char *p = data;

	while (len && !w->error) {
		ssize_t n = pwrite(w->out, p, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			w->error = n < 0 ? -errno : -EIO;
			return;
		}
		p += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
}

static void spill(struct rewriter *w)
{
	if (w->buf.failed)
		w->error = w->error ? w->error : -ENOMEM;
	put_at(w, w->at, w->buf.data, w->buf.len);
	w->at += w->buf.len;
	sp_buf_clear(&w->buf);
}

static void put(struct rewriter *w, const void *data, size_t len)
{
	sp_buf_add(&w->buf, data, len);
	if (w->buf.len >= SPILL)
		spill(w);
}

static void add_long(struct sp_buf *b, uint64_t v)
{
	uint8_t *p = sp_buf_reserve(b, SP_JFR_MAX_LONG);

	if (p)
		b->len += (size_t)(sp_jfr_put_long(p, v) - p);
}

/* A new symbol of the checkpoint; returns its key. */
static uint64_t add_symbol(struct rewriter *w, const char *text)
{
	add_long(&w->symbols, w->next_key);
	sp_buf_addc(&w->symbols, SP_JFR_STR_UTF8);
	add_long(&w->symbols, strlen(text));
	sp_buf_adds(&w->symbols, text);
	w->symbol_count++;
	return w->next_key++;
}

/* The text of the string member @name of constant @key, or of the symbol it refers to. Returns
 * false if it does not fit into @to or is not UTF-8 or ASCII. */
static bool get_name(struct rewriter *w, int type, uint64_t key, char *to, size_t cap, int depth)
{
	const struct sp_jfr_schema *s = &w->c->schema;
	const struct sp_jfr_const *k =
		type >= 0 ? sp_jfr_table_find(&w->c->tables[type], key) : NULL;
	struct sp_jfr_cursor c;

	if (!k || depth > 2)
		return false;
	c = sp_jfr_chunk_at(w->c, k->at);
	for (uint32_t i = s->types[type].first; i < s->types[type].first + s->types[type].count;
		i++) {
		const struct sp_jfr_member *m = &s->members[i];
		struct sp_jfr_text t;

		if (m->pool && !m->array && strcmp(m->name, "name") == 0)
			return get_name(w, m->type, sp_jfr_get_long(&c), to, cap, depth + 1);
		if (m->pool || m->array || m->type < 0 ||
			s->types[m->type].prim != SP_JFR_P_STRING) {
			sp_jfr_schema_skip_member(s, &c, m);
			continue;
		}
		t = sp_jfr_get_text(&c);
		if (t.encoding == SP_JFR_STR_UTF16 || t.encoding == SP_JFR_STR_POOL || t.len >= cap)
			return false;
		if (t.len)
			memcpy(to, t.data, t.len);
		to[t.len] = '\0';
		return true;
	}
	return false;
}

/* A method constant taken apart. */
struct method {
	uint64_t cls, name, descriptor;
	int cls_type, name_type, descriptor_type;
};

static void read_method(struct rewriter *w, struct sp_jfr_cursor *c, struct method *m)
{
	const struct sp_jfr_schema *s = &w->c->schema;
	const struct sp_jfr_decl *t = &s->types[w->method];

	*m = (struct method){.cls_type = -1, .name_type = -1, .descriptor_type = -1};
	for (uint32_t i = t->first; i < t->first + t->count && !c->bad; i++) {
		const struct sp_jfr_member *f = &s->members[i];

		if (!f->pool || f->array) {
			sp_jfr_schema_skip_member(s, c, f);
			continue;
		}
		if (strcmp(f->name, "type") == 0) {
			m->cls_type = f->type;
			m->cls = sp_jfr_get_long(c);
		} else if (strcmp(f->name, "name") == 0) {
			m->name_type = f->type;
			m->name = sp_jfr_get_long(c);
		} else if (strcmp(f->name, "descriptor") == 0) {
			m->descriptor_type = f->type;
			m->descriptor = sp_jfr_get_long(c);
		} else {
			sp_jfr_get_long(c);
		}
	}
}

/* The readable name of a native function, or NULL. Native functions have no descriptor; a Java
 * method's is never empty. */
static const char *readable_name(struct rewriter *w, const struct method *m)
{
	char module[256], name[1024];
	const char *found;

	if (!get_name(w, m->name_type, m->name, name, sizeof(name), 0) || name[0] != '_' ||
		(name[1] != 'Z' && name[1] != 'R') ||
		!get_name(w, m->cls_type, m->cls, module, sizeof(module), 0))
		return NULL;
	found = w->name(w->ctx, module, 0, "", name);
	w->stats.renamed += found != NULL;
	return found;
}

/* The new name of a method that is module + offset, or mangled, or NULL. */
static const char *new_name(struct rewriter *w, const struct method *m)
{
	char module[256], name[64], descriptor[160], *end;
	size_t len;
	uint64_t offset;
	const char *found;

	if (w->symbol < 0 || m->name_type != w->symbol || m->descriptor_type != w->symbol)
		return NULL;
	if (!get_name(w, m->descriptor_type, m->descriptor, descriptor, sizeof(descriptor), 0))
		return NULL;
	if (strcmp(descriptor, "()L;") == 0 || !descriptor[0])
		return readable_name(w, m);
	len = strlen(descriptor);
	if (len < 5 || strncmp(descriptor, "()L", 3) != 0 || descriptor[len - 1] != ';')
		return NULL;
	descriptor[len - 1] = '\0';
	if (strspn(descriptor + 3, "0123456789abcdefABCDEF") != len - 4)
		return NULL;
	if (!get_name(w, m->name_type, m->name, name, sizeof(name), 0) ||
		!get_name(w, m->cls_type, m->cls, module, sizeof(module), 0))
		return NULL;
	offset = strtoull(name, &end, 16);
	if (strncmp(name, "0x", 2) != 0 || *end)
		return NULL;
	found = w->name(w->ctx, module, offset, descriptor + 3, NULL);
	w->stats.renamed += found != NULL;
	w->stats.kept += found == NULL;
	return found;
}

/* Writes the method at @c again, with @name. */
static void put_method(struct rewriter *w, struct sp_jfr_cursor c, const char *name)
{
	const struct sp_jfr_schema *s = &w->c->schema;
	const struct sp_jfr_decl *t = &s->types[w->method];

	if (!w->plain_key)
		w->plain_key = add_symbol(w, "()L;");
	for (uint32_t i = t->first; i < t->first + t->count; i++) {
		const struct sp_jfr_member *f = &s->members[i];
		const uint8_t *start = c.p;

		sp_jfr_schema_skip_member(s, &c, f);
		if (f->pool && strcmp(f->name, "name") == 0)
			add_long(&w->pools, add_symbol(w, name));
		else if (f->pool && strcmp(f->name, "descriptor") == 0)
			add_long(&w->pools, w->plain_key);
		else
			sp_buf_add(&w->pools, start, (size_t)(c.p - start));
	}
}

/* Copies one pool, methods with their new names. */
static int copy_pool(struct rewriter *w, struct sp_jfr_cursor *c)
{
	const uint8_t *head = c->p;
	int type = sp_jfr_schema_find(&w->c->schema, sp_jfr_get_long(c));
	uint32_t count = sp_jfr_get_int(c);

	if (type < 0 || c->bad)
		return -EBADMSG;
	sp_buf_add(&w->pools, head, (size_t)(c->p - head));
	for (; count && !c->bad; count--) {
		const uint8_t *start = c->p;
		const char *name = NULL;
		struct sp_jfr_cursor value;
		struct method m;

		sp_jfr_get_long(c);
		value = *c;
		if (type == w->method) {
			read_method(w, c, &m);
			name = c->bad ? NULL : new_name(w, &m);
		} else {
			sp_jfr_schema_skip(&w->c->schema, c, type);
		}
		sp_buf_add(&w->pools, start, (size_t)((name ? value.p : c->p) - start));
		if (name)
			put_method(w, value, name);
	}
	return c->bad ? -EBADMSG : 0;
}

/* Writes a checkpoint out of w->pools and w->symbols. @head: its start and duration. */
static void put_checkpoint(struct rewriter *w, uint64_t chunk, uint64_t start, uint64_t duration,
	uint8_t kind, uint32_t pools)
{
	SP_AUTO_BUF struct sp_buf head;
	uint8_t size[4];
	uint64_t at = w->at + w->buf.len - chunk;

	sp_buf_init(&head);
	sp_buf_addc(&head, SP_JFR_CHECKPOINT);
	add_long(&head, start);
	add_long(&head, duration);
	add_long(&head, w->last_checkpoint ? w->last_checkpoint - at : 0);
	sp_buf_addc(&head, (char)kind);
	add_long(&head, pools + (w->symbol_count != 0));
	if (w->symbol_count) {
		add_long(&head, w->c->schema.types[w->symbol].id);
		add_long(&head, w->symbol_count);
	}
	if (head.failed || w->pools.failed || w->symbols.failed)
		w->error = w->error ? w->error : -ENOMEM;
	if (w->error)
		return;
	if ((4 + head.len + w->symbols.len + w->pools.len) >> 28) {
		w->error = -EFBIG;
		return;
	}
	sp_jfr_put_fixed(size, (uint32_t)(4 + head.len + w->symbols.len + w->pools.len));
	put(w, size, 4);
	put(w, head.data, head.len);
	put(w, w->symbols.data, w->symbols.len);
	put(w, w->pools.data, w->pools.len);
	w->last_checkpoint = at;
}

static int copy_checkpoint(struct rewriter *w, uint64_t chunk, struct sp_jfr_cursor *c)
{
	uint64_t start = sp_jfr_get_long(c), duration = sp_jfr_get_long(c);
	uint8_t kind;
	uint32_t pools, left;
	int r = 0;

	sp_jfr_get_long(c); /* link */
	kind = sp_jfr_get_byte(c);
	pools = left = sp_jfr_get_int(c);
	if (!pools && !c->bad)
		return 0;
	sp_buf_clear(&w->pools);
	sp_buf_clear(&w->symbols);
	w->symbol_count = 0;
	for (; left && r == 0; left--)
		r = copy_pool(w, c);
	if (r < 0 || c->bad)
		return -EBADMSG;
	put_checkpoint(w, chunk, start, duration, kind, pools);
	return w->error;
}

/* What cannot be read is left out: nobody knows what is in it. */
static void copy_redacted(struct rewriter *w, struct sp_jfr_cursor c, uint64_t type)
{
	int r = sp_jfr_redact_event(&w->c->schema, c, type, &w->buf);

	if (r == -ENOMEM)
		w->error = w->error ? w->error : r;
	if (w->buf.len >= SPILL)
		spill(w);
}

static void copy_event(struct rewriter *w, uint64_t from, uint64_t to, uint64_t type)
{
	/* An empty chunk that a writer had swallowed when it was killed is nothing. */
	if (type == 'L' && sp_jfr_schema_find(&w->c->schema, type) < 0 && to - from == 70 &&
		memcmp(w->c->data + from, "FLR\0", 4) == 0)
		return;
	put(w, w->c->data + from, (size_t)(to - from));
}

static int copy_events(struct rewriter *w, uint64_t chunk, uint64_t *ret_meta)
{
	uint64_t at = SP_JFR_HEADER, start = at, type;
	struct sp_jfr_cursor c;
	int r;

	while ((r = sp_jfr_chunk_next(w->c, &at, &c, &type)) > 0 && !w->error) {
		if (type == SP_JFR_CHECKPOINT) {
			r = copy_checkpoint(w, chunk, &c);
			if (r < 0)
				break;
		} else if (w->redact && sp_jfr_redact_wants(&w->c->schema, type)) {
			copy_redacted(w, c, type);
		} else if (type != SP_JFR_METADATA) {
			copy_event(w, start, at, type);
		} else if (start == w->c->meta) {
			*ret_meta = w->at + w->buf.len - chunk;
			copy_event(w, start, at, type);
		}
		start = at;
	}
	return r < 0 && !w->c->unfinished ? r : w->error;
}

/* Copies a chunk with new names. Returns 0, -EBADMSG or another -errno. */
static int rewrite_chunk(struct rewriter *w, struct sp_err *err)
{
	uint64_t chunk = w->at + w->buf.len, meta = 0;
	uint8_t header[SP_JFR_HEADER];
	int r;

	w->last_checkpoint = w->plain_key = 0;
	w->symbol = sp_jfr_schema_named(&w->c->schema, "jdk.types.Symbol");
	w->method = sp_jfr_schema_named(&w->c->schema, "jdk.types.Method");
	put(w, w->c->data, SP_JFR_HEADER);
	r = copy_events(w, chunk, &meta);
	if (r == -EBADMSG)
		sp_err_set(err, r, "the chunk at offset %llu is damaged",
			(unsigned long long)w->c->offset);
	else if (r < 0)
		return r;
	sp_buf_clear(&w->pools);
	sp_buf_clear(&w->symbols);
	w->symbol_count = 0;
	if (!w->last_checkpoint)
		put_checkpoint(w, chunk, 0, 0, 0, 0);
	spill(w);
	memcpy(header, w->c->data, sizeof(header));
	sp_jfr_put_be64(header + SP_JFR_HEAD_SIZE, w->at - chunk);
	sp_jfr_put_be64(header + SP_JFR_HEAD_POOL, w->last_checkpoint);
	sp_jfr_put_be64(header + SP_JFR_HEAD_METADATA, meta);
	header[SP_JFR_HEAD_STATE] = 0;
	put_at(w, chunk, header, sizeof(header));
	w->stats.chunks++;
	return w->error ? w->error : r;
}

/* A chunk that cannot be decoded stays as it is. */
static void copy_chunk(struct rewriter *w)
{
	w->stats.copied++;
	put(w, w->c->data, w->c->len);
}

static int rewrite_all(struct rewriter *w, struct sp_jfr_chunk_source *s, struct sp_err *err)
{
	int damage = 0;

	for (uint64_t at = 0; at < s->size;) {
		struct sp_jfr_chunk_data c;
		struct sp_err own;
		const uint8_t *data;
		int64_t got = sp_jfr_chunk_source_chunk(s, at, &data), next;
		int r;

		if (got < 0)
			return sp_err_set(err, (int)got, "the recording cannot be read");
		r = sp_jfr_chunk_open(&c, data, (uint64_t)got, at, &own);
		next = (int64_t)at + 1;
		if (r == 0) {
			w->c = &c;
			next = (int64_t)(at + c.len);
			r = sp_jfr_chunk_load(&c, &own);
			if (r == 0 && !c.raw)
				r = rewrite_chunk(w, &own);
			else if (r != -ENOMEM)
				copy_chunk(w);
			sp_jfr_chunk_done(&c);
		}
		if (r < 0 && r != -EBADMSG)
			return sp_err_set(
				err, r, "the recording cannot be written: %s", strerror(-r));
		if (r < 0 && !damage) {
			damage = r;
			*err = own;
		}
		next = sp_jfr_chunk_source_find(s, (uint64_t)next);
		if (next < 0)
			return sp_err_set(err, (int)next, "the recording cannot be read");
		at = (uint64_t)next;
	}
	return damage;
}

int sp_jfr_rewrite(int in, int out, unsigned flags, sp_jfr_name_fn *name, void *ctx,
	struct sp_jfr_rewrite_stats *ret, struct sp_err *err)
{
	struct rewriter w = {.out = out,
		.name = name,
		.ctx = ctx,
		.next_key = NEW_KEY,
		.redact = flags & SP_JFR_REWRITE_REDACT};
	struct sp_jfr_chunk_source s;
	struct sp_err own;
	int r;

	if (!err)
		err = &own;
	sp_buf_init(&w.buf);
	sp_buf_init(&w.pools);
	sp_buf_init(&w.symbols);
	r = sp_jfr_chunk_source_open(&s, in, err);
	if (r == 0)
		r = rewrite_all(&w, &s, err);
	spill(&w);
	if (w.error && (r == 0 || r == -EBADMSG))
		r = sp_err_set(
			err, w.error, "the recording cannot be written: %s", strerror(-w.error));
	if (ret)
		*ret = w.stats;
	sp_jfr_chunk_source_done(&s);
	sp_buf_done(&w.buf);
	sp_buf_done(&w.pools);
	sp_buf_done(&w.symbols);
	return r;
}
