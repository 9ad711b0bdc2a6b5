/* See arg_values.h. */
#include "arg_values.h"

#include "base/cleanup.h"
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAYTIME (1ull << 63) /* longer than any time: the rest are hour, minute and second */
#define ANY	0xffu

static const struct {
	enum sp_arg_kind kind;
	const char *what;
} whats[] = {
	{SP_ARG_NANOS, "a time; write 10ms, 500us"},
	{SP_ARG_SECONDS, "a time; write 30s, 10m"},
	{SP_ARG_TIMEOUT, "a time; write 30s, 10m, or 23:30:00"},
	{SP_ARG_LOOP, "a time; write 30s, 10m, or 23:30:00"},
	{SP_ARG_INTERVAL, "a time or a size; write 10ms, 500us, 512k"},
	{SP_ARG_SIZE, "a size; write 512k, 12m"},
	{SP_ARG_DEPTH, "a number; write 2048, or 200/40"},
	{SP_ARG_FRACTION, "a part of one; write 0.1"},
};

const char *sp_arg_value_what(enum sp_arg_kind kind)
{
	for (size_t i = 0; i < SP_COUNT(whats); i++)
		if (whats[i].kind == kind)
			return whats[i].what;
	return "right";
}

/* "0.1" as a number of a million. */
static int parse_fraction(const char *value, uint64_t *ret)
{
	char *end;
	double d = strtod(value, &end);

	if (end == value || *end || !(d >= 0 && d <= 1))
		return -EINVAL;
	*ret = (uint64_t)(d * 1e6 + 0.5);
	return 0;
}

static int parse_depth(const char *value, uint64_t *ret)
{
	char digits[16] = "";
	size_t n = strcspn(value, "/");

	if (n < sizeof(digits))
		memcpy(digits, value, n);
	return sp_count_parse(digits, ret);
}

/* @value with the first letter of its unit for all of it; of a short time m is ms. */
static const char *first_letter(const char *value, bool is_short, char *buf, size_t size)
{
	size_t n = strspn(value, "0123456789.");
	int unit = tolower((unsigned char)value[n]);

	if (!n || n + 3 > size || !isalpha(unit))
		return value;
	snprintf(buf, size, "%.*s%c%s", (int)n, value, unit,
		unit == 'n' || unit == 'u' || (unit == 'm' && is_short) ? "s" : "");
	return buf;
}

static int parse_short(const char *value, uint64_t *ret)
{
	size_t n = strspn(value, "0123456789.");
	char buf[32];

	if (strcasecmp(value + n, "m") != 0 && sp_duration_parse(value, 1, ret) == 0)
		return 0;
	return sp_duration_parse(first_letter(value, true, buf, sizeof(buf)), 1, ret);
}

static int parse_long(const char *value, uint64_t *ret)
{
	char buf[32];

	if (sp_duration_parse(value, 1000000000, ret) == 0)
		return 0;
	return sp_duration_parse(first_letter(value, false, buf, sizeof(buf)), 1000000000, ret);
}

static int parse_size(const char *value, uint64_t *ret)
{
	char buf[32];

	if (sp_size_parse(value, ret) == 0)
		return 0;
	return sp_size_parse(first_letter(value, false, buf, sizeof(buf)), ret);
}

/* Two digits below @most, or anything else, which is any. Leaves *s at the colon or the end. */
static int read_part(const char **s, unsigned most, unsigned *ret)
{
	const char *p = *s;
	size_t n = strcspn(p, ":");

	*ret = ANY;
	if (n == 0 || n > 2)
		return -EINVAL;
	if (isdigit((unsigned char)p[0]) && (n == 1 || isdigit((unsigned char)p[1])))
		*ret = (unsigned)atoi(p);
	*s += n;
	return *ret == ANY || *ret < most ? 0 : -EINVAL;
}

static int parse_daytime(const char *s, uint64_t *ret)
{
	static const unsigned most[] = {24, 60, 60};
	unsigned part;
	uint64_t all = 0;

	for (size_t i = 0; i < SP_COUNT(most); i++) {
		if (read_part(&s, most[i], &part) < 0 || *s != (i < 2 ? ':' : 0))
			return -EINVAL;
		s += i < 2;
		all = all << 8 | part;
	}
	*ret = DAYTIME | all;
	return 0;
}

uint64_t sp_arg_value_left(uint64_t loop, time_t now)
{
	unsigned hour = loop >> 16 & 0xff, minute = loop >> 8 & 0xff, second = loop & 0xff;
	struct tm tm;
	time_t then;

	if (!(loop & DAYTIME) || !localtime_r(&now, &tm))
		return loop;
	tm.tm_hour = hour == ANY ? tm.tm_hour : (int)hour;
	tm.tm_min = minute == ANY ? tm.tm_min : (int)minute;
	tm.tm_sec = second == ANY ? tm.tm_sec : (int)second;
	tm.tm_isdst = -1;
	then = mktime(&tm);
	if (then <= now)
		then += hour != ANY ? 86400 : minute != ANY ? 3600 : 60;
	return then > now ? (uint64_t)(then - now) * 1000000000 : 1000000000;
}

static int parse_loop(const char *value, uint64_t *ret)
{
	return strchr(value, ':') ? parse_daytime(value, ret) : parse_long(value, ret);
}

int sp_arg_value_parse(enum sp_arg_kind kind, const char *value, uint64_t *ret)
{
	int r;

	switch (kind) {
	case SP_ARG_NANOS:
		return parse_short(value, ret);
	case SP_ARG_SECONDS:
		return parse_long(value, ret);
	case SP_ARG_LOOP:
		return parse_loop(value, ret);
	case SP_ARG_TIMEOUT:
		r = parse_loop(value, ret);
		*ret = r == 0 ? sp_arg_value_left(*ret, time(NULL)) : 0;
		return r;
	case SP_ARG_INTERVAL:
		return parse_short(value, ret) < 0 ? parse_size(value, ret) : 0;
	case SP_ARG_SIZE:
		return parse_size(value, ret);
	case SP_ARG_DEPTH:
		return parse_depth(value, ret);
	case SP_ARG_FRACTION:
		return parse_fraction(value, ret);
	default:
		return -EINVAL;
	}
}
