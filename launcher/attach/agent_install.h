/* What the attach child puts into the target's file system, for as long as it takes: the agent
 * library and the control socket. Both have names that nobody can guess, are made with O_EXCL (bind
 * does the same) and belong to the target's user. */
#ifndef SP_LAUNCHER_ATTACH_AGENT_INSTALL_H
#define SP_LAUNCHER_ATTACH_AGENT_INSTALL_H

#include "target_fs.h"

struct sp_agent_install_file {
	int dir;       /* borrowed from the place; -1: nothing to remove */
	int memory;    /* owned: the descriptor of a library in memory (agent_memory.h); -1: none */
	char name[64]; /* in dir, or of that memory */
	char path[100]; /* as the JVM says it */
};

/* Where this build of the agent is already loaded, from the target's maps: fills ret->path (with
 * dir -1) and returns true. The loader knows it by that path even though the file is gone. */
bool sp_agent_install_loaded(const struct sp_target_fs *fs, struct sp_agent_install_file *ret);

/* Writes the library into the first place that takes it, else into memory. 0, or -errno with a
 * sentence that says what is wrong with each place. */
int sp_agent_install_library(
	const struct sp_target_fs *fs, struct sp_agent_install_file *ret, struct sp_err *err);

/* Makes the listening control socket (mode 0600). Returns it, or -errno with a sentence. */
int sp_agent_install_socket(const struct sp_target_fs *fs, pid_t nspid,
	struct sp_agent_install_file *ret, struct sp_err *err);

void sp_agent_install_remove(struct sp_agent_install_file *f);

#endif
