/* Memory that is mapped beforehand, handed out in order and given back all at once, with a cap.
 * A full arena returns NULL and counts it; it never grows past its cap. Not thread-safe: one owner.
 */
#ifndef SP_BASE_ARENA_H
#define SP_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct sp_arena {
	char *base; /* one anonymous mapping of @cap bytes, touched only as used */
	size_t used, cap;
	uint64_t refused; /* requests that did not fit */
};

/* Maps @cap bytes (rounded up to pages). Returns 0 or -errno. */
__attribute__((warn_unused_result)) int sp_arena_init(struct sp_arena *a, size_t cap);
void sp_arena_done(struct sp_arena *a);

/* The same for an arena that lies in itself: its owner's struct is its first memory. */
static inline void sp_arena_done_own(const struct sp_arena *a)
{
	struct sp_arena copy = *a;

	sp_arena_done(&copy);
}

/* Zeroed memory aligned to 16 bytes, borrowed until sp_arena_reset/done; NULL when full. */
void *sp_arena_alloc(struct sp_arena *a, size_t n);

/* Asks for large pages for what is not used yet: for who goes about it at random, and much of it.
 * Where the kernel has none to give, nothing changes. */
void sp_arena_large_pages(struct sp_arena *a);

/* Forgets everything and returns the touched pages to the kernel. */
void sp_arena_reset(struct sp_arena *a);

#endif
