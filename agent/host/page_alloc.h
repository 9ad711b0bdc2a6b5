/* Zeroed memory straight from the kernel, touched only as used: for tables that are sized for the
 * worst case. */
#ifndef SP_AGENT_HOST_PAGE_ALLOC_H
#define SP_AGENT_HOST_PAGE_ALLOC_H

#include <stddef.h>
#include <sys/mman.h>

/* @n zeroed bytes, or NULL. Owned by the caller: sp_page_alloc_unmap(p, n). */
static inline void *sp_page_alloc_map(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		-1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* @p may be NULL. */
static inline void sp_page_alloc_unmap(void *p, size_t n)
{
	if (p)
		munmap(p, n);
}

#endif
