/* A chunk in memory: see chunk.h. Finds constants without decoding them. */
#include "jfr/chunk.h"

#include "jfr/encode.h"
#include "jfr/types.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

int sp_jfr_chunk_open(struct sp_jfr_chunk_data *c, const uint8_t *data, uint64_t len,
	uint64_t offset, struct sp_err *err)
{
	struct sp_jfr_cursor h = {.p = data + 4, .end = data + len};
	uint64_t size;
	uint32_t flags, major;

	memset(c, 0, sizeof(*c));
	if (len < SP_JFR_HEADER || memcmp(data, "FLR\0", 4) != 0)
		return sp_err_set(err, -EBADMSG, "not a JFR chunk at offset %llu",
			(unsigned long long)offset);
	major = (uint32_t)sp_jfr_get_be(&h, 2);
	sp_jfr_get_be(&h, 2);
	size = sp_jfr_get_be(&h, 8);
	c->pool = sp_jfr_get_be(&h, 8);
	c->meta = sp_jfr_get_be(&h, 8);
	c->start_ns = sp_jfr_get_be(&h, 8);
	c->duration_ns = sp_jfr_get_be(&h, 8);
	c->start_ticks = sp_jfr_get_be(&h, 8);
	c->ticks_per_s = sp_jfr_get_be(&h, 8);
	if (c->ticks_per_s > 1000000000)
		c->ns_per_tick =
			(uint64_t)(((unsigned __int128)1000000000 << 64) / c->ticks_per_s) + 1;
	flags = (uint32_t)sp_jfr_get_be(&h, 4);
	if (major < 1 || major > 2)
		return sp_err_set(err, -EBADMSG, "JFR version %u at offset %llu is not known",
			major, (unsigned long long)offset);
	c->raw = !(flags & 1);
	c->data = data;
	c->offset = offset;
	/* A JVM that was killed leaves a state that is not 0, a size of 0, or one beyond the end.
	 */
	c->whole = flags >> 24 || size < SP_JFR_HEADER ? 0 : size;
	c->unfinished = flags >> 24 || size < SP_JFR_HEADER || size > len;
	if (size < SP_JFR_HEADER || size > len)
		size = len;
	if (size > UINT32_MAX)
		return sp_err_set(err, -EBADMSG, "the chunk at offset %llu is larger than 4 GB",
			(unsigned long long)offset);
	c->len = (uint32_t)size;
	return 0;
}

struct sp_jfr_cursor sp_jfr_chunk_at(const struct sp_jfr_chunk_data *c, uint64_t at)
{
	struct sp_jfr_cursor cur = {.p = c->data + c->len, .end = c->data + c->len, .raw = c->raw};

	if (at <= c->len)
		cur.p = c->data + at;
	return cur;
}

int sp_jfr_chunk_next(const struct sp_jfr_chunk_data *c, uint64_t *at, struct sp_jfr_cursor *ret,
	uint64_t *ret_type)
{
	struct sp_jfr_cursor cur = sp_jfr_chunk_at(c, *at);
	const uint8_t *start = cur.p;
	uint32_t size;

	if (*at >= c->len)
		return 0;
	size = sp_jfr_get_int(&cur);
	if (cur.bad || size > (uint64_t)(cur.end - start) || size <= (uint64_t)(cur.p - start))
		return -EBADMSG;
	cur.end = start + size;
	*ret_type = sp_jfr_get_long(&cur);
	if (cur.bad)
		return -EBADMSG;
	*at += size;
	*ret = cur;
	return 1;
}

/* Keys that async-profiler counts from 1 follow each other; others are spread. */
static bool is_dense(const struct sp_jfr_table *t, uint32_t mask)
{
	return t->most / 2 <= mask;
}

static bool is_full(const struct sp_jfr_table *t, uint64_t count)
{
	return !t->slots || count * 4 >= (t->mask + 1ull) * 3;
}

