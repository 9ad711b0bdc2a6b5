/* Stacks known from earlier chunks: see stack_cache.h. Two tables by key; the bytes of a stack are
 * kept as their length and a 64-bit hash. */
#include "jfr/stack_cache.h"

#include "base/hash.h"

#include <stdlib.h>

#define MOST (1u << 20) /* entries a table may hold: 24 bytes each */

struct entry {
	uint64_t key, hash;
	uint32_t len, id; /* id 0: free */
};

struct table {
	struct entry *slots;
	uint32_t count, size; /* 1 << bits */
	unsigned bits;
};

struct sp_jfr_stack_cache {
	struct table methods, stacks;
	uint64_t layout, kinds;
	uint64_t round; /* how often all stacks became unknown */
};

struct sp_jfr_stack_cache *sp_jfr_stack_cache_new(void)
{
	return calloc(1, sizeof(struct sp_jfr_stack_cache));
}

static void clear(struct table *t)
{
	free(t->slots);
	*t = (struct table){0};
}

void sp_jfr_stack_cache_free(struct sp_jfr_stack_cache *k)
{
	if (!k)
		return;
	clear(&k->methods);
	clear(&k->stacks);
	free(k);
}

/* Where @key is or belongs; the table has slots. Keys that follow each other are beside each other,
 * for recordings have them in that order, except where as many as there are slots lie between. */
static struct entry *find(const struct table *t, uint64_t key)
{
	uint32_t mask = t->size - 1;
	uint32_t i = (uint32_t)(key + ((key >> t->bits) * 0x9e3779b97f4a7c15ull >> 32)) & mask;

	while (t->slots[i].id && t->slots[i].key != key)
		i = (i + 1) & mask;
	return &t->slots[i];
}

/* The same with room for one more; NULL when there is none. */
static struct entry *find_room(struct table *t, uint64_t key)
{
	struct table to = {.count = t->count, .bits = t->size ? t->bits + 1 : 10};

	if (t->size && t->count < t->size / 2)
		return find(t, key);
	to.size = 1u << to.bits;
	to.slots = to.size / 2 <= MOST ? calloc(to.size, sizeof(*to.slots)) : NULL;
	if (!to.slots)
		return NULL;
	for (uint32_t i = 0; i < t->size; i++)
		if (t->slots[i].id)
			*find(&to, t->slots[i].key) = t->slots[i];
	free(t->slots);
	*t = to;
	return find(t, key);
}

static void forget(struct sp_jfr_stack_cache *k)
{
	clear(&k->stacks);
	k->round++;
}

uint64_t sp_jfr_stack_cache_enter(struct sp_jfr_stack_cache *k, uint64_t layout)
{
	if (k->layout != layout)
		forget(k);
	k->layout = layout;
	return k->round;
}

void sp_jfr_stack_cache_kinds(struct sp_jfr_stack_cache *k, uint64_t kinds)
{
	if (k->kinds != kinds)
		forget(k);
	k->kinds = kinds;
}

bool sp_jfr_stack_cache_since(const struct sp_jfr_stack_cache *k, uint64_t round)
{
	return k->round == round;
}

void sp_jfr_stack_cache_method(struct sp_jfr_stack_cache *k, uint64_t key, uint32_t id)
{
	struct entry *e = find_room(&k->methods, key);

	if (!e || (e->id && e->id != id)) {
		forget(k);
		clear(&k->methods);
		e = find_room(&k->methods, key);
	}
	if (!e || e->id)
		return;
	*e = (struct entry){.key = key, .id = id};
	k->methods.count++;
}

uint32_t sp_jfr_stack_cache_stack(const struct sp_jfr_stack_cache *k, uint64_t key,
	const uint8_t *data, size_t left, size_t *ret_len)
{
	const struct entry *e = k->stacks.size ? find(&k->stacks, key) : NULL;

	if (!e || !e->id || e->len > left || e->hash != sp_hash_bytes(data, e->len))
		return 0;
	*ret_len = e->len;
	return e->id;
}

void sp_jfr_stack_cache_keep(
	struct sp_jfr_stack_cache *k, uint64_t key, const uint8_t *data, size_t len, uint32_t id)
{
	struct entry *e = id && len <= UINT32_MAX ? find_room(&k->stacks, key) : NULL;

	if (!e)
		return;
	k->stacks.count += e->id == 0;
	*e = (struct entry){key, sp_hash_bytes(data, len), (uint32_t)len, id};
}
