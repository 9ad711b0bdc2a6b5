/* Durations, sizes and counts: see units.h. Decimal fractions are parsed by hand because strtod
 * follows the locale and accepts "inf", "nan" and hexadecimal. */
#include "base/units.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit duration_units[] = {
	{"ns", 1},
	{"us", 1000},
	{"ms", 1000000},
	{"s", 1000000000},
	{"m", 60 * 1000000000ull},
	{"min", 60 * 1000000000ull},
	{"h", 3600 * 1000000000ull},
	{"d", 86400 * 1000000000ull},
};

static const struct unit size_units[] = {
	{"b", 1},
	{"k", 1ull << 10},
	{"kb", 1ull << 10},
	{"m", 1ull << 20},
	{"mb", 1ull << 20},
	{"g", 1ull << 30},
	{"gb", 1ull << 30},
};

static int find_unit(
	const struct unit *units, size_t n, const char *s, uint64_t bare, uint64_t *ret)
{
	if (*s == '\0') {
		*ret = bare;
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		if (strcasecmp(units[i].name, s) == 0) {
			*ret = units[i].factor;
			return 0;
		}
	}
	return -EINVAL;
}

/* "12.5" → whole 12, fraction 5 of 10. Leaves *s behind the digits. */
static int parse_decimal(const char **s, uint64_t *ret_whole, uint64_t *ret_num, uint64_t *ret_den)
{
	uint64_t whole = 0, num = 0, den = 1;
	const char *p = *s;
	bool digits = false;

	for (; isdigit((unsigned char)*p); p++, digits = true) {
		if (__builtin_mul_overflow(whole, 10, &whole) ||
			__builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole))
			return -ERANGE;
	}
	if (*p == '.') {
		for (p++; isdigit((unsigned char)*p); p++, digits = true) {
			if (den < 1000000000) {
				num = num * 10 + (uint64_t)(*p - '0');
				den *= 10;
			}
		}
	}
	if (!digits)
		return -EINVAL;
	*s = p;
	*ret_whole = whole;
	*ret_num = num;
	*ret_den = den;
	return 0;
}

static int parse_units(
	const struct unit *units, size_t n, const char *s, uint64_t bare, uint64_t *ret)
{
	uint64_t whole, num, den, factor, value;
	int r;

	if (*s == '-' && isdigit((unsigned char)s[1]))
		return -ERANGE;
	r = parse_decimal(&s, &whole, &num, &den);
	if (r < 0)
		return r;
	r = find_unit(units, n, s, bare, &factor);
	if (r < 0)
		return r;
	if (__builtin_mul_overflow(whole, factor, &value) ||
		__builtin_add_overflow(value, (uint64_t)((__uint128_t)num * factor / den), &value))
		return -ERANGE;
	*ret = value;
	return 0;
}

int sp_duration_parse(const char *s, uint64_t bare_ns, uint64_t *ret_ns)
{
	return parse_units(duration_units, SP_COUNT(duration_units), s, bare_ns, ret_ns);
}

int sp_size_parse(const char *s, uint64_t *ret_bytes)
{
	return parse_units(size_units, SP_COUNT(size_units), s, 1, ret_bytes);
}

int sp_count_parse(const char *s, uint64_t *ret)
{
	uint64_t num, den, value;
	int r;

	if (*s == '-' && isdigit((unsigned char)s[1]))
		return -ERANGE;
	if (strchr(s, '.'))
		return -EINVAL;
	r = parse_decimal(&s, &value, &num, &den);
	if (r < 0)
		return r;
	if (*s)
		return -EINVAL;
	*ret = value;
	return 0;
}

const char *sp_duration_format(uint64_t ns, char *buf, size_t len)
{
	uint64_t s = ns / 1000000000;

	if (ns < 1000)
		snprintf(buf, len, "%u ns", (unsigned)ns);
	else if (ns < 1000000)
		snprintf(buf, len, "%.4g us", (double)ns / 1e3);
	else if (ns < 1000000000)
		snprintf(buf, len, "%.4g ms", (double)ns / 1e6);
	else if (s < 60)
		snprintf(buf, len, "%.3g s", (double)ns / 1e9);
	else if (s < 3600)
		snprintf(buf, len, "%u min %02u s", (unsigned)(s / 60), (unsigned)(s % 60));
	else if (s < 2 * 86400)
		snprintf(buf, len, "%u h %02u min", (unsigned)(s / 3600), (unsigned)(s / 60 % 60));
	else
		snprintf(buf, len, "%llu days", (unsigned long long)(s / 86400));
	return buf;
}

const char *sp_size_format(uint64_t bytes, char *buf, size_t len)
{
	static const char *const names[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
	double v = (double)bytes;
	size_t i = 0;

	while (v >= 1024 && i + 1 < SP_COUNT(names)) {
		v /= 1024;
		i++;
	}
	snprintf(buf, len, i ? "%.1f %s" : "%.0f %s", v, names[i]);
	return buf;
}
