/* How the kernel shares out CPU time to our threads. */
#ifndef SP_AGENT_HOST_SCHED_SLICE_H
#define SP_AGENT_HOST_SCHED_SLICE_H

#include "base/filtered.h"

#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline long sp_sched_slice_set(int above)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = {.size = sizeof(attr), .runtime = 100000};

	if (sp_filtered())
		return 0;
	attr.nice = getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid)) - above;
	if (attr.nice < -20)
		attr.nice = -20;
	return syscall(SYS_sched_setattr, 0, &attr, 0);
}

/* On busy cores a thread that looks once in a while comes late: rings overflow, and wall sees fewer
 * threads run than do. With a short slice it comes sooner (Linux 6.12; older kernels ignore it). */
static inline void sp_sched_slice_short(void)
{
	sp_sched_slice_set(0);
}

/* The same for the collector, which is the one that must not come late: with more weight, too,
 * where that is permitted (CAP_SYS_NICE or RLIMIT_NICE). */
static inline void sp_sched_slice_raise_priority(void)
{
	if (sp_sched_slice_set(10) < 0)
		sp_sched_slice_set(0);
}

#endif
