/* See own_sort.h: heapsort. */
#include "own_sort.h"

struct sorting {
	char *base;
	size_t size;
	int (*cmp)(const void *, const void *, void *);
	void *ctx;
};

static void swap(const struct sorting *s, size_t i, size_t j)
{
	char *a = s->base + i * s->size, *b = s->base + j * s->size;

	for (size_t k = 0; k < s->size; k++) {
		char c = a[k];

		a[k] = b[k];
		b[k] = c;
	}
}

static int compare(const struct sorting *s, size_t i, size_t j)
{
	return s->cmp(s->base + i * s->size, s->base + j * s->size, s->ctx);
}

/* Lets the element at @i sink to its place in the heap of the first @n. */
static void sink(const struct sorting *s, size_t i, size_t n)
{
	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && compare(s, child, child + 1) < 0)
			child++;
		if (compare(s, i, child) >= 0)
			return;
		swap(s, i, child);
	}
}

void sp_own_qsort_r(void *base, size_t n, size_t size,
	int (*cmp)(const void *, const void *, void *), void *ctx)
{
	struct sorting s = {base, size, cmp, ctx};

	for (size_t i = n / 2; i-- > 0;)
		sink(&s, i, n);
	for (size_t i = n; i-- > 1;) {
		swap(&s, 0, i);
		sink(&s, 0, i);
	}
}

static int without_context(const void *a, const void *b, void *ctx)
{
	int (*const *cmp)(const void *, const void *) = ctx;

	return (*cmp)(a, b);
}

void sp_own_qsort(void *base, size_t n, size_t size, int (*cmp)(const void *, const void *))
{
	sp_own_qsort_r(base, n, size, without_context, (void *)&cmp);
}
