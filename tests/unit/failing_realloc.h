/* Makes the nth realloc fail in a test program that is linked with -Wl,--wrap=realloc. Include
 * once. */
#ifndef SP_TESTS_FAILING_REALLOC_H
#define SP_TESTS_FAILING_REALLOC_H

#include <stddef.h>

static unsigned realloc_fails_at; /* 0: never; 1: the next one … */

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_realloc(void *p, size_t n)
{
	if (realloc_fails_at && --realloc_fails_at == 0)
		return NULL;
	return __real_realloc(p, n);
}

#endif
