/* The dictionary of strings, methods, stacks and threads: see dict.h. Everything lives in one
 * capped arena: nodes are found by their hash through slots, and by id through blocks of pointers;
 * an array of slots that grows leaves the old one behind (at most as much again). Called by the
 * collector and by the report readers, never by a signal handler. */
#include "dict/dict.h"

#include "base/arena.h"
#include "base/hash.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 256u /* ids a block of pointers holds */
#define ALIGN 16u  /* of what an arena gives */

struct node {
	uint32_t id;
	uint32_t len; /* bytes of data[] */
	uint16_t marks;
	uint8_t truncated;
	char data[] __attribute__((aligned(8)));
};

struct block {
	struct node *nodes[BLOCK];
	uint8_t marks[BLOCK];
};

/* With the hash beside it a node that is not the one need not be looked at. */
struct slot {
	uint32_t hash;
	uint32_t at; /* of the node in the arena, in units of ALIGN; 0: free */
};

struct pool {
	struct slot *slots;
	struct block **blocks;
	uint32_t slot_count, block_cap, count;
};

struct sp_dict {
	struct sp_arena arena, scratch;
	struct pool strings, methods, stacks, threads;
	struct sp_frame_ref *frames; /* what sp_dict_get_stack unpacked last */
	uint8_t *packed;	     /* what sp_dict_stack is looking for */
	struct sp_stack stack;
	uint64_t refused;
	unsigned others; /* owners beside the first */
};

int sp_dict_new(struct sp_dict **ret, size_t cap)
{
	struct sp_dict *d = calloc(1, sizeof(*d));
	size_t frames = SP_DICT_MAX_FRAMES * sizeof(struct sp_frame_ref);
	int r;

	if (!d)
		return -ENOMEM;
	r = sp_arena_init(&d->arena, cap);
	if (r == 0)
		r = sp_arena_init(&d->scratch, frames + SP_DICT_MAX_FRAMES * SP_DICT_FRAME);
	if (r < 0) {
		sp_dict_free(d);
		return r;
	}
	d->frames = sp_arena_alloc(&d->scratch, frames);
	d->packed = sp_arena_alloc(&d->scratch, SP_DICT_MAX_FRAMES * SP_DICT_FRAME);
	*ret = d;
	return 0;
}

void sp_dict_free(struct sp_dict *d)
{
	if (!d || d->others-- > 0)
		return;
	sp_arena_done(&d->arena);
	sp_arena_done(&d->scratch);
	free(d);
}

void sp_dict_large_pages(struct sp_dict *d)
{
	sp_arena_large_pages(&d->arena);
}

struct sp_dict *sp_dict_share(struct sp_dict *d)
{
	d->others++;
	return d;
}

void sp_dict_reset(struct sp_dict *d)
{
	sp_arena_reset(&d->arena);
	memset(&d->strings, 0, sizeof(d->strings));
	memset(&d->methods, 0, sizeof(d->methods));
	memset(&d->stacks, 0, sizeof(d->stacks));
	memset(&d->threads, 0, sizeof(d->threads));
	d->refused = 0;
}

/* Doubles the slots. In an arena that is almost full they stay as they are, to be filled further,
 * which is slower and not wrong. */
static void grow_slots(struct sp_dict *d, struct pool *p)
{
	uint32_t count = p->slot_count ? p->slot_count * 2 : 64, mask = count - 1;
	struct slot *to = NULL;

	if (count * sizeof(*to) <= (d->arena.cap - d->arena.used) / 2 || !p->slot_count)
		to = sp_arena_alloc(&d->arena, count * sizeof(*to));
	if (!to)
		return;
	for (uint32_t i = 0; i < p->slot_count; i++) {
		uint32_t at = p->slots[i].hash & mask;

		while (to[at].at)
			at = (at + 1) & mask;
		if (p->slots[i].at)
			to[at] = p->slots[i];
	}
	p->slots = to;
	p->slot_count = count;
}

/* Whether there is a free slot for one more, and some besides, for those that are looked for. */
static bool has_slot(struct sp_dict *d, struct pool *p)
{
	if (p->count >= p->slot_count / 4 * 3)
		grow_slots(d, p);
	return p->count < p->slot_count / 16 * 15;
}

/* The place for the pointer of the next id, or NULL when full. */
static struct node **next_slot(struct sp_dict *d, struct pool *p)
{
	uint32_t block = p->count / BLOCK;

