/* Class files with calls of ours put in: what was there stays, and jumps lead where they led. The
 * JVM's own verifier judges whole libraries in tests/jvm/test_calls.py. */
#include "classfile/class_instrument.h"

#include "base/cleanup.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

/* A class T with one static method m; its constant pool is fixed. */
enum { CODE = 5, MAP = 6, LINES = 7, VARIABLES = 8, OTHER = 9, POOL = 12 };

struct method {
	const char *name, *descriptor;
	const uint8_t *code;
	uint32_t len;
	const uint8_t *handlers; /* eight bytes each */
	uint32_t n_handlers;
	const uint8_t *attributes; /* whole, n of them */
	uint32_t attributes_len, n_attributes;
	uint32_t access, max_stack, max_locals;
};

static void put_text(struct sp_buf *b, const char *s)
{
	sp_put_u1(b, 1);
	sp_put_u2(b, (uint32_t)strlen(s));
	sp_buf_adds(b, s);
}

static void put_class(struct sp_buf *b, const struct method *m, uint32_t version)
{
	uint32_t attribute = 12 + m->len + 8 * m->n_handlers + m->attributes_len;

	sp_put_u4(b, 0xcafebabe);
	sp_put_u4(b, version);
	sp_put_u2(b, POOL);
	put_text(b, "T"); /* 1 */
	sp_put_u1(b, 7);
	sp_put_u2(b, 1); /* 2: class T */
	put_text(b, m->name);
	put_text(b, m->descriptor);
	put_text(b, "Code");
	put_text(b, "StackMapTable");
	put_text(b, "LineNumberTable");
	put_text(b, "LocalVariableTable");
	put_text(b, "Mystery");
	sp_put_u1(b, 5); /* 10 and 11: a long */
	sp_put_u4(b, 1);
	sp_put_u4(b, 2);
	sp_put_u2(b, 0x21);
	sp_put_u2(b, 2);
	sp_put_u2(b, 2);
	sp_put_u4(b, 0);
	sp_put_u2(b, 1);
	sp_put_u2(b, m->access);
	sp_put_u2(b, 3);
	sp_put_u2(b, 4);
	sp_put_u2(b, m->code ? 1 : 0);
	if (m->code) {
		sp_put_u2(b, CODE);
		sp_put_u4(b, attribute);
		sp_put_u2(b, m->max_stack);
		sp_put_u2(b, m->max_locals);
		sp_put_u4(b, m->len);
		sp_buf_add(b, m->code, m->len);
		sp_put_u2(b, m->n_handlers);
		sp_buf_add(b, m->handlers, 8 * m->n_handlers);
		sp_put_u2(b, m->n_attributes);
		sp_buf_add(b, m->attributes, m->attributes_len);
	}
	sp_put_u2(b, 0);
}

struct choice {
	struct sp_class_instrument_want want;
	char left[128];
};

static struct sp_class_instrument_want want(
	void *ctx, struct sp_class_text name, struct sp_class_text descriptor)
{
	return ((struct choice *)ctx)->want;
}

static void left_out(void *ctx, struct sp_class_text name, const char *why)
{
	struct choice *c = ctx;

	snprintf(c->left, sizeof(c->left), "%.*s %s", (int)name.len, name.s, why);
}

static int rewrite(const struct sp_buf *in, struct choice *c, struct sp_buf *out)
{
	struct sp_class_instrument rw = {want, left_out, c};

	return sp_class_instrument_class(&rw, (const uint8_t *)in->data, in->len, out);
}

/* What the rewritten method's Code attribute says. */
struct seen {
	uint32_t max_stack, max_locals, len, n_handlers, n_attributes;
	const uint8_t *code, *handlers;
	struct sp_class_bytes attributes;
	struct sp_constant_pool pool;
};

static void look(const struct sp_buf *b, struct seen *s)
{
	struct sp_class_bytes in = {
		(const uint8_t *)b->data + 8, (const uint8_t *)b->data + b->len, false};

	cr_assert_eq(sp_constant_pool_read(&s->pool, &in), 0);
	sp_class_bytes_skip(&in, 2 + 2 + 2 + 2 + 2 + 2); /* to the methods */
	sp_class_bytes_skip(&in, 2 + 2 + 2 + 2);
	cr_assert(
		sp_class_text_is(sp_constant_pool_utf8(&s->pool, sp_class_bytes_u2(&in)), "Code"));
	sp_class_bytes_u4(&in);
	s->max_stack = sp_class_bytes_u2(&in);
	s->max_locals = sp_class_bytes_u2(&in);
	s->len = sp_class_bytes_u4(&in);
	s->code = sp_class_bytes_skip(&in, s->len);
	s->n_handlers = sp_class_bytes_u2(&in);
	s->handlers = sp_class_bytes_skip(&in, 8 * s->n_handlers);
	s->n_attributes = sp_class_bytes_u2(&in);
	s->attributes = in;
	cr_assert(!in.bad);
}

