/* Capped arenas over anonymous memory: see arena.h. */
#include "base/arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096ul

int sp_arena_init(struct sp_arena *a, size_t cap)
{
	void *p;

	memset(a, 0, sizeof(*a));
	cap = (cap + PAGE - 1) & ~(PAGE - 1);
	p = mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		0);
	if (p == MAP_FAILED)
		return -errno;
	a->base = p;
	a->cap = cap;
	return 0;
}

void sp_arena_done(struct sp_arena *a)
{
	if (a->base)
		munmap(a->base, a->cap);
	memset(a, 0, sizeof(*a));
}

void *sp_arena_alloc(struct sp_arena *a, size_t n)
{
	void *p;

	if (n > a->cap || ((n + 15) & ~15ul) > a->cap - a->used) {
		a->refused++;
		return NULL;
	}
	p = a->base + a->used;
	a->used += (n + 15) & ~15ul;
	return p;
}

void sp_arena_large_pages(struct sp_arena *a)
{
	madvise(a->base, a->cap, MADV_HUGEPAGE);
}

void sp_arena_reset(struct sp_arena *a)
{
	if (a->used)
		madvise(a->base, a->cap, MADV_DONTNEED);
	a->used = 0;
}
