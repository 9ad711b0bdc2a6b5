/* Class files (JVMS 4) as bytes: reading with a sticky error, and a constant pool that can be added
 * to. Plain functions over memory: no JVM, no global state. */
#ifndef SP_AGENT_CLASSFILE_CONSTANT_POOL_H
#define SP_AGENT_CLASSFILE_CONSTANT_POOL_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The position of reading. Beyond the end everything is 0 and @bad stays set. */
struct sp_class_bytes {
	const uint8_t *p, *end;
	bool bad;
};

static inline bool sp_class_bytes_have(struct sp_class_bytes *b, size_t n)
{
	b->bad |= (size_t)(b->end - b->p) < n;
	return !b->bad;
}

static inline const uint8_t *sp_class_bytes_skip(struct sp_class_bytes *b, size_t n)
{
	const uint8_t *at = b->p;

	if (!sp_class_bytes_have(b, n))
		return NULL;
	b->p += n;
	return at;
}

static inline uint32_t sp_be16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t sp_be32(const uint8_t *p)
{
	return sp_be16(p) << 16 | sp_be16(p + 2);
}

static inline uint32_t sp_class_bytes_u1(struct sp_class_bytes *b)
{
	const uint8_t *p = sp_class_bytes_skip(b, 1);

	return p ? *p : 0;
}

static inline uint32_t sp_class_bytes_u2(struct sp_class_bytes *b)
{
	const uint8_t *p = sp_class_bytes_skip(b, 2);

	return p ? sp_be16(p) : 0;
}

static inline uint32_t sp_class_bytes_u4(struct sp_class_bytes *b)
{
	const uint8_t *p = sp_class_bytes_skip(b, 4);

	return p ? sp_be32(p) : 0;
}

/* The next @n bytes as a reading of their own. */
static inline struct sp_class_bytes sp_class_bytes_part(struct sp_class_bytes *b, size_t n)
{
	const uint8_t *p = sp_class_bytes_skip(b, n);

	return p ? (struct sp_class_bytes){p, p + n, false}
		 : (struct sp_class_bytes){NULL, NULL, true};
}

static inline void sp_put_u1(struct sp_buf *b, uint32_t v)
{
	sp_buf_addc(b, (char)v);
}

static inline void sp_put_u2(struct sp_buf *b, uint32_t v)
{
	sp_put_u1(b, v >> 8);
	sp_put_u1(b, v);
}

static inline void sp_put_u4(struct sp_buf *b, uint32_t v)
{
	sp_put_u2(b, v >> 16);
	sp_put_u2(b, v);
}

/* Writes over what was put at @at before. */
static inline void sp_patch_u4(struct sp_buf *b, size_t at, uint32_t v)
{
	for (int i = 0; i < 4 && !b->failed; i++)
		b->data[at + (size_t)i] = (char)(v >> (24 - 8 * i));
}

struct sp_class_text {
	const char *s; /* not terminated */
	size_t len;
};

bool sp_class_text_is(struct sp_class_text t, const char *s);

struct sp_constant_pool {
	const uint8_t **entries; /* by index, at the tag; NULL: none */
	uint32_t count;		 /* as the file has it: one more than there are */
	struct sp_buf added;	 /* entries behind them, encoded */
	uint32_t total;		 /* count with those */
};

/* Reads the pool, count first, and leaves @b behind it. Entries are borrowed from @b's memory.
 * Returns 0, -EBADMSG or -ENOMEM; sp_constant_pool_done() in every case. */
__attribute__((warn_unused_result)) int sp_constant_pool_read(
	struct sp_constant_pool *c, struct sp_class_bytes *b);
void sp_constant_pool_done(struct sp_constant_pool *c);

/* A Utf8 entry, or the name of a Class entry, of the file; length 0 where it is none. */
struct sp_class_text sp_constant_pool_utf8(const struct sp_constant_pool *c, uint32_t index);
struct sp_class_text sp_constant_pool_class(const struct sp_constant_pool *c, uint32_t index);

/* Adds an entry. Returns its index; 0 where the pool is full. */
uint32_t sp_constant_pool_add_utf8(struct sp_constant_pool *c, const char *s, size_t len);
uint32_t sp_constant_pool_add_class(struct sp_constant_pool *c, const char *s, size_t len);
uint32_t sp_constant_pool_add_method(
	struct sp_constant_pool *c, const char *of, const char *name, const char *descriptor);

#endif
