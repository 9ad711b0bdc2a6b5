/* Inside of src/out: numbers as reports show them. */
#ifndef SP_OUT_NUMBER_H
#define SP_OUT_NUMBER_H

#include <stdint.h>
#include <stdio.h>

#include "base/units.h"
#include "prof/model/profile.h"

#define SP_NUMBER_SIZE 32

/* "1,234,567". Returns @buf. */
static inline const char *sp_number(uint64_t v, char buf[SP_NUMBER_SIZE])
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)v), at = 0;

	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = 0;
	return buf;
}

/* A weight in its unit: "12.5 s", "3.0 MB", "1,234". Returns @buf. */
static inline const char *sp_number_unit(uint64_t v, enum sp_unit unit, char buf[SP_NUMBER_SIZE])
{
	if (unit == SP_UNIT_NS)
		return sp_duration_format(v, buf, SP_NUMBER_SIZE);
	if (unit == SP_UNIT_BYTES)
		return sp_size_format(v, buf, SP_NUMBER_SIZE);
	return sp_number(v, buf);
}

static inline double sp_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

#endif
