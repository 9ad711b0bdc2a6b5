/* HotSpot's counters in its own memory: see hotspot_counters.h. */
#include "hotspot_counters.h"

#include "base/perfdata.h"
#include "vm_statics.h"

#include <stddef.h>
#include <string.h>

struct each {
	void (*fn)(void *ctx, const char *name, const volatile uint64_t *value);
	void *ctx;
};

static void take_long(void *ctx, const struct sp_perfdata_entry *e)
{
	const struct each *each = ctx;

	if (e->type == 'J' && !e->elements)
		each->fn(each->ctx, e->name, (const volatile uint64_t *)e->data);
}

void sp_hotspot_counters_each(
	void (*fn)(void *ctx, const char *name, const volatile uint64_t *value), void *ctx)
{
	uint64_t at = sp_vm_statics_static("PerfMemory", "_start");
	const uint8_t *p = at ? *(const uint8_t **)at : NULL;
	struct each each = {fn, ctx};

	if (p)
		sp_perfdata_each(p, sp_perfdata_used(p), take_long, &each);
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
