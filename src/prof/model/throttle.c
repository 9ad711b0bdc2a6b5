/* See throttle.h. Points are sums since the container began, a second apart. */
#include "prof/model/throttle.h"

#include <stdio.h>

#include "base/units.h"

#define APART_NS 10000000000ull /* further apart they are of two recordings */

static uint64_t grown(const struct sp_series *s)
{
	uint64_t sum = 0;

	for (size_t i = 1; i < s->count; i++) {
		const struct sp_point *a = &s->points[i - 1], *b = &s->points[i];

		if (b->time_ns >= a->time_ns && b->time_ns - a->time_ns < APART_NS &&
			b->value > a->value)
			sum += b->value - a->value;
	}
	return sum;
}

bool sp_throttle_of(const struct sp_profile *p, struct sp_throttle *ret)
{
	*ret = (struct sp_throttle){.periods = grown(&p->series[SP_SERIES_PERIODS]),
		.throttled = grown(&p->series[SP_SERIES_THROTTLED]),
		.ns = grown(&p->series[SP_SERIES_THROTTLED_NS])};
	return p->series[SP_SERIES_PERIODS].count > 0;
}

void sp_throttle_describe(const struct sp_profile *p, char *buf, size_t size)
{
	struct sp_throttle t;
	char n[32];

	buf[0] = 0;
	if (!sp_throttle_of(p, &t) || !t.periods)
		return;
	if (t.throttled)
		snprintf(buf, size,
			"the container used up its CPU limit in %llu of %llu periods: its threads "
			"had no core for %s, of all CPUs together",
			(unsigned long long)t.throttled, (unsigned long long)t.periods,
			sp_duration_format(t.ns, n, sizeof(n)));
	else
		snprintf(buf, size, "the container never used up its CPU limit (%llu periods)",
			(unsigned long long)t.periods);
}
