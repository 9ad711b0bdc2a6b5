/* What the linker takes where an object of the agent calls libc's malloc, free, qsort …
 * (--wrap in agent/meson.build). See own_heap.h and own_sort.h. */
#include "own_heap.h"
#include "own_sort.h"

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t max);
void __wrap_qsort(void *base, size_t n, size_t size, int (*cmp)(const void *, const void *));
void __wrap_qsort_r(void *base, size_t n, size_t size,
	int (*cmp)(const void *, const void *, void *), void *ctx);

void *__wrap_malloc(size_t size)
{
	return sp_own_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return sp_own_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return sp_own_realloc(p, size);
}

void __wrap_free(void *p)
{
	sp_own_free(p);
}

char *__wrap_strdup(const char *s)
{
	return sp_own_strdup(s);
}

char *__wrap_strndup(const char *s, size_t max)
{
	return sp_own_strndup(s, max);
}

void __wrap_qsort(void *base, size_t n, size_t size, int (*cmp)(const void *, const void *))
{
	sp_own_qsort(base, n, size, cmp);
}

void __wrap_qsort_r(void *base, size_t n, size_t size,
	int (*cmp)(const void *, const void *, void *), void *ctx)
{
	sp_own_qsort_r(base, n, size, cmp, ctx);
}
