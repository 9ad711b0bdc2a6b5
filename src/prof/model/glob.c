/* The wildcards of -I and -X: see glob.h. */
#include "prof/model/glob.h"

#include "base/star_match.h"

#include <string.h>

bool sp_glob(const char *pattern, const char *s)
{
	bool open_start = pattern[0] == '*', open_end;
	size_t n, len = strlen(s);

	if (open_start)
		pattern++;
	n = strlen(pattern);
	open_end = n > 0 && pattern[n - 1] == '*';
	if (open_end)
		n--;
	if (open_start && open_end)
		return memmem(s, len, pattern, n) != NULL;
	if (n > len || (!open_start && !open_end && n != len))
		return false;
	return memcmp(open_start ? s + len - n : s, pattern, n) == 0;
}

bool sp_match_glob(const char *pattern, const char *s)
{
	return sp_star_match(pattern, s, strlen(s));
}

bool sp_glob_any(const char *const *patterns, size_t n, const char *s)
{
	for (size_t i = 0; i < n; i++)
		if (sp_glob(patterns[i], s))
			return true;
	return false;
}
