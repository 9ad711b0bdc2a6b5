/* Does a recording of CPU time show what its target used? A reader of an empty picture, or half of
 * one, gets the reason. */
#ifndef SP_LAUNCHER_RUN_CPU_SUM_H
#define SP_LAUNCHER_RUN_CPU_SUM_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/options.h"

/* The CPU time that process @pid has used so far, with that of threads that ended; 0: unknown. */
uint64_t sp_cpu_sum_read(pid_t pid);

struct sp_cpu_sum {
	uint64_t used_ns,
		took_ns;  /* CPU time of the target and time on the wall, of the recording */
	uint64_t samples; /* of the JVM, with those that were lost */
	uint64_t others;  /* samples of Python beside it */
};

/* Says in a sentence why there is nothing, or why it is less than half; else says nothing. */
void sp_cpu_sum_explain(pid_t pid, const struct sp_call *call, const struct sp_cpu_sum *sum);

#endif