	if (block >= p->block_cap) {
		uint32_t cap = p->block_cap ? p->block_cap * 2 : 32;
		struct block **to = sp_arena_alloc(&d->arena, cap * sizeof(*to));

		if (!to)
			return NULL;
		if (p->block_cap)
			memcpy(to, p->blocks, p->block_cap * sizeof(*to));
		p->blocks = to;
		p->block_cap = cap;
	}
	if (!p->blocks[block])
		p->blocks[block] = sp_arena_alloc(&d->arena, sizeof(struct block));
	return p->blocks[block] ? &p->blocks[block]->nodes[p->count % BLOCK] : NULL;
}

static struct node *find_id(const struct pool *p, uint32_t id)
{
	if (id == 0 || id > p->count)
		return NULL;
	return p->blocks[(id - 1) / BLOCK]->nodes[(id - 1) % BLOCK];
}

static const struct node *node_at(const struct sp_dict *d, uint32_t at)
{
	return (const void *)(d->arena.base + (size_t)at * ALIGN);
}

static uint32_t insert(struct sp_dict *d, struct pool *p, uint32_t hash, const void *data,
	uint32_t len, uint8_t truncated)
{
	struct node **by_id = has_slot(d, p) ? next_slot(d, p) : NULL;
	struct node *n = by_id ? sp_arena_alloc(&d->arena, sizeof(*n) + len + 1) : NULL;
	uint32_t mask = p->slot_count - 1, i = hash & mask;

	if (!n) {
		d->refused++;
		return 0;
	}
	n->len = len;
	n->truncated = truncated;
	memcpy(n->data, data, len);
	while (p->slots[i].at)
		i = (i + 1) & mask;
	p->slots[i] = (struct slot){hash, (uint32_t)((size_t)((char *)n - d->arena.base) / ALIGN)};
	*by_id = n;
	n->id = ++p->count;
	return p->count;
}

static uint32_t intern(
	struct sp_dict *d, struct pool *p, const void *data, size_t len, uint8_t truncated)
{
	uint64_t full = sp_hash_bytes(data, len) + truncated;
	uint32_t hash = (uint32_t)(full ^ (full >> 32)), mask = p->slot_count - 1;

	if (len > UINT32_MAX / 2) {
		d->refused++;
		return 0;
	}
	for (uint32_t i = hash & mask; p->slot_count && p->slots[i].at; i = (i + 1) & mask) {
		const struct node *n = node_at(d, p->slots[i].at);

		if (p->slots[i].hash == hash && n->len == len && n->truncated == truncated &&
			memcmp(n->data, data, len) == 0)
			return n->id;
	}
	return insert(d, p, hash, data, (uint32_t)len, truncated);
}

uint32_t sp_dict_string(struct sp_dict *d, const char *s, size_t len)
{
	return intern(d, &d->strings, s, len, 0);
}

uint32_t sp_dict_method(struct sp_dict *d, const struct sp_method *m)
{
	struct sp_method clean; /* padding, if there is any, compares equal */

	memset(&clean, 0, sizeof(clean));
	clean.class_id = m->class_id;
	clean.name_id = m->name_id;
	clean.sig_id = m->sig_id;
	clean.modifiers = m->modifiers;
	clean.native = m->native;
	clean.unresolved = m->unresolved;
	return intern(d, &d->methods, &clean, sizeof(clean), 0);
}

uint32_t sp_dict_thread(struct sp_dict *d, const struct sp_thread *t)
{
	struct sp_thread clean;

	memset(&clean, 0, sizeof(clean));
	clean.tid = t->tid;
	clean.java_id = t->java_id;
	clean.name_id = t->name_id;
	clean.group_id = t->group_id;
	return intern(d, &d->threads, &clean, sizeof(clean), 0);
}

