/* See stubs.h. Writers reserve a slot and mark it ready; the reader keeps an index by address of
 * those it has seen. */
#include "unwind/stubs.h"

#include "base/arena.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define STUBS_MAX 65535u /* the index has 16 bits */

struct stub {
	uint64_t begin;
	uint32_t size;
	_Atomic uint32_t ready;
	char name[SP_STUB_NAME + 4];
};

struct sp_stubs {
	struct sp_arena arena; /* holds this struct too */
	uint32_t max;
	_Atomic uint32_t reserved;
	uint32_t indexed; /* the reader's */
	uint16_t *index;  /* by begin; of those that begin together the longest first */
	struct stub *stubs;
};

int sp_stubs_new(struct sp_stubs **ret, size_t cap)
{
	struct sp_arena arena;
	struct sp_stubs *s;
	int r = sp_arena_init(&arena, cap);

	if (r < 0)
		return r;
	s = sp_arena_alloc(&arena, sizeof(*s));
	if (s) {
		size_t room =
			(arena.cap - arena.used - 32) / (sizeof(struct stub) + sizeof(*s->index));

		s->max = room < STUBS_MAX ? (uint32_t)room : STUBS_MAX;
		s->stubs = sp_arena_alloc(&arena, s->max * sizeof(*s->stubs));
		s->index = sp_arena_alloc(&arena, s->max * sizeof(*s->index));
	}
	if (!s || !s->stubs || !s->index) {
		sp_arena_done(&arena);
		return -ENOMEM;
	}
	s->arena = arena;
	*ret = s;
	return 0;
}

void sp_stubs_free(struct sp_stubs *s)
{
	if (s)
		sp_arena_done_own(&s->arena);
}

void sp_stubs_add(struct sp_stubs *s, const char *name, uint64_t begin, uint64_t end)
{
	uint32_t i;

	if (!name || !name[0] || end <= begin || end - begin > UINT32_MAX)
		return;
	i = atomic_fetch_add(&s->reserved, 1);
	if (i >= s->max)
		return;
	s->stubs[i].begin = begin;
	s->stubs[i].size = (uint32_t)(end - begin);
	strncpy(s->stubs[i].name, name, SP_STUB_NAME);
	atomic_store_explicit(&s->stubs[i].ready, 1, memory_order_release);
}

uint32_t sp_stubs_refused(const struct sp_stubs *s)
{
	uint32_t n = atomic_load(&s->reserved);

	return n > s->max ? n - s->max : 0;
}

/* Whether @a comes before what begins at @begin with @size. */
static bool is_before(const struct stub *a, uint64_t begin, uint32_t size)
{
	return a->begin != begin ? a->begin < begin : a->size > size;
}

/* How many of the index come before. */
static uint32_t count_before(const struct sp_stubs *s, uint64_t begin, uint32_t size)
{
	uint32_t low = 0, high = s->indexed;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (is_before(&s->stubs[s->index[mid]], begin, size))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void index_new(struct sp_stubs *s)
{
	uint32_t n = atomic_load_explicit(&s->reserved, memory_order_acquire);

	if (n > s->max)
		n = s->max;
	while (s->indexed < n) {
		const struct stub *t = &s->stubs[s->indexed];
		uint32_t at;

		if (!atomic_load_explicit(&t->ready, memory_order_acquire))
			return; /* being written: the next look */
		at = count_before(s, t->begin, t->size);
		memmove(&s->index[at + 1], &s->index[at], (s->indexed - at) * sizeof(*s->index));
		s->index[at] = (uint16_t)s->indexed++;
	}
}

const char *sp_stubs_find(
	struct sp_stubs *s, uint64_t pc, uint64_t low, uint64_t high, uint64_t *ret_begin)
{
	const struct stub *t;
	uint32_t n;

	index_new(s);
	n = count_before(s, pc, 0); /* all that begin at @pc or below: none is empty */
	if (!n)
		return NULL;
	t = &s->stubs[s->index[n - 1]];
	if (pc - t->begin >= t->size || t->begin < low || t->begin + t->size > high)
		return NULL;
	/* A whole blob has a name of its own; the event's has its kind in front, or not. */
	if (t->begin == low && t->begin + t->size == high)
		return NULL;
	if (ret_begin)
		*ret_begin = t->begin;
	return t->name;
}
