/* See perf_attr.h. */
#include "wire/perf_attr.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A moment means the same in every capture. */
static void use_monotonic(struct perf_event_attr *attr)
{
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
}

uint32_t sp_perf_attr_window(uint64_t depth, uint64_t most)
{
	static const uint32_t sizes[] = {8u << 10, 16u << 10, 32u << 10};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (depth <= sizes[i] || most < 2 * sizes[i])
			return sizes[i];
	return SP_PERF_WINDOW_MAX;
}

void sp_perf_attr_clock(struct perf_event_attr *ret, uint64_t interval_ns)
{
	memset(ret, 0, sizeof(*ret));
	ret->size = sizeof(*ret);
	ret->type = PERF_TYPE_SOFTWARE;
	ret->config = PERF_COUNT_SW_CPU_CLOCK;
	ret->sample_period = interval_ns;
	ret->exclude_idle = 1;
	use_monotonic(ret);
}

void sp_perf_attr_ring(struct perf_event_attr *attr, uint32_t window)
{
	/* Not PERIOD: with it the kernel records a software event each time it happens. */
	attr->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			    PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_regs_user = SP_PERF_REGS;
	attr->sample_stack_user = window;
	attr->exclude_callchain_user = 1;
}

void sp_perf_attr_owner(struct perf_event_attr *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->size = sizeof(*ret);
	ret->type = PERF_TYPE_SOFTWARE;
	ret->config = PERF_COUNT_SW_DUMMY;
	ret->exclude_kernel = 1;
	use_monotonic(ret);
}

int sp_perf_attr_open(struct perf_event_attr *attr, int32_t tid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}
