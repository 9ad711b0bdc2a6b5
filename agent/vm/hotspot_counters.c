/* See hotspot_counters.h. PerfDataPrologue and PerfDataEntry of perfMemory.hpp: 32 bytes of
 * prologue, then entries of {length, name offset, vector length, type, flags, unit, variability,
 * data offset}. */
#include "hotspot_counters.h"

#include "vm_statics.h"

#include <stddef.h>
#include <string.h>

struct perf_entry {
	int32_t length, name, vector;
	int8_t type, flags, unit, variability;
	int32_t data;
};

#define PERF_MAGIC 0xc0c0feca

void sp_hotspot_counters_each(
	void (*fn)(void *ctx, const char *name, const volatile uint64_t *value), void *ctx)
{
	uint64_t at = sp_vm_statics_static("PerfMemory", "_start");
	const uint8_t *p = at ? *(const uint8_t **)at : NULL, *e;
	int32_t used, first, count;

	if (!p || *(const uint32_t *)p != PERF_MAGIC)
		return;
	used = *(const int32_t *)(p + 8);
	first = *(const int32_t *)(p + 24);
	count = *(const int32_t *)(p + 28);
	e = p + first;
	for (int32_t i = 0; i < count && e + sizeof(struct perf_entry) <= p + used; i++) {
		const struct perf_entry *d = (const struct perf_entry *)e;

		if (d->length <= 0)
			break;
		if (d->type == 'J' && d->vector == 0)
			fn(ctx, (const char *)e + d->name,
				(const volatile uint64_t *)(e + d->data));
		e += d->length;
	}
}

struct search {
	const char *name;
	const volatile uint64_t *found;
};

static void is_it(void *ctx, const char *name, const volatile uint64_t *value)
{
	struct search *s = ctx;

	if (strcmp(name, s->name) == 0)
		s->found = value;
}

const volatile uint64_t *sp_hotspot_counters_find(const char *name)
{
	struct search s = {name, NULL};

	sp_hotspot_counters_each(is_it, &s);
	return s.found;
}
