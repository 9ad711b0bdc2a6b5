/* The door child's own state: what stops it, and what it leaves behind. */
#ifndef SP_LAUNCHER_DOOR_CHILD_H
#define SP_LAUNCHER_DOOR_CHILD_H

#include "base/err.h"
#include "door_target.h"

#include <stdbool.h>
#include <stdint.h>

/* One packet from child to parent: a note, or the end (with the control socket when code is 0). */
struct sp_door_report {
	int done;
	int code;
	struct sp_err err;
};

/* Waits; -EINTR once a signal asked the child to end. */
int sp_door_child_sleep(unsigned ms);
bool sp_door_child_interrupted(void);

/* Runs the child's work and reports on @to; the caller then exits. @who is the launcher, for the
 * lock file. */
void sp_door_child_run(struct sp_door_target *t, uint64_t deadline_ns, const char *who, int to);

#endif
