/* Moments as users write them: offsets from the start or end of something, or times of day. */
#ifndef SP_BASE_TIME_SPEC_H
#define SP_BASE_TIME_SPEC_H

#include <stdint.h>

struct sp_time_spec {
	enum {
		SP_TIME_SPEC_NONE,
		SP_TIME_SPEC_AFTER_START,
		SP_TIME_SPEC_BEFORE_END,
		SP_TIME_SPEC_CLOCK, /* of the day on which it starts */
		SP_TIME_SPEC_DATE
	} kind;
	uint64_t ns; /* an offset; CLOCK: since midnight; DATE: since 1970 */
};

/* Parses "10s", "90" (seconds), "-1m" (before the end), "14:30", "14:30:05.5", "2026-03-01",
 * "2026-03-01T14:30:05" (also with a blank, and with Z for UTC; else local time), and milliseconds
 * since 1970 (13 digits). Returns 0 or -EINVAL. */
int sp_time_spec_parse(const char *text, struct sp_time_spec *ret);

/* The moment in nanoseconds since 1970, for something that lasts from @start_ns to @end_ns. 0 for
 * SP_TIME_SPEC_NONE. */
uint64_t sp_time_spec_resolve(const struct sp_time_spec *w, uint64_t start_ns, uint64_t end_ns);

#endif
