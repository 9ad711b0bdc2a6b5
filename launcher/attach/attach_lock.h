/* One launcher at a time gets into a JVM: a lock file in the target's file system, held by flock,
 * so a dead launcher holds nothing. The file says who holds it and since when, and goes with the
 * lock. */
#ifndef SP_LAUNCHER_ATTACH_ATTACH_LOCK_H
#define SP_LAUNCHER_ATTACH_ATTACH_LOCK_H

#include "target_fs.h"

#include <stdint.h>

struct sp_attach_lock {
	int fd, dir; /* -1: not held */
	char name[48];
};

typedef void sp_attach_lock_wait_fn(void *ctx, const char *holder);

/* Takes the lock, waiting for another launcher until @deadline_ns; @waits gets its name once.
 * Where no place takes a lock file, goes on without: the agent itself refuses a second recording.
 * 0, or -errno with a sentence. */
int sp_attach_lock_take(const struct sp_target_fs *fs, pid_t nspid, const char *who,
	uint64_t deadline_ns, sp_attach_lock_wait_fn *waits, void *ctx, struct sp_attach_lock *ret,
	struct sp_err *err);
void sp_attach_lock_drop(struct sp_attach_lock *l);

#endif