/* Makes room for @more constants, and spreads those that turned out not to be dense. */
static int table_grow(struct sp_jfr_table *t, uint32_t more)
{
	uint64_t size = t->slots ? t->mask + 1ull : 16;
	struct sp_jfr_table to = {.count = t->count, .most = t->most};

	while (((uint64_t)t->count + more) * 4 >= size * 3 && size < UINT32_MAX / 2)
		size *= 2;
	to.mask = (uint32_t)size - 1;
	to.dense = is_dense(t, to.mask);
	to.slots = calloc((size_t)to.mask + 1, sizeof(*to.slots));
	if (!to.slots)
		return -ENOMEM;
	for (uint32_t i = 0; t->slots && i <= t->mask; i++) {
		uint32_t slot = sp_jfr_table_slot(&to, t->slots[i].key);

		if (!t->slots[i].at)
			continue;
		while (to.slots[slot].at)
			slot = (slot + 1) & to.mask;
		to.slots[slot] = t->slots[i];
	}
	free(t->slots);
	*t = to;
	return 0;
}

/* The first definition of a key stays. */
static int table_add(struct sp_jfr_table *t, uint64_t key, uint32_t at, uint32_t id)
{
	uint32_t slot;

	t->most = key > t->most ? key : t->most;
	if ((is_full(t, t->count) || (t->dense && !is_dense(t, t->mask))) && table_grow(t, 1) < 0)
		return -ENOMEM;
	for (slot = sp_jfr_table_slot(t, key); t->slots[slot].at; slot = (slot + 1) & t->mask) {
		if (t->slots[slot].key == key)
			return 0;
	}
	t->slots[slot] = (struct sp_jfr_const){key, at, id};
	t->count++;
	return 0;
}

/* Moves @cur behind a constant. Returns what is known to have become of it, + 1; 0: nothing. To
 * recognise a stack is quicker than to find its end. */
static uint32_t pass_constant(
	struct sp_jfr_chunk_data *c, struct sp_jfr_cursor *cur, int type, uint64_t key)
{
	size_t left = (size_t)(cur->end - cur->p), len;
	uint32_t id = 0;

	if (c->known && type == c->stack)
		id = sp_jfr_stack_cache_stack(c->known, key, cur->p, left, &len);
	if (!id) {
		sp_jfr_schema_skip(&c->schema, cur, type);
		return 0;
	}
	cur->p += len;
	return id + 1;
}

static int read_pool(struct sp_jfr_chunk_data *c, struct sp_jfr_cursor *cur)
{
	int type = sp_jfr_schema_find(&c->schema, sp_jfr_get_long(cur));
	uint32_t count = sp_jfr_get_int(cur);
	struct sp_jfr_table *t;

	if (type < 0 || count > (uint64_t)(cur->end - cur->p)) /* each takes a byte at least */
		return -EBADMSG;
	t = &c->tables[type];
	if (count && is_full(t, (uint64_t)t->count + count) && table_grow(t, count) < 0)
		return -ENOMEM;
	for (; count && !cur->bad; count--) {
		uint64_t key = sp_jfr_get_long(cur);
		uint32_t at = (uint32_t)(cur->p - c->data);
		uint32_t id = pass_constant(c, cur, type, key);

		if (!cur->bad && table_add(t, key, at, id) < 0)
			return -ENOMEM;
	}
	return cur->bad ? -EBADMSG : 0;
}

/* Reads the checkpoint at @at. *ret_link is how far away the next one is. */
static int read_checkpoint(
	struct sp_jfr_chunk_data *c, uint64_t at, int64_t *ret_link, uint32_t *ret_size)
{
	struct sp_jfr_cursor cur;
	uint64_t type, end = at;
	uint32_t pools;
	int r = at < SP_JFR_HEADER ? -EBADMSG : sp_jfr_chunk_next(c, &end, &cur, &type);

