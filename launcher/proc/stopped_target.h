/* Targets that are stopped while a launcher waits for them: SIGSTOP, or a debugger's hold. */
#ifndef SP_LAUNCHER_PROC_STOPPED_TARGET_H
#define SP_LAUNCHER_PROC_STOPPED_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sp_stopped_target {
	uint64_t looked_ns; /* CLOCK_MONOTONIC */
	unsigned times;	    /* looks in a row that found it stopped */
};

/* Whether @pid is stopped now; *ret_by, if wanted, is then what did it, borrowed for ever. */
bool sp_stopped_target_is(pid_t pid, const char **ret_by);

/* Looks twice a second at most, however often it is called. The second look in a row that finds
 * @pid stopped warns (message.h says each warning once): that it is, @so what, and how it goes on.
 * Returns whether it has been found so. */
bool sp_stopped_target_look(struct sp_stopped_target *h, pid_t pid, const char *so);

#endif
