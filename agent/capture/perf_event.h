/* Perf events by name, as users write them: cpu, cycles, page-faults, L1-dcache-load-misses, rNNN,
 * sys:tracepoint, mem:addr[/len][:rwx], kprobe:func, uprobe:path+offset, and the name of a native
 * function: malloc, G1CollectedHeap::collect. Opens nothing by itself.
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
	bool function;		 /* a breakpoint at an instruction: a probe at @probe would do */
	uint64_t offset;	 /* + @offset */
	bool in_user;		 /* at a place in the process's own code: the kernel has no part */
	bool in_kernel;		 /* at a place in the kernel's */
};

/* Returns 0; -EINVAL where @name is no event; -ENOENT where this machine lacks it; with a sentence
 * in @err. */
int sp_perf_event_parse(const char *name, struct sp_perf_event_spec *ret, struct sp_err *err);

/* Does every call of a place of the process count: a function, mem:…:x, uprobe:…? They come in
 * bursts that fill a ring, whose records have room for the longest stack. */
bool sp_perf_event_is_call(const char *name);

/* Fills @attr from @e (borrowed while the attr is used) with @period. */
void sp_perf_event_attr(
	const struct sp_perf_event_spec *e, uint64_t period, struct perf_event_attr *attr);

/* Can the event be opened here, of the calling thread? As sp_perf_event_ask. Where no debug
 * register is to be had, @e and @attr become a probe at the same place. Returns 0 or -errno. */
int sp_perf_event_try(struct sp_perf_event_spec *e, struct perf_event_attr *attr);

/* As sp_perf_attr_open; but below a seccomp filter, which may kill who calls it, -EPERM at once. */
int sp_perf_event_ask(struct perf_event_attr *attr, int32_t tid, int cpu);

/* Enables the event; from now on it signals thread @tid by SIGPROF. Returns 0 or -errno. */
int sp_perf_event_signal(int fd, uint32_t tid);

/* Why opening failed with @error and what would help, in one sentence. */
int sp_perf_event_explain(const char *event, int error, struct sp_err *err);

#endif
