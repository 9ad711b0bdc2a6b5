/* See stackmap_table.h. */
#include "stackmap_table.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TOP, INTEGER, FLOAT, DOUBLE, LONG, NOTHING, UNINITIALIZED_THIS, OBJECT, UNINITIALIZED };

enum { SAME_ONE = 64, RESERVED = 128, SAME_ONE_EXTENDED = 247, SAME_EXTENDED = 251, FULL = 255 };

struct type {
	uint8_t tag;
	uint16_t data; /* class, or where the object was made */
};

/* The frame in hand; the next one may be written as a difference to it. */
struct frame {
	struct type *locals, *stack;
	uint32_t n_locals, n_stack, cap_locals, cap_stack;
	uint32_t at;
};

static bool push(struct type *to, uint32_t *n, uint32_t cap, struct type t)
{
	if (*n >= cap)
		return false;
	to[(*n)++] = t;
	return true;
}

static uint32_t slots(const struct type *t, uint32_t n)
{
	uint32_t sum = n;

	for (uint32_t i = 0; i < n; i++)
		sum += t[i].tag == LONG || t[i].tag == DOUBLE;
	return sum;
}

/* Length of the field descriptor at @s; 0: it is none. */
static size_t field_len(const char *s, const char *end)
{
	const char *p = s;

	while (p < end && *p == '[')
		p++;
	if (p < end && *p == 'L')
		p = memchr(p, ';', (size_t)(end - p));
	return p && p < end && strchr("BCDFIJSZL;", *p) && *p ? (size_t)(p + 1 - s) : 0;
}

/* What the verifier calls an argument of that type. */
static int argument(struct sp_constant_pool *pool, const char *s, size_t len, struct type *ret)
{
	*ret = (struct type){INTEGER, 0};
	switch (*s) {
	case 'F':
		ret->tag = FLOAT;
		return 0;
	case 'D':
		ret->tag = DOUBLE;
		return 0;
	case 'J':
		ret->tag = LONG;
		return 0;
	case 'L':
	case '[':
		ret->tag = OBJECT;
		ret->data = (uint16_t)(*s == 'L' ? sp_constant_pool_add_class(pool, s + 1, len - 2)
						 : sp_constant_pool_add_class(pool, s, len));
		return ret->data ? 0 : -E2BIG;
	default:
		return 0;
	}
}

/* The frame that no table holds: the method's arguments. */
static int first_frame(const struct sp_stackmap_table_job *job, struct frame *f)
{
	const char *s = job->descriptor.s, *end = s + job->descriptor.len;
	struct type t = {job->is_init ? UNINITIALIZED_THIS : OBJECT,
		job->is_init ? 0 : (uint16_t)job->this_class};

	if (!job->is_static && !push(f->locals, &f->n_locals, f->cap_locals, t))
		return -EBADMSG;
	if (s == end || *s++ != '(')
		return -EBADMSG;
	while (s < end && *s != ')') {
		size_t len = field_len(s, end);
		int r = len ? argument(job->pool, s, len, &t) : -EBADMSG;

		if (r < 0)
			return r;
		if (!push(f->locals, &f->n_locals, f->cap_locals, t))
			return -EBADMSG;
		s += len;
	}
	return s < end ? 0 : -EBADMSG;
}

static struct type read_type(const struct sp_stackmap_table_job *job, struct sp_class_bytes *in)
{
	struct type t = {(uint8_t)sp_class_bytes_u1(in), 0};

	in->bad |= t.tag > UNINITIALIZED;
	if (t.tag == OBJECT || t.tag == UNINITIALIZED)
		t.data = (uint16_t)sp_class_bytes_u2(in);
	in->bad |= t.tag == UNINITIALIZED && t.data >= job->code_len;
	return t;
}

static void read_types(const struct sp_stackmap_table_job *job, struct sp_class_bytes *in,
	uint32_t count, struct type *to, uint32_t *n, uint32_t cap)
{
	while (count-- && !in->bad)
		in->bad |= !push(to, n, cap, read_type(job, in));
}

static void read_locals(const struct sp_stackmap_table_job *job, struct sp_class_bytes *in,
	uint32_t count, struct frame *f)
{
	read_types(job, in, count, f->locals, &f->n_locals, f->cap_locals);
}

static void read_stack(const struct sp_stackmap_table_job *job, struct sp_class_bytes *in,
	uint32_t count, struct frame *f)
{
	read_types(job, in, count, f->stack, &f->n_stack, f->cap_stack);
}

