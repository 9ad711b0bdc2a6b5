/* perf events with a fixed name: what perf_event_open(2) calls them. */
#ifndef SP_PROBE_PERF_TABLE_H
#define SP_PROBE_PERF_TABLE_H

#include "probe/probe.h"

#include <stddef.h>
#include <stdint.h>

struct sp_perf_event {
	const char *name;
	enum sp_probe_group group;
	uint32_t type;
	uint64_t config;
};

/* *ret_n entries, groups together. Static. */
const struct sp_perf_event *sp_perf_table(size_t *ret_n);

/* The entry of @name, or NULL. */
const struct sp_perf_event *sp_perf_table_find(const char *name);

#endif
