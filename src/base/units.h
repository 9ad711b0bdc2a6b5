/* Durations, sizes and counts as users write and read them. */
#ifndef SP_BASE_UNITS_H
#define SP_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parses "30", "30s", "0.5s", "2m", "1h", "1d", "50ms", "100us", "10ns". A bare number is
 * multiplied by
 * @bare_ns (1e9 for seconds, 1 for async-profiler's nanosecond intervals).
 * Returns: 0; -EINVAL if it is not a duration; -ERANGE if it does not fit or is negative. */
int sp_duration_parse(const char *s, uint64_t bare_ns, uint64_t *ret_ns);

/* Parses "4096", "512k", "2m", "1g" (powers of 1,024, either case, optional trailing "b").
 * Returns as sp_duration_parse. */
int sp_size_parse(const char *s, uint64_t *ret_bytes);

/* Parses a whole decimal number with no sign and nothing behind it. Returns as above. */
int sp_count_parse(const char *s, uint64_t *ret);

/* Write a duration ("1 h 02 min", "12.5 s", "50 ms") or size ("12.0 MB") for a person to read.
 * Returns: @buf, always terminated. */
const char *sp_duration_format(uint64_t ns, char *buf, size_t len);
const char *sp_size_format(uint64_t bytes, char *buf, size_t len);

#endif