/* Applies the frame at @in. Returns its distance. */
static uint32_t read_frame(
	const struct sp_stackmap_table_job *job, struct sp_class_bytes *in, struct frame *f)
{
	uint32_t kind = sp_class_bytes_u1(in);
	uint32_t delta = kind < RESERVED ? kind % SAME_ONE : sp_class_bytes_u2(in), chopped;

	f->n_stack = 0;
	if (kind >= RESERVED && kind < SAME_ONE_EXTENDED) {
		in->bad = true;
	} else if (kind == SAME_ONE_EXTENDED || (kind >= SAME_ONE && kind < RESERVED)) {
		read_stack(job, in, 1, f);
	} else if (kind > SAME_ONE_EXTENDED && kind < SAME_EXTENDED) {
		chopped = SAME_EXTENDED - kind;
		in->bad |= chopped > f->n_locals;
		f->n_locals -= in->bad ? 0 : chopped;
	} else if (kind > SAME_EXTENDED && kind < FULL) {
		read_locals(job, in, kind - SAME_EXTENDED, f);
	} else if (kind == FULL) {
		f->n_locals = 0;
		read_locals(job, in, sp_class_bytes_u2(in), f);
		read_stack(job, in, sp_class_bytes_u2(in), f);
	}
	return delta;
}

static void put_type(const struct sp_stackmap_table_job *job, struct type t, struct sp_buf *out)
{
	sp_put_u1(out, t.tag);
	if (t.tag == UNINITIALIZED)
		sp_put_u2(out, job->moved[t.data]);
	else if (t.tag == OBJECT)
		sp_put_u2(out, t.data);
}

static void put_types(const struct sp_stackmap_table_job *job, const struct type *t, uint32_t n,
	struct sp_buf *out)
{
	for (uint32_t i = 0; i < n; i++)
		put_type(job, t[i], out);
}

/* @at and @last in the new code; @last is -1 for the first. */
static void put_frame(const struct sp_stackmap_table_job *job, const struct frame *f, uint32_t at,
	int64_t last, struct sp_buf *out)
{
	uint32_t used = slots(f->locals, f->n_locals), gap = job->max_locals - used;

	sp_put_u1(out, FULL);
	sp_put_u2(out, (uint32_t)(at - last - 1));
	sp_put_u2(out, f->n_locals + (job->time ? gap + 1 : 0));
	put_types(job, f->locals, f->n_locals, out);
	if (job->time) {
		for (uint32_t i = 0; i < gap; i++)
			sp_put_u1(out, TOP);
		sp_put_u1(out, LONG);
	}
	sp_put_u2(out, f->n_stack);
	put_types(job, f->stack, f->n_stack, out);
}

static int put_handler(const struct sp_stackmap_table_job *job, int64_t last, struct sp_buf *out)
{
	static const char thrown[] = "java/lang/Throwable";
	uint32_t id = sp_constant_pool_add_class(job->pool, thrown, sizeof(thrown) - 1);
	struct type t = {OBJECT, (uint16_t)id};
	struct frame f = {.stack = &t, .n_stack = 1};

	put_frame(job, &f, job->handler, last, out);
	return id ? 0 : -E2BIG;
}

/* Each frame that there was; *last is where the last is now. */
static int put_frames(const struct sp_stackmap_table_job *job, struct sp_class_bytes *in,
	uint32_t count, struct frame *f, int64_t *last, struct sp_buf *out)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t delta = read_frame(job, in, f);

		f->at += delta + (i > 0);
		if (in->bad || f->at >= job->code_len ||
			slots(f->locals, f->n_locals) > job->max_locals)
			return -EBADMSG;
		put_frame(job, f, job->moved[f->at], *last, out);
		*last = job->moved[f->at];
	}
	return in->p == in->end ? 0 : -EBADMSG;
}

int sp_stackmap_table_rewrite(
	const struct sp_stackmap_table_job *job, struct sp_class_bytes in, struct sp_buf *out)
{
	uint32_t count = in.p == in.end ? 0 : sp_class_bytes_u2(&in);
	SP_AUTO_FREE struct type *types =
		calloc((size_t)job->max_locals + job->max_stack + 1, sizeof(*types));
	struct frame f = {.locals = types,
		.stack = types ? types + job->max_locals : NULL,
		.cap_locals = job->max_locals,
		.cap_stack = job->max_stack};
	int64_t last = -1;
	int r;

	if (!types)
		return -ENOMEM;
	if (count + (job->handler != 0) > 65535)
		return -E2BIG;
	sp_put_u2(out, count + (job->handler != 0));
	r = first_frame(job, &f);
	if (r == 0)
		r = put_frames(job, &in, count, &f, &last, out);
	if (r == 0 && job->handler)
		r = put_handler(job, last, out);
	return r;
}
