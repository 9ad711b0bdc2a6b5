/* HotSpot's performance counters where they lie, as jvmstat reads them from hsperfdata. The memory
 * stays as long as the JVM; with -XX:-UsePerfData there is none.
 * Context: any thread. */
#ifndef SP_AGENT_VM_HOTSPOT_COUNTERS_H
#define SP_AGENT_VM_HOTSPOT_COUNTERS_H

#include <stdint.h>

/* Calls @fn for each counter that is one number; @value is borrowed for ever. */
void sp_hotspot_counters_each(
	void (*fn)(void *ctx, const char *name, const volatile uint64_t *value), void *ctx);

/* The counter @name, or NULL. Borrowed for ever. */
const volatile uint64_t *sp_hotspot_counters_find(const char *name);

#endif
