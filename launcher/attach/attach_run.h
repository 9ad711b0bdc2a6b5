/* Getting into a JVM. The launcher forks a attach child which gives up root for good, takes the
 * target's user, and does everything that touches the target's files: lock, attach listener, agent
 * library, control socket, `load`. It hands the connected control socket back and exits. */
#ifndef SP_LAUNCHER_ATTACH_ATTACH_RUN_H
#define SP_LAUNCHER_ATTACH_ATTACH_RUN_H

#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

/* Says something while waiting ("waiting for pid 12, which attaches since …"). */
typedef void sp_attach_note_fn(void *ctx, const char *sentence);

/* Loads the agent into @pid and returns the connected, proven control socket in *ret_fd (owned by
 * the caller). Everything is over within @timeout_ns.
 * Returns 0; -ESRCH no such process, or it died; -ENOEXEC not a JVM that can be entered; -EPERM or
 * -EACCES not permitted; -ETIMEDOUT; -EINTR interrupted by a signal; or -errno; always with a
 * sentence in @err. Whatever happens, nothing is left in the target's file system (but see
 * attach.h about a trigger file that must outlive a time-out). */
int sp_attach_run(pid_t pid, uint64_t timeout_ns, sp_attach_note_fn *note, void *note_ctx,
	int *ret_fd, struct sp_err *err);

#endif
