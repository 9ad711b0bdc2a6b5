/* Patterns of -I and -X: a '*' at the start, at the end or at both matches anything; without one
 * the whole name must be equal. A '*' inside is a plain character, as in async-profiler. */
#ifndef SP_PROF_MODEL_GLOB_H
#define SP_PROF_MODEL_GLOB_H

#include <stdbool.h>
#include <stddef.h>

bool sp_glob(const char *pattern, const char *s);

/* The same for tables of our own, in which a '*' matches anything wherever it is. */
bool sp_match_glob(const char *pattern, const char *s);

/* Does any of the @n patterns match? */
bool sp_glob_any(const char *const *patterns, size_t n, const char *s);

#endif
