/* Perf events by name, as users write them: cpu, cycles, page-faults, L1-dcache-load-misses, rNNN,
 * sys:tracepoint, mem:addr[/len][:rwx], kprobe:func, uprobe:path+offset. Opens nothing by itself.
 * Context: any agent thread. */
#ifndef SP_AGENT_CAPTURE_PERF_EVENT_H
#define SP_AGENT_CAPTURE_PERF_EVENT_H

#include "base/err.h"
#include "wire/perf_attr.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

struct sp_perf_event_spec {
	uint32_t type;
	uint64_t config, config1, config2;
	uint32_t bp_type;
	bool clock;		 /* the period is in nanoseconds */
	uint64_t default_period; /* where no interval was given */
	char probe[256];	 /* what config1 of a probe points to, once in its final place */
};

/* Returns 0; -EINVAL where @name is no event; -ENOENT where this machine lacks it; with a sentence
 * in @err. */
int sp_perf_event_parse(const char *name, struct sp_perf_event_spec *ret, struct sp_err *err);

/* Fills @attr from @e (borrowed while the attr is used) with @period. */
void sp_perf_event_attr(
	const struct sp_perf_event_spec *e, uint64_t period, struct perf_event_attr *attr);

/* As sp_perf_attr_open; but below a seccomp filter, which may kill who calls it, -EPERM at once. */
int sp_perf_event_ask(struct perf_event_attr *attr, int32_t tid, int cpu);

/* Why opening failed with @error and what would help, in one sentence. */
int sp_perf_event_explain(const char *event, int error, struct sp_err *err);

#endif
