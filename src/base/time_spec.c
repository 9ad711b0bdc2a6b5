/* Moments: see time_spec.h. */
#include "base/time_spec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"

#define SECOND 1000000000ull

/* "14:30", "14:30:05", "14:30:05.25": since midnight. *ret_end is behind it. */
static int parse_clock(const char *s, uint64_t *ret_ns, const char **ret_end)
{
	unsigned hour, minute;
	double seconds = 0;
	int n = 0;
	char *end;

	if (sscanf(s, "%2u:%2u%n", &hour, &minute, &n) != 2 || hour > 23 || minute > 59)
		return -EINVAL;
	s += n;
	if (*s == ':') {
		if (s[1] < '0' || s[1] > '9')
			return -EINVAL;
		seconds = strtod(s + 1, &end);
		if (seconds >= 61)
			return -EINVAL;
		s = end;
	}
	*ret_ns = (hour * 3600ull + minute * 60ull) * SECOND + (uint64_t)(seconds * 1e9);
	*ret_end = s;
	return 0;
}

static int parse_date(const char *s, struct sp_time_spec *ret)
{
	struct tm tm = {.tm_isdst = -1};
	uint64_t clock = 0;
	bool utc = false;
	time_t day;
	int n = 0;

	if (sscanf(s, "%4d-%2d-%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &n) != 3 ||
		tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31)
		return -EINVAL;
	s += n;
	if ((*s == 'T' || *s == ' ') && parse_clock(s + 1, &clock, &s) < 0)
		return -EINVAL;
	if (*s == 'Z') {
		utc = true;
		s++;
	}
	if (*s)
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	day = utc ? timegm(&tm) : mktime(&tm);
	if (day < 0)
		return -EINVAL;
	*ret = (struct sp_time_spec){SP_TIME_SPEC_DATE, (uint64_t)day * SECOND + clock};
	return 0;
}

int sp_time_spec_parse(const char *text, struct sp_time_spec *ret)
{
	bool negative = *text == '-';
	const char *end;
	uint64_t ns;

	if (strlen(text) == 13 && strspn(text, "0123456789") == 13) {
		*ret = (struct sp_time_spec){SP_TIME_SPEC_DATE, strtoull(text, NULL, 10) * 1000000};
		return 0;
	}
	if (sp_duration_parse(text + negative, SECOND, &ns) == 0) {
		ret->kind = negative ? SP_TIME_SPEC_BEFORE_END : SP_TIME_SPEC_AFTER_START;
		ret->ns = ns;
		return 0;
	}
	if (parse_clock(text, &ns, &end) == 0 && *end == '\0') {
		*ret = (struct sp_time_spec){SP_TIME_SPEC_CLOCK, ns};
		return 0;
	}
	return parse_date(text, ret);
}

/* Midnight of the day of @ns, local time. */
static uint64_t midnight(uint64_t ns)
{
	time_t t = (time_t)(ns / SECOND);
	struct tm tm;

	if (!localtime_r(&t, &tm))
		return ns;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	return (uint64_t)mktime(&tm) * SECOND;
}

uint64_t sp_time_spec_resolve(const struct sp_time_spec *w, uint64_t start_ns, uint64_t end_ns)
{
	switch (w->kind) {
	case SP_TIME_SPEC_AFTER_START:
		return start_ns + w->ns;
	case SP_TIME_SPEC_BEFORE_END:
		return end_ns > w->ns ? end_ns - w->ns : 1;
	case SP_TIME_SPEC_CLOCK:
		return midnight(start_ns) + w->ns;
	case SP_TIME_SPEC_DATE:
		return w->ns;
	default:
		return 0;
	}
}
