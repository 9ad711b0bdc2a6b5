/* See class_instrument.h. The walk over a class file; what happens to a method's code is in
 * bytecode_instrument.c.
 */
#include "class_instrument.h"

#include "bytecode_instrument.h"

#include <errno.h>
#include <string.h>

#define MAGIC 0xcafebabeu

enum { STATIC = 0x0008 };

struct walk {
	const struct sp_class_instrument *rw;
	struct sp_constant_pool pool;
	struct sp_class_instrument_class about;
	struct sp_class_bytes in;
	struct sp_buf *body; /* what follows the constant pool */
	int changed;
};

static void copy(struct walk *w, const uint8_t *from)
{
	if (!w->in.bad)
		sp_buf_add(w->body, from, (size_t)(w->in.p - from));
}

static void skip_attributes(struct sp_class_bytes *in)
{
	for (uint32_t n = sp_class_bytes_u2(in); n && !in->bad; n--) {
		sp_class_bytes_u2(in);
		sp_class_bytes_skip(in, sp_class_bytes_u4(in));
	}
}

static void skip_members(struct sp_class_bytes *in)
{
	for (uint32_t n = sp_class_bytes_u2(in); n && !in->bad; n--) {
		sp_class_bytes_skip(in, 6);
		skip_attributes(in);
	}
}

static void leave_out(struct walk *w, struct sp_class_text name, const char *why)
{
	if (w->rw->left_out)
		w->rw->left_out(w->rw->ctx, name, why);
}

/* The attributes of a method, Code rewritten. Returns 1 where there was such, 0 or -errno. */
static int rewrite_attributes(struct walk *w, const struct sp_bytecode_instrument_method *m)
{
	uint32_t count = sp_class_bytes_u2(&w->in);
	int found = 0;

	sp_put_u2(w->body, count);
	for (uint32_t i = 0; i < count && !w->in.bad; i++) {
		const uint8_t *at = w->in.p;
		uint32_t name = sp_class_bytes_u2(&w->in), len = sp_class_bytes_u4(&w->in);
		struct sp_class_bytes code = sp_class_bytes_part(&w->in, len);
		int r;

		if (w->in.bad || found ||
			!sp_class_text_is(sp_constant_pool_utf8(&w->pool, name), "Code")) {
			copy(w, at);
			continue;
		}
		sp_put_u2(w->body, name);
		r = sp_bytecode_instrument(&w->about, m, code, w->body);
		if (r < 0)
			return r;
		found = 1;
	}
	return w->in.bad ? -EBADMSG : found;
}

/* A method that is too large for it keeps its code. */
static int rewrite_method(
	struct walk *w, const uint8_t *at, const struct sp_bytecode_instrument_method *m)
{
	size_t had = w->body->len, pool_had = w->pool.added.len;
	uint32_t total_had = w->pool.total;
	int r;

	copy(w, at);
	r = rewrite_attributes(w, m);
	if (r > 0) {
		w->changed++;
		return 0;
	}
	if (r < 0 && r != -EFBIG)
		return r;
	leave_out(w, m->name, r == 0 ? "has no Java code" : "is too large");
	w->body->len = had;
	w->pool.added.len = pool_had;
	w->pool.total = total_had;
	w->in.p = at + 6;
	skip_attributes(&w->in);
	copy(w, at);
	return 0;
}

static int methods(struct walk *w)
{
	uint32_t count = sp_class_bytes_u2(&w->in);
	int r = 0;

	sp_put_u2(w->body, count);
	for (uint32_t i = 0; i < count && r == 0 && !w->in.bad; i++) {
		const uint8_t *at = w->in.p;
		uint32_t access = sp_class_bytes_u2(&w->in);
		struct sp_bytecode_instrument_method m = {
			.name = sp_constant_pool_utf8(&w->pool, sp_class_bytes_u2(&w->in)),
			.is_static = access & STATIC};

		m.descriptor = sp_constant_pool_utf8(&w->pool, sp_class_bytes_u2(&w->in));
		m.want = w->rw->want(w->rw->ctx, m.name, m.descriptor);
		if (m.want.counted >= 0 || m.want.timed >= 0) {
			r = rewrite_method(w, at, &m);
		} else {
			skip_attributes(&w->in);
			copy(w, at);
		}
	}
	return r < 0 ? r : w->in.bad ? -EBADMSG : 0;
}

/* Everything behind the constant pool. */
static int walk_body(struct walk *w)
{
	const uint8_t *at = w->in.p;
	int r;

	sp_class_bytes_u2(&w->in); /* access */
	w->about.this_class = sp_class_bytes_u2(&w->in);
	sp_class_bytes_u2(&w->in); /* super */
	sp_class_bytes_skip(&w->in, 2 * (size_t)sp_class_bytes_u2(&w->in));
	skip_members(&w->in);
	copy(w, at);
	r = methods(w);
	if (r < 0)
		return r;
	at = w->in.p;
	skip_attributes(&w->in);
	copy(w, at);
	return w->in.bad || w->in.p != w->in.end ? -EBADMSG : 0;
}

static int walk_class(struct walk *w, const uint8_t *in, struct sp_buf *out)
{
	const uint8_t *pool_at;
	int r;

	if (sp_class_bytes_u4(&w->in) != MAGIC)
		return -EBADMSG;
	sp_class_bytes_u2(&w->in);
	w->about.version = sp_class_bytes_u2(&w->in);
	pool_at = w->in.p + 2;
	r = sp_constant_pool_read(&w->pool, &w->in);
	if (r < 0)
		return r;
	sp_buf_add(out, in, 8);
	sp_put_u2(out, 0); /* the count, when it is known */
	sp_buf_add(out, pool_at, (size_t)(w->in.p - pool_at));
	w->about.entered =
		sp_constant_pool_add_method(&w->pool, SP_REWRITE_CLASS, "entered", "(I)V");
	w->about.left = sp_constant_pool_add_method(&w->pool, SP_REWRITE_CLASS, "left", "(JI)V");
	w->about.clock =
		sp_constant_pool_add_method(&w->pool, "java/lang/System", "nanoTime", "()J");
	if (!w->about.clock)
		return -E2BIG;
	r = walk_body(w);
	if (r < 0 || out->failed || w->pool.added.failed || w->body->failed)
		return r < 0 ? r : -ENOMEM;
	out->data[8] = (char)(w->pool.total >> 8);
	out->data[9] = (char)w->pool.total;
	sp_buf_add(out, w->pool.added.data, w->pool.added.len);
	sp_buf_add(out, w->body->data, w->body->len);
	return out->failed ? -ENOMEM : w->changed;
}

int sp_class_instrument_class(
	const struct sp_class_instrument *rw, const uint8_t *in, size_t len, struct sp_buf *out)
{
	SP_AUTO_BUF struct sp_buf body = {0};
	struct walk w = {.rw = rw, .in = {in, in + len, false}, .body = &body};
	int r;

	w.about.pool = &w.pool;
	r = walk_class(&w, in, out);
	sp_constant_pool_done(&w.pool);
	return r;
}
