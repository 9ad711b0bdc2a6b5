/* Whether the agent in a target works, as seen from outside. */
#ifndef SP_LAUNCHER_ATTACH_AGENT_WORK_H
#define SP_LAUNCHER_ATTACH_AGENT_WORK_H

#include <stdint.h>
#include <sys/types.h>

/* A number that changes when threads of the agent in @pid have run since; 0 where there are none,
 * or /proc does not show them. */
uint64_t sp_agent_work(pid_t pid);

#endif
