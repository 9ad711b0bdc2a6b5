/* Patterns of -I and -X: a '*' at the start, at the end or at both stands for anything; without one
 * the whole name must be equal. A '*' inside is a plain character, as in async-profiler. */
#ifndef SP_PROF_MATCH_H
#define SP_PROF_MATCH_H

#include <stdbool.h>
#include <stddef.h>

bool sp_match(const char *pattern, const char *s);

/* Does any of the @n patterns match? */
bool sp_match_any(const char *const *patterns, size_t n, const char *s);

#endif
