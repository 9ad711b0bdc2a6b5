/* Growable arrays: room for one entry more. */
#ifndef SP_BASE_GROW_H
#define SP_BASE_GROW_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for entry number @n, each of @size bytes, in the array that @array points to, which
 * has room for *@cap: it doubles, from @first on. On failure all is as before. Returns 0 or
 * -ENOMEM. Context: where realloc may be called. */
__attribute__((nonnull, warn_unused_result)) static inline int sp_grow(
	void *array, size_t *cap, size_t n, size_t size, size_t first)
{
	size_t want = *cap ? *cap : first;
	void *p;

	if (n < *cap)
		return 0;
	while (want <= n) {
		if (want > SIZE_MAX / 2)
			return -ENOMEM;
		want *= 2;
	}
	if (want > PTRDIFF_MAX / size)
		return -ENOMEM;
	p = realloc(*(void **)array, want * size);
	if (!p)
		return -ENOMEM;
	*(void **)array = p;
	*cap = want;
	return 0;
}

/* The same with new entries zero. */
__attribute__((nonnull, warn_unused_result)) static inline int sp_grow_zero(
	void *array, size_t *cap, size_t n, size_t size, size_t first)
{
	size_t old = *cap;
	int r = sp_grow(array, cap, n, size, first);

	if (r == 0 && *cap > old)
		memset(*(char **)array + old * size, 0, (*cap - old) * size);
	return r;
}

/* For short lists that keep no count of their room: makes the array that @array points to one of
 * @n + 1 entries. On failure all is as before. Returns 0 or -ENOMEM. */
__attribute__((nonnull, warn_unused_result)) static inline int sp_grow_one(
	void *array, size_t n, size_t size)
{
	void *p = n < PTRDIFF_MAX / size ? realloc(*(void **)array, (n + 1) * size) : NULL;

	if (!p)
		return -ENOMEM;
	*(void **)array = p;
	return 0;
}

#endif
