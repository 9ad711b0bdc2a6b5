/* Sorting without memory: glibc's qsort takes a copy from malloc where the array has more than 1
 * KB. qsort and qsort_r in the agent's objects mean these (by the linker's --wrap). Not stable. */
#ifndef SP_AGENT_HOST_OWN_SORT_H
#define SP_AGENT_HOST_OWN_SORT_H

#include <stddef.h>

void sp_own_qsort(void *base, size_t n, size_t size, int (*cmp)(const void *, const void *));
void sp_own_qsort_r(void *base, size_t n, size_t size,
	int (*cmp)(const void *, const void *, void *), void *ctx);

#endif
