/* The agent library in memory of this process, for a target in whose directories anybody may
 * replace files: a path through one of them would be anybody's library. It opens the descriptor of
 * ours by /proc/PID/fd/N instead, which the kernel allows processes of the same user only. */
#ifndef SP_LAUNCHER_ATTACH_AGENT_MEMORY_H
#define SP_LAUNCHER_ATTACH_AGENT_MEMORY_H

#include "agent_install.h"

/* Puts it there. 0, or -errno with the reason in @why: what the target opens would not be certain
 * to be ours, or could not be opened. */
int sp_agent_memory_put(const struct sp_target_fs *fs, struct sp_agent_install_file *ret, char *why,
	size_t why_size);

/* The path under which the loader knows a library of this name; false: it is of another kind. */
bool sp_agent_memory_path(const char *name, struct sp_agent_install_file *ret);

#endif
