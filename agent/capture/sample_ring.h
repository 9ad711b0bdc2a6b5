/* The consumer's half of the byte ring in sig/ring.h: mapping it, and taking records out.
 * Context: one consumer thread, never a signal handler. */
#ifndef SP_AGENT_CAPTURE_SAMPLE_RING_H
#define SP_AGENT_CAPTURE_SAMPLE_RING_H

#include "sig/ring.h"

/* Maps and prefaults a ring of @size bytes (a power of two, at least a page): a first touch in a
 * handler would cost 10 us. The memory is not copied into forked children. Returns 0 or -errno. */
__attribute__((warn_unused_result)) int sp_ring_init(struct sp_ring *r, size_t size);
void sp_ring_done(struct sp_ring *r);

/* Bytes that are reserved now. */
static inline uint64_t sp_ring_used(const struct sp_ring *r)
{
	return atomic_load_explicit(&r->head, memory_order_relaxed) -
	       atomic_load_explicit(&r->tail, memory_order_relaxed);
}

/* The oldest record if it is ready, else NULL. Borrowed until sp_ring_release(). */
struct sp_ring_head *sp_ring_peek(struct sp_ring *r);

/* The record that begins @ahead bytes after the oldest one, where it is ready; else NULL. */
struct sp_ring_head *sp_ring_peek_at(struct sp_ring *r, uint64_t ahead);

/* Gives the record that sp_ring_peek() returned back to the producers. */
void sp_ring_release(struct sp_ring *r, struct sp_ring_head *rec);

#endif
