/* The attach child's own state: what stops it, and what it leaves behind. */
#ifndef SP_LAUNCHER_ATTACH_ATTACH_CHILD_H
#define SP_LAUNCHER_ATTACH_ATTACH_CHILD_H

#include "attach_target.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* One packet from child to parent: a note, or the end (with the control socket when code is 0). */
struct sp_attach_child_report {
	int done;
	int code;
	struct sp_err err;
};

/* Waits; -EINTR once a signal asked the child to end. */
int sp_attach_child_sleep(unsigned ms);
bool sp_attach_child_interrupted(void);

/* Runs the child's work and reports on @to; the caller then exits. @who is the launcher, for the
 * lock file. */
void sp_attach_child_run(struct sp_attach_target *t, uint64_t deadline_ns, const char *who, int to);

#endif
