/* Wall clock without signals: every thread is looked at in turn, and its time since the last look
 * is divided by the kernel's own accounts into running, waiting for a CPU, and blocked. A thread
 * that has not run costs one clock read; one that is blocked is read where it waits; one that runs
 * is sampled by the CPU engine beside, which reports its stack here. Context: the collector only.
 */
#ifndef SP_AGENT_CAPTURE_WALL_H
#define SP_AGENT_CAPTURE_WALL_H

#include "engine.h"

struct sp_walls;

/* Fails with a sentence where /proc/self/task/TID/syscall cannot be read. */
__attribute__((warn_unused_result)) int sp_wall_start(
	struct sp_walls **ret, struct sp_capture *c, uint64_t interval_ns, struct sp_err *err);
void sp_wall_free(struct sp_walls *w);

/* Looks at the threads that are due. */
void sp_wall_tick(struct sp_walls *w);

/* The CPU engine saw @s's thread run at @s->ret: what it ran since it was last seen goes there. */
void sp_wall_charge_running(struct sp_walls *w, const struct sp_raw_sample *s);

/* Writes the time of all threads still blocked in the same place: before each flush, and last. */
void sp_wall_settle(struct sp_walls *w, bool last);

#endif
