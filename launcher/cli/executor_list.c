/* --executors: see executor_list.h. */
#include "executor_list.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>

/* A number or a range, and what is behind it; NULL: neither. */
static const char *read_range(const char *s, uint64_t *ret_from, uint64_t *ret_to)
{
	char *end;

	if (!isdigit((unsigned char)*s))
		return NULL;
	*ret_from = *ret_to = strtoull(s, &end, 10);
	if (*end != '-')
		return end;
	if (!isdigit((unsigned char)end[1]))
		return NULL;
	*ret_to = strtoull(end + 1, &end, 10);
	return *ret_to >= *ret_from ? end : NULL;
}

bool sp_executor_list_is(const char *text)
{
	uint64_t from, to;

	for (const char *s = text; (s = read_range(s, &from, &to)) != NULL; s++)
		if (*s != ',')
			return !*s;
	return false;
}

bool sp_executor_list_has(const char *list, const char *id)
{
	uint64_t from, to, number = strtoull(id, NULL, 10);

	if (!isdigit((unsigned char)*id))
		return false;
	for (const char *s = list; (s = read_range(s, &from, &to)) != NULL; s++) {
		if (number >= from && number <= to)
			return true;
		if (*s != ',')
			break;
	}
	return false;
}