/* The attribute of that name, behind its length. */
static struct sp_class_bytes attribute(const struct seen *s, const char *name)
{
	struct sp_class_bytes in = s->attributes;

	for (uint32_t i = 0; i < s->n_attributes; i++) {
		struct sp_class_text t = sp_constant_pool_utf8(&s->pool, sp_class_bytes_u2(&in));
		struct sp_class_bytes part = sp_class_bytes_part(&in, sp_class_bytes_u4(&in));

		if (sp_class_text_is(t, name))
			return part;
	}
	return (struct sp_class_bytes){NULL, NULL, true};
}

/* static int m(int): a loop to the very beginning, a switch of each kind, and two returns. */
static const uint8_t loops[] = {
	0x84, 0x00, 0xff,					     /*  0 iinc 0, -1 */
	0x1a,							     /*  3 iload_0 */
	0x9a, 0xff, 0xfc,					     /*  4 ifne 0 */
	0x1a,							     /*  7 iload_0 */
	0xaa, 0, 0, 0,						     /*  8 tableswitch */
	0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 22,	     /* default 28, 1: 30 */
	0x03, 0xac,						     /* 28 iconst_0, ireturn */
	0x1a,							     /* 30 iload_0 */
	0xab,							     /* 31 lookupswitch */
	0, 0, 0, 25, 0, 0, 0, 1, 0, 0, 0, 7, 0xff, 0xff, 0xff, 0xe1, /* default 56, 7: 0 */
	0, 0, 0, 0, 0, 0, 0, 0,					     /* 48 nops */
	0x04,							     /* 56 iconst_1 */
	0xac,							     /* 57 ireturn */
};
static const uint8_t loops_attributes[] = {
	0,
	MAP,
	0,
	0,
	0,
	8,
	0,
	4, /* frames at 0, 28, 30, 56 */
	0,
	27,
	1,
	251,
	0,
	25,
	0,
	LINES,
	0,
	0,
	0,
	10,
	0,
	2,
	0,
	0,
	0,
	5,
	0,
	56,
	0,
	6,
	0,
	VARIABLES,
	0,
	0,
	0,
	12,
	0,
	1,
	0,
	0,
	0,
	58,
	0,
	1,
	0,
	1,
	0,
	0,
	0,
	OTHER,
	0,
	0,
	0,
	1,
	99,
};
static const uint8_t loops_handlers[] = {0, 3, 0, 30, 0, 56, 0, 0};
static const struct method loops_method = {"m", "(I)I", loops, sizeof(loops), loops_handlers, 1,
	loops_attributes, sizeof(loops_attributes), 4, 0x0009, 1, 1};

static int32_t far(const uint8_t *p)
{
	return (int32_t)sp_be32(p);
}

Test(class_instrument, jumps_and_switches_lead_where_they_led)
{
	struct choice c = {.want = {-1, 3}};
	SP_AUTO_BUF struct sp_buf in = {0}, out = {0};
	struct seen s;

	put_class(&in, &loops_method, 52);
	cr_assert_eq(rewrite(&in, &c, &out), 1);
	look(&out, &s);
	cr_assert_eq(s.len, 8 + 58 + 2 * 12 + 13);
	cr_assert_eq(s.max_locals, 3);
	cr_assert_geq(s.max_stack, 1 + 3);
	/* The clock is read once: the loop goes behind it. */
	cr_assert_eq(s.code[1], 0xb8);
	cr_assert_eq(memcmp(s.code + 4, "\xc4\x37\x00\x01", 4), 0);
	cr_assert_eq((int16_t)sp_be16(s.code + 8 + 5), -4);
	/* tableswitch at 16: 28 is 36; 30 is 50, behind what stands before the return */
	cr_assert_eq(s.code[16], 0xaa);
	cr_assert_eq(far(s.code + 20), 20);
	cr_assert_eq(far(s.code + 32), 34);
	/* What stands before each return, which has the value on the stack. */
	cr_assert_eq(memcmp(s.code + 37, "\xc4\x16\x00\x01\x00\x00\x11\x00\x03\xb8", 10), 0);
	cr_assert_eq(s.code[49], 0xac);
	/* lookupswitch at 51, aligned as before: 56 is 76, the beginning is 8 */
	cr_assert_eq(s.code[51], 0xab);
	cr_assert_eq(far(s.code + 52), 25);
	cr_assert_eq(far(s.code + 64), 8 - 51);
	cr_assert_eq(s.code[76], 0x04);
	cr_assert_eq(s.code[89], 0xac);
	cr_assert_eq(s.code[s.len - 1], 0xbf);
	/* The method's own handler comes first. */
	cr_assert_eq(s.n_handlers, 2);
	cr_assert_eq(memcmp(s.handlers, "\x00\x0b\x00\x32\x00\x4c\x00\x00", 8), 0);
	cr_assert_eq(memcmp(s.handlers + 8, "\x00\x08\x00\x5a\x00\x5a\x00\x00", 8), 0);
	sp_constant_pool_done(&s.pool);
}

