/* Stacks of threads that do not run, copied from outside: registers as /proc shows them, the bytes
 * by the kernel, so that what is not mapped any more is no fault.
 * Context: the collector only. */
#ifndef SP_AGENT_CAPTURE_BLOCKED_STACK_H
#define SP_AGENT_CAPTURE_BLOCKED_STACK_H

#include "threads/kernel_state.h"
#include "threads/threads.h"
#include "unwind/snapshot.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SP_WALL_STACK_MAX (256u << 10)

struct sp_blocked_stack {
	pid_t pid;
	bool call; /* process_vm_readv may be called */
	int mem;   /* else /proc/self/mem, or -1 */
	uint8_t bytes[SP_WALL_STACK_MAX];
};

void sp_blocked_stack_open(struct sp_blocked_stack *w);
void sp_blocked_stack_close(struct sp_blocked_stack *w);

/* The stack of a thread that is blocked @at. It is what it was if the thread's CPU clock did not
 * move meanwhile. ret->stack_len is 0 where it could not be read; its bytes are borrowed to the
 * next call. */
void sp_blocked_stack_read(struct sp_blocked_stack *w, struct sp_threads *threads,
	struct sp_tinfo *t, const struct sp_kernel_state_where *at, struct sp_snapshot *ret);

/* The Java stack of a thread that waits for a CPU in native code or in the JVM: where it was woken.
 * The kernel does not show the registers of such a thread; the JVM knows its last Java frame. */
bool sp_blocked_stack_woken(
	struct sp_blocked_stack *w, const struct sp_tinfo *t, struct sp_snapshot *ret);

#endif
