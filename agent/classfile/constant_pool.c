/* See constant_pool.h. */
#include "constant_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { UTF8 = 1, LONG = 5, DOUBLE = 6, CLASS = 7, METHOD = 10, NAME_AND_TYPE = 12, TAGS = 21 };

#define MOST 65535u

/* Bytes behind the tag; 0: there is no such tag. */
static const uint8_t sizes[TAGS] = {[UTF8] = 2,
	[3] = 4,
	[4] = 4,
	[LONG] = 8,
	[DOUBLE] = 8,
	[CLASS] = 2,
	[8] = 2,
	[9] = 4,
	[METHOD] = 4,
	[11] = 4,
	[NAME_AND_TYPE] = 4,
	[15] = 3,
	[16] = 2,
	[17] = 4,
	[18] = 4,
	[19] = 2,
	[20] = 2};

bool sp_class_text_is(struct sp_class_text t, const char *s)
{
	return t.len == strlen(s) && memcmp(t.s, s, t.len) == 0;
}

static int read_entries(struct sp_constant_pool *c, struct sp_class_bytes *b)
{
	for (uint32_t i = 1; i < c->count; i++) {
		const uint8_t *at = b->p;
		uint32_t tag = sp_class_bytes_u1(b);

		if (b->bad || tag >= TAGS || !sizes[tag])
			return -EBADMSG;
		sp_class_bytes_skip(b, tag == UTF8 ? sp_class_bytes_u2(b) : sizes[tag]);
		c->entries[i] = at;
		i += tag == LONG || tag == DOUBLE; /* they count twice */
		if (i >= c->count)
			return -EBADMSG;
	}
	return b->bad ? -EBADMSG : 0;
}

int sp_constant_pool_read(struct sp_constant_pool *c, struct sp_class_bytes *b)
{
	memset(c, 0, sizeof(*c));
	sp_buf_init(&c->added);
	c->count = c->total = sp_class_bytes_u2(b);
	c->entries = calloc(c->count + 1, sizeof(*c->entries));
	return c->entries ? read_entries(c, b) : -ENOMEM;
}

void sp_constant_pool_done(struct sp_constant_pool *c)
{
	free(c->entries);
	sp_buf_done(&c->added);
}

struct sp_class_text sp_constant_pool_utf8(const struct sp_constant_pool *c, uint32_t index)
{
	const uint8_t *e = index < c->count ? c->entries[index] : NULL;

	return e && *e == UTF8 ? (struct sp_class_text){(const char *)e + 3, sp_be16(e + 1)}
			       : (struct sp_class_text){"", 0};
}

struct sp_class_text sp_constant_pool_class(const struct sp_constant_pool *c, uint32_t index)
{
	const uint8_t *e = index < c->count ? c->entries[index] : NULL;

	return sp_constant_pool_utf8(c, e && *e == CLASS ? sp_be16(e + 1) : 0);
}

static uint32_t taken(struct sp_constant_pool *c)
{
	return c->total < MOST ? c->total++ : 0;
}

uint32_t sp_constant_pool_add_utf8(struct sp_constant_pool *c, const char *s, size_t len)
{
	uint32_t i = len <= MOST ? taken(c) : 0;

	if (i) {
		sp_put_u1(&c->added, UTF8);
		sp_put_u2(&c->added, (uint32_t)len);
		sp_buf_add(&c->added, s, len);
	}
	return i;
}

uint32_t sp_constant_pool_add_class(struct sp_constant_pool *c, const char *s, size_t len)
{
	uint32_t name = sp_constant_pool_add_utf8(c, s, len), i = name ? taken(c) : 0;

	if (i) {
		sp_put_u1(&c->added, CLASS);
		sp_put_u2(&c->added, name);
	}
	return i;
}

/* An entry of two indices. */
static uint32_t add_pair(struct sp_constant_pool *c, uint32_t tag, uint32_t a, uint32_t b)
{
	uint32_t i = a && b ? taken(c) : 0;

	if (i) {
		sp_put_u1(&c->added, tag);
		sp_put_u2(&c->added, a);
		sp_put_u2(&c->added, b);
	}
	return i;
}

uint32_t sp_constant_pool_add_method(
	struct sp_constant_pool *c, const char *of, const char *name, const char *descriptor)
{
	uint32_t class_id = sp_constant_pool_add_class(c, of, strlen(of));
	uint32_t name_id = sp_constant_pool_add_utf8(c, name, strlen(name));
	uint32_t type_id = sp_constant_pool_add_utf8(c, descriptor, strlen(descriptor));

	return add_pair(c, METHOD, class_id, add_pair(c, NAME_AND_TYPE, name_id, type_id));
}