Test(class_instrument, tables_of_the_code_move_with_it)
{
	struct choice c = {.want = {-1, 0}};
	SP_AUTO_BUF struct sp_buf in = {0}, out = {0};
	uint32_t at[] = {8, 36, 50, 76, 90}, last = 0;
	struct sp_class_bytes map, lines, variables;
	struct seen s;

	put_class(&in, &loops_method, 52);
	cr_assert_eq(rewrite(&in, &c, &out), 1);
	look(&out, &s);
	map = attribute(&s, "StackMapTable");
	cr_assert_eq(sp_class_bytes_u2(&map), 5);
	for (int i = 0; i < 5; i++) {
		cr_assert_eq(sp_class_bytes_u1(&map), 255);
		last += sp_class_bytes_u2(&map) + (i > 0);
		cr_expect_eq(last, at[i], "frame %d at %u", i, last);
		cr_assert_eq(sp_class_bytes_u2(&map), 2);
		cr_expect_eq(
			sp_class_bytes_u1(&map), i < 4 ? 1 : 0); /* the argument; ours knows none */
		cr_expect_eq(sp_class_bytes_u1(&map), 4);	 /* the long */
		cr_assert_eq(sp_class_bytes_u2(&map), i < 4 ? 0 : 1);
	}
	cr_expect_eq(sp_class_bytes_u1(&map), 7);
	lines = attribute(&s, "LineNumberTable");
	cr_assert_eq(memcmp(lines.p, "\x00\x02\x00\x00\x00\x05\x00\x4c\x00\x06", 10), 0);
	variables = attribute(&s, "LocalVariableTable");
	cr_assert_eq(memcmp(variables.p, "\x00\x01\x00\x08\x00\x52", 6), 0);
	cr_expect(attribute(&s, "Mystery").bad);
	sp_constant_pool_done(&s.pool);
}

Test(class_instrument, counting_needs_no_variable_and_no_handler)
{
	struct choice c = {.want = {258, -1}};
	SP_AUTO_BUF struct sp_buf in = {0}, out = {0};
	struct seen s;

	put_class(&in, &loops_method, 52);
	cr_assert_eq(rewrite(&in, &c, &out), 1);
	look(&out, &s);
	cr_assert_eq(s.len, 8 + 58);
	cr_assert_eq(s.max_locals, 1);
	cr_assert_eq(s.n_handlers, 1);
	cr_assert_eq(memcmp(s.code, "\x00\x00\x11\x01\x02\xb8", 6), 0);
	cr_assert_eq(memcmp(s.code + 8, loops, sizeof(loops)), 0);
	sp_constant_pool_done(&s.pool);
}

/* What each kind of frame says is kept: long and double take two places, objects that are being
 * made are named by where. */
Test(class_instrument, frames_of_every_kind)
{
	static const uint8_t code[24] = {[0] = 0xbb, [1] = 0, [2] = 2, [23] = 0xb1};
	static const uint8_t attributes[] = {0, MAP, 0, 0, 0, 35, 0, 6, 252, 0, 3,
		3,		    /* 3: append a double */
		247, 0, 0, 8, 0, 0, /* 4: the same, and one on the stack: made at 0 */
		250, 0, 0,	    /* 5: without it */
		64 + 1, 1,	    /* 7 */
		255, 0, 5, 0, 2, 7, 0, 2, 4, 0, 2, 1, 5, /* 13: this, long; int, null */
		253, 0, 1, 2, 0};			 /* 15: append float, top */
	const struct method m = {"m", "(JLjava/lang/String;[[ID)V", code, sizeof(code), NULL, 0,
		attributes, sizeof(attributes), 1, 0x0001, 2, 12};
	static const uint8_t tags[6][12] = {{6, 7, 4, 7, 7, 3, 3}, {6, 7, 4, 7, 7, 3, 3},
		{5, 7, 4, 7, 7, 3}, {5, 7, 4, 7, 7, 3}, {2, 7, 4}, {4, 7, 4, 2, 0}};
	static const uint8_t used[] = {9, 9, 7, 7, 3, 5}, stack[] = {0, 1, 0, 1, 2, 0};
	struct choice c = {.want = {0, 0}};
	SP_AUTO_BUF struct sp_buf in = {0}, out = {0};
	struct sp_class_bytes map;
	struct seen s;

	put_class(&in, &m, 61);
	cr_assert_eq(rewrite(&in, &c, &out), 1);
	look(&out, &s);
	map = attribute(&s, "StackMapTable");
	cr_assert_eq(sp_class_bytes_u2(&map), 7);
	for (int i = 0; i < 6; i++) {
		uint32_t n, said = tags[i][0];

		cr_assert_eq(sp_class_bytes_u1(&map), 255);
		sp_class_bytes_u2(&map);
		n = sp_class_bytes_u2(&map);
		cr_assert_eq(n, said + (12u - used[i]) + 1, "frame %d: %u", i, n);
		for (uint32_t k = 0; k < n; k++) {
			uint32_t tag = sp_class_bytes_u1(&map);

			cr_expect_eq(tag,
				k < said    ? tags[i][k + 1]
				: k + 1 < n ? 0u
					    : 4u,
				"frame %d, %u: %u", i, k, tag);
			if (tag == 7)
				sp_class_bytes_u2(&map);
		}
		cr_assert_eq(sp_class_bytes_u2(&map), stack[i]);
		for (uint32_t k = 0; k < stack[i]; k++)
			if (sp_class_bytes_u1(&map) == 8)
				cr_expect_eq(sp_class_bytes_u2(&map), 16);
	}
	cr_assert(!map.bad);
	sp_constant_pool_done(&s.pool);
}

