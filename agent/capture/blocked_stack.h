/* Stacks of threads that do not run, copied from outside: registers as /proc tells them, the bytes
 * by the kernel, so that what is not mapped any more is no fault.
 * Context: the collector only. */
#ifndef SP_AGENT_WALL_STACK_H
#define SP_AGENT_WALL_STACK_H

#include "threads.h"
#include "unwind/snapshot.h"
#include "wall_proc.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SP_WALL_STACK_MAX (256u << 10)

struct sp_wall_stack {
	pid_t pid;
	int mem; /* /proc/self/mem where process_vm_readv is forbidden, else -1 */
	uint8_t bytes[SP_WALL_STACK_MAX];
};

void sp_wall_stack_open(struct sp_wall_stack *w);
void sp_wall_stack_close(struct sp_wall_stack *w);

/* The stack of a thread that is blocked @at. It is what it was if the thread's CPU clock did not
 * move meanwhile. ret->stack_len is 0 where it could not be read; its bytes are borrowed to the
 * next call. */
void sp_wall_stack_blocked(struct sp_wall_stack *w, struct sp_threads *threads, struct sp_tinfo *t,
	const struct sp_wall_where *at, struct sp_snapshot *ret);

/* The Java stack of a thread that waits for a CPU in native code or in the JVM: where it was woken.
 * The kernel does not tell the registers of such a thread; the JVM tells its last Java frame. */
bool sp_wall_stack_woken(
	struct sp_wall_stack *w, const struct sp_tinfo *t, struct sp_snapshot *ret);

#endif
