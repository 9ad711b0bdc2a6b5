/* Maps the ring's memory twice and consumes its records; see sample_ring.h. */
#include "sample_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* A shared anonymous mapping can be mapped again with mremap() of old size 0, on every kernel and
 * with no descriptor (mremap(2), NOTES). */
int sp_ring_init(struct sp_ring *r, size_t size)
{
	uint8_t *base = mmap(NULL, size * 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED)
		return -errno;
	if (mmap(base, size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1, 0) == MAP_FAILED ||
		mremap(base, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, base + size) == MAP_FAILED) {
		int e = errno;

		munmap(base, size * 2);
		return -e;
	}
	madvise(base, size * 2, MADV_DONTFORK);
	memset(base, 0, size);
	/* The second half's page table entries are separate: touch them too. */
	for (size_t i = 0; i < size; i += 4096)
		*(volatile uint8_t *)(base + size + i) = 0;
	memset(r, 0, sizeof(*r));
	r->base = base;
	r->size = size;
	return 0;
}

void sp_ring_done(struct sp_ring *r)
{
	if (r->base)
		munmap(r->base, r->size * 2);
	r->base = NULL;
}

struct sp_ring_head *sp_ring_peek_at(struct sp_ring *r, uint64_t ahead)
{
	uint64_t at = atomic_load_explicit(&r->tail, memory_order_relaxed) + ahead;
	struct sp_ring_head *rec;

	if (at >= atomic_load_explicit(&r->head, memory_order_acquire))
		return NULL;
	rec = (struct sp_ring_head *)(r->base + (at & (r->size - 1)));
	return atomic_load_explicit(&rec->ready, memory_order_acquire) ? rec : NULL;
}

struct sp_ring_head *sp_ring_peek(struct sp_ring *r)
{
	return sp_ring_peek_at(r, 0);
}

void sp_ring_release(struct sp_ring *r, struct sp_ring_head *rec)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	uint32_t size = rec->size;

	memset(rec, 0, size);
	atomic_store_explicit(&r->tail, tail + size, memory_order_release);
}