Test(class_instrument, constructors_are_not_caught_and_old_classes_have_no_frames)
{
	static const uint8_t code[] = {0x2a, 0xb1};
	struct method m = {"<init>", "()V", code, 2, NULL, 0, NULL, 0, 0, 0x0001, 1, 1};
	struct choice c = {.want = {-1, 0}};
	SP_AUTO_BUF struct sp_buf in = {0}, out = {0}, old = {0}, old_out = {0};
	struct seen s;

	put_class(&in, &m, 52);
	cr_assert_eq(rewrite(&in, &c, &out), 1);
	look(&out, &s);
	cr_expect_eq(s.n_handlers, 0);
	cr_expect_eq(s.n_attributes, 0);
	sp_constant_pool_done(&s.pool);
	m.name = "m";
	put_class(&old, &m, 49);
	cr_assert_eq(rewrite(&old, &c, &old_out), 1);
	look(&old_out, &s);
	cr_expect_eq(s.n_handlers, 1);
	cr_expect_eq(s.n_attributes, 0);
	sp_constant_pool_done(&s.pool);
}

Test(class_instrument, what_cannot_be_is_left_as_it_was)
{
	static uint8_t code[65530];
	struct method m = {"m", "()V", NULL, 0, NULL, 0, NULL, 0, 0, 0x0100, 0, 0};
	struct choice c = {.want = {-1, 0}};
	SP_AUTO_BUF struct sp_buf native = {0}, large = {0}, jumping = {0}, out = {0};

	put_class(&native, &m, 52);
	cr_assert_eq(rewrite(&native, &c, &out), 0);
	cr_expect_str_eq(c.left, "m has no Java code");
	code[sizeof(code) - 1] = 0xb1;
	m.code = code;
	m.len = sizeof(code);
	put_class(&large, &m, 52);
	sp_buf_clear(&out);
	cr_assert_eq(rewrite(&large, &c, &out), 0);
	cr_expect_str_eq(c.left, "m is too large");
	/* goto 32767 bytes on, over a return: 12 more are too many */
	memset(c.left, 0, sizeof(c.left));
	code[0] = 0xa7;
	code[1] = 0x7f;
	code[2] = 0xff;
	code[3] = 0xb1;
	m.len = 32768;
	code[32767] = 0xb1;
	put_class(&jumping, &m, 49);
	sp_buf_clear(&out);
	cr_assert_eq(rewrite(&jumping, &c, &out), 0);
	cr_expect_str_eq(c.left, "m is too large");
}

Test(class_instrument, a_damaged_class_file_is_refused)
{
	struct choice c = {.want = {0, 0}};
	SP_AUTO_BUF struct sp_buf in = {0};

	put_class(&in, &loops_method, 52);
	for (size_t len = 0; len < in.len; len++) {
		SP_AUTO_BUF struct sp_buf out = {0}, cut = {0};

		sp_buf_add(&cut, in.data, len); /* of its own length, for the sanitizer to watch */
		cut.data = len ? realloc(cut.data, len) : cut.data;
		cr_expect_eq(rewrite(&cut, &c, &out), -EBADMSG, "%zu bytes", len);
		cut.cap = len;
	}
	for (size_t at = 0; at < in.len; at++) {
		for (int bit = 0; bit < 8; bit++) {
			SP_AUTO_BUF struct sp_buf out = {0};

			in.data[at] = (char)(in.data[at] ^ 1 << bit);
			cr_expect_leq(rewrite(&in, &c, &out), 1);
			in.data[at] = (char)(in.data[at] ^ 1 << bit);
		}
	}
}