static uint8_t *put_varint(uint8_t *to, uint32_t v)
{
	while (v >= 0x80) {
		*to++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*to++ = (uint8_t)v;
	return to;
}

static inline const uint8_t *get_varint(const uint8_t *p, uint32_t *ret)
{
	uint32_t v = *p & 0x7f;

	for (int shift = 7; *p++ & 0x80; shift += 7)
		v |= (uint32_t)(*p & 0x7f) << shift;
	*ret = v;
	return p;
}

size_t sp_dict_pack_large(const struct sp_frame_ref *frame, uint8_t *to)
{
	uint8_t *end = put_varint(to, frame->method);

	end = put_varint(end, (uint32_t)frame->line + 1); /* -1, the usual unknown, in one byte */
	end = put_varint(end, (uint32_t)frame->bci + 1);
	return (size_t)(put_varint(end, frame->type) - to);
}

uint32_t sp_dict_packed(struct sp_dict *d, const uint8_t *frames, size_t len, int truncated)
{
	return intern(d, &d->stacks, frames, len, truncated != 0);
}

uint32_t sp_dict_stack(
	struct sp_dict *d, const struct sp_frame_ref *frames, uint32_t count, int truncated)
{
	uint8_t *to = d->packed;

	if (count > SP_DICT_MAX_FRAMES) {
		count = SP_DICT_MAX_FRAMES;
		truncated = 1;
	}
	for (uint32_t i = 0; i < count; i++)
		to += sp_dict_pack_frame(&frames[i], to);
	return sp_dict_packed(d, d->packed, (size_t)(to - d->packed), truncated);
}

const char *sp_dict_get_string(const struct sp_dict *d, uint32_t id, size_t *ret_len)
{
	const struct node *n = find_id(&d->strings, id);

	if (ret_len)
		*ret_len = n ? n->len : 0;
	return n ? n->data : "";
}

const struct sp_method *sp_dict_get_method(const struct sp_dict *d, uint32_t id)
{
	const struct node *n = find_id(&d->methods, id);

	return n ? (const void *)n->data : NULL;
}

const struct sp_thread *sp_dict_get_thread(const struct sp_dict *d, uint32_t id)
{
	const struct node *n = find_id(&d->threads, id);

	return n ? (const void *)n->data : NULL;
}

const struct sp_stack *sp_dict_get_stack(struct sp_dict *d, uint32_t id)
{
	const struct node *n = find_id(&d->stacks, id);
	const uint8_t *p, *end;
	uint32_t count = 0, v;

	if (!n)
		return NULL;
	p = (const uint8_t *)n->data;
	for (end = p + n->len; p < end; count++) {
		struct sp_frame_ref *f = &d->frames[count];

		p = get_varint(p, &f->method);
		p = get_varint(p, &v);
		f->line = (int32_t)(v - 1);
		p = get_varint(p, &v);
		f->bci = (int32_t)(v - 1);
		p = get_varint(p, &v);
		f->type = (uint8_t)v;
	}
	d->stack.frames = d->frames;
	d->stack.count = count;
	d->stack.truncated = n->truncated;
	return &d->stack;
}

uint8_t sp_dict_stack_marks(const struct sp_dict *d, uint32_t stack_id)
{
	uint32_t i = stack_id - 1;

	return i < d->stacks.count ? d->stacks.blocks[i / BLOCK]->marks[i % BLOCK] : 0;
}

void sp_dict_add_stack_marks(struct sp_dict *d, uint32_t stack_id, uint8_t marks)
{
	uint32_t i = stack_id - 1;

	if (i < d->stacks.count)
		d->stacks.blocks[i / BLOCK]->marks[i % BLOCK] |= marks;
}

uint16_t sp_dict_marks(const struct sp_dict *d, uint32_t string_id)
{
	const struct node *n = find_id(&d->strings, string_id);

	return n ? n->marks : 0;
}

void sp_dict_set_marks(struct sp_dict *d, uint32_t string_id, uint16_t marks)
{
	struct node *n = find_id(&d->strings, string_id);

	if (n)
		n->marks = marks;
}

void sp_dict_clear_marks(struct sp_dict *d)
{
	for (uint32_t id = 1; id <= d->strings.count; id++)
		find_id(&d->strings, id)->marks = 0;
}

uint32_t sp_dict_strings(const struct sp_dict *d)
{
	return d->strings.count;
}

uint32_t sp_dict_methods(const struct sp_dict *d)
{
	return d->methods.count;
}

uint32_t sp_dict_stacks(const struct sp_dict *d)
{
	return d->stacks.count;
}

uint32_t sp_dict_threads(const struct sp_dict *d)
{
	return d->threads.count;
}

size_t sp_dict_used(const struct sp_dict *d)
{
	return d->arena.used;
}

size_t sp_dict_cap(const struct sp_dict *d)
{
	return d->arena.cap;
}

uint64_t sp_dict_refused(const struct sp_dict *d)
{
	return d->refused;
}
