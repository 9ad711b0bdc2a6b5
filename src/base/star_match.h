/* Patterns of tables of our own: a '*' matches anything wherever it is. */
#ifndef SP_BASE_STAR_MATCH_H
#define SP_BASE_STAR_MATCH_H

#include <stdbool.h>
#include <stddef.h>

/* Whether @pattern matches all @len bytes of @s. */
bool sp_star_match(const char *pattern, const char *s, size_t len);

#endif
