/* What attaching must know of a process, from /proc/PID alone: nothing is sent to it. */
#ifndef SP_LAUNCHER_ATTACH_ATTACH_TARGET_H
#define SP_LAUNCHER_ATTACH_ATTACH_TARGET_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sp_attach_target {
	pid_t pid, nspid; /* as we see it; as it sees itself */
	uid_t uid;	  /* effective, in our user namespace */
	gid_t gid;
	char state;	      /* R S D T t Z … */
	uint64_t start_ticks; /* with the pid, its identity */
	bool catches_term;
	bool catches_quit; /* SIGQUIT has a handler: the JVM is up */
	int pidfd;	   /* -1 before Linux 5.3 */
};

/* Fills *ret. 0, or -ESRCH with a sentence. */
__attribute__((warn_unused_result)) int sp_attach_target_read(
	pid_t pid, struct sp_attach_target *ret, struct sp_err *err);

/* Reads state and signal mask again. 0, or -ESRCH if the process is gone or is another one now. */
int sp_attach_target_refresh(struct sp_attach_target *t);

/* Sends SIGQUIT to exactly this process. 0 or -errno. */
int sp_attach_target_quit(struct sp_attach_target *t);

#endif
