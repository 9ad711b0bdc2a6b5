/* Perf events by name, as users write them: cpu, cycles, page-faults, L1-dcache-load-misses, rNNN,
 * sys:tracepoint, mem:addr[/len][:rwx], kprobe:func, uprobe:path+offset. Opens nothing by itself.
 * Context: any agent thread. */
#ifndef SP_AGENT_PERF_EVENT_H
#define SP_AGENT_PERF_EVENT_H

#include "base/err.h"
#include "wire/perf.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

struct sp_perf_spec {
	uint32_t type;
	uint64_t config, config1, config2;
	uint32_t bp_type;
	bool clock;		 /* the period is in nanoseconds */
	uint64_t default_period; /* where no interval was given */
	char probe[256];	 /* what config1 of a probe points to, once in its final place */
};

/* Returns 0; -EINVAL where @name is no event; -ENOENT where this machine lacks it; with a sentence
 * in @err. */
int sp_perf_parse(const char *name, struct sp_perf_spec *ret, struct sp_err *err);

/* Fills @attr from @e (borrowed while the attr is used) with @period. */
void sp_perf_attr(const struct sp_perf_spec *e, uint64_t period, struct perf_event_attr *attr);

/* Why opening failed with @error and what would help, in one sentence. */
int sp_perf_explain(const char *event, int error, struct sp_err *err);

#endif
