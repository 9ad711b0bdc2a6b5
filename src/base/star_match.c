/* See star_match.h. */
#include "base/star_match.h"

#include <string.h>

/* Pieces between stars are taken where they occur first; the last one must end the text, unless a
 * star does. */
bool sp_star_match(const char *pattern, const char *s, size_t len)
{
	const char *end = s + len;
	size_t n = strcspn(pattern, "*");

	if (n > len || memcmp(pattern, s, n) != 0)
		return false;
	if (!pattern[n])
		return n == len;
	for (s += n, pattern += n; *pattern;) { /* at a star */
		const char *found;

		pattern++;
		len = (size_t)(end - s);
		n = strcspn(pattern, "*");
		if (!pattern[n])
			return n <= len && memcmp(end - n, pattern, n) == 0;
		found = memmem(s, len, pattern, n);
		if (!found)
			return false;
		s = found + n;
		pattern += n;
	}
	return true;
}
