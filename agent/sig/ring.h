/* A byte ring with many producers (signal handlers) and one consumer (the collector). The memory is
 * mapped twice in a row, so a record never wraps. Producers reserve by compare-and-swap, fill, and
 * raise the record's ready flag; the consumer takes records in order of reservation and leaves
 * zeroes behind, so that memory which is reserved but not yet filled always reads "not ready".
 * This header holds what a handler may execute; mapping and consuming are in
 * agent/capture/sample_ring.h. */
#ifndef SP_AGENT_SIG_RING_H
#define SP_AGENT_SIG_RING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct sp_ring_head {
	_Atomic uint32_t ready;
	uint32_t size; /* of the whole record, a multiple of SP_RING_ALIGN */
};

#define SP_RING_ALIGN 64u

struct sp_ring {
	uint8_t *base;			    /* @size bytes, and the same bytes again behind them */
	uint64_t size;			    /* a power of two */
	_Alignas(64) _Atomic uint64_t head; /* bytes ever reserved */
	_Alignas(64) _Atomic uint64_t tail; /* bytes ever consumed */
	_Alignas(64) _Atomic uint64_t refused; /* reservations that found it full */
};

/* Reserves @n bytes, headed by a struct sp_ring_head that the caller overlays.
 * Context: any thread, signal handlers included; lock-free.
 * Returns: the record, to be given to sp_ring_commit soon; NULL when full (counted). */
static inline struct sp_ring_head *sp_ring_reserve(struct sp_ring *r, uint64_t n)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	struct sp_ring_head *rec;

	n = (n + SP_RING_ALIGN - 1) & ~(uint64_t)(SP_RING_ALIGN - 1);
	do {
		/* Acquire: the consumer's zeroes are there before we write over them. */
		uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);

		/* A head read long ago may lie behind the tail: read it again. */
		if (tail > head) {
			head = atomic_load_explicit(&r->head, memory_order_relaxed);
			continue;
		}
		if (head - tail + n > r->size) {
			atomic_fetch_add_explicit(&r->refused, 1, memory_order_relaxed);
			return NULL;
		}
		if (atomic_compare_exchange_weak_explicit(
			    &r->head, &head, head + n, memory_order_acq_rel, memory_order_relaxed))
			break;
	} while (1);
	rec = (struct sp_ring_head *)(r->base + (head & (r->size - 1)));
	rec->size = (uint32_t)n;
	return rec;
}

/* Hands the record to the consumer; the producer must not touch it afterwards. */
static inline void sp_ring_commit(struct sp_ring_head *rec)
{
	atomic_store_explicit(&rec->ready, 1, memory_order_release);
}

#endif
