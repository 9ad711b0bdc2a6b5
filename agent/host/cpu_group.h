/* How often the kernel kept this process from running for the CPU limit of its control group (v1 or
 * v2): what a container that has too little CPU looks like. Context: the collector only. */
#ifndef SP_AGENT_HOST_CPU_GROUP_H
#define SP_AGENT_HOST_CPU_GROUP_H

#include <stdbool.h>
#include <stdint.h>

/* Since the group was made. */
struct sp_throttled {
	uint64_t periods, throttled; /* periods of its limit, and those in which it was used up */
	uint64_t ns;		     /* without a core for that, of all CPUs together */
};

#define SP_CPU_GROUP_PATH 1024

/* Finds the nearest group around the process that has a limit; its cpu.stat goes to @path. Returns
 * false, and "" in @path, where there is none or it cannot be seen. */
bool sp_cpu_group_find(char path[SP_CPU_GROUP_PATH]);

/* Returns false where @path is "" or cannot be read. */
bool sp_cpu_group_read(const char *path, struct sp_throttled *ret);

#endif