	if (r <= 0 || type != SP_JFR_CHECKPOINT)
		return -EBADMSG;
	*ret_size = (uint32_t)(end - at);
	sp_jfr_get_long(&cur); /* start, duration */
	sp_jfr_get_long(&cur);
	*ret_link = (int64_t)sp_jfr_get_long(&cur);
	sp_jfr_get_byte(&cur); /* kind */
	pools = sp_jfr_get_int(&cur);
	for (r = 0; pools && r == 0 && !cur.bad; pools--)
		r = read_pool(c, &cur);
	return r < 0 ? r : cur.bad ? -EBADMSG : 0;
}

/* All checkpoints in the order of the file, for a chunk with a broken chain. */
static int scan_checkpoints(struct sp_jfr_chunk_data *c)
{
	struct sp_jfr_cursor cur;
	uint64_t at = SP_JFR_HEADER, type, start = at;
	uint32_t size;
	int64_t link;

	while (sp_jfr_chunk_next(c, &at, &cur, &type) > 0) {
		if (type == SP_JFR_CHECKPOINT && read_checkpoint(c, start, &link, &size) == -ENOMEM)
			return -ENOMEM;
		start = at;
	}
	return 0;
}

/* Follows the chain, forward or back. What it reads in all is bounded: a chain that runs in circles
 * or overlaps itself is no chain. */
static int follow_checkpoints(struct sp_jfr_chunk_data *c, struct sp_err *err)
{
	uint64_t at = c->pool, sum = 0;

	for (;;) {
		int64_t link = 0;
		uint32_t size = 0;
		int r = read_checkpoint(c, at, &link, &size);

		sum += size;
		if (r == -EBADMSG || sum > c->len)
			return sp_err_set(err, -EBADMSG,
				"the constants at offset %" PRIu64 " cannot be read",
				c->offset + at);
		if (r < 0 || link == 0)
			return r;
		at += (uint64_t)link;
	}
}

/* The metadata's place where the header does not say it (yet). */
static uint64_t find_metadata(const struct sp_jfr_chunk_data *c)
{
	struct sp_jfr_cursor cur;
	uint64_t at = SP_JFR_HEADER, start = at, type, found = 0;

	while (sp_jfr_chunk_next(c, &at, &cur, &type) > 0) {
		if (type == SP_JFR_METADATA && at - start > 64)
			found = start;
		start = at;
	}
	return found;
}

int sp_jfr_chunk_types(struct sp_jfr_chunk_data *c, struct sp_err *err)
{
	int r;

	if (c->tables)
		return 0;

	if (!c->meta && c->unfinished)
		c->meta = find_metadata(c);
	if (c->meta < SP_JFR_HEADER || c->meta >= c->len)
		return sp_err_set(err, -EBADMSG,
			"the chunk at offset %llu does not say what it holds%s",
			(unsigned long long)c->offset,
			c->unfinished ? " (its writer was killed)" : "");
	r = sp_jfr_schema_read(&c->schema, sp_jfr_chunk_at(c, c->meta));
	if (r == -EBADMSG)
		return sp_err_set(err, r, "the types at offset %" PRIu64 " cannot be read",
			c->offset + c->meta);
	if (r == 0) {
		c->tables = calloc(c->schema.type_count + 1, sizeof(*c->tables));
		r = c->tables ? 0 : -ENOMEM;
	}
	return r < 0 ? sp_err_set(err, r, "no memory for a chunk's types") : 0;
}

int sp_jfr_chunk_load(struct sp_jfr_chunk_data *c, struct sp_err *err)
{
	int r = sp_jfr_chunk_types(c, err);

	if (r < 0)
		return r;
	if (c->pool)
		r = follow_checkpoints(c, err);
	if ((!c->pool && c->unfinished) || r == -EBADMSG)
		r = scan_checkpoints(c) < 0 ? -ENOMEM : r;
	return r;
}

void sp_jfr_chunk_done(struct sp_jfr_chunk_data *c)
{
	for (uint32_t i = 0; c->tables && i < c->schema.type_count; i++)
		free(c->tables[i].slots);
	free(c->tables);
	sp_jfr_schema_done(&c->schema);
	c->tables = NULL;
}
