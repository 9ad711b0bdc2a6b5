/* Is this process below a seccomp filter? Such a filter may end a process that makes a system call
 * that it does not expect (systemd's SystemCallFilter= does, by default), and it cannot be asked
 * before. So the agent makes those calls of its host's that every program makes, and leaves alone,
 * below any filter, what profilers make: perf_event_open, process_vm_readv, sched_setattr.
 * Context: any thread, never a signal handler. */
#ifndef SP_BASE_FILTERED_H
#define SP_BASE_FILTERED_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/prctl.h>

static inline bool sp_filtered(void)
{
	return prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER;
}

#endif
