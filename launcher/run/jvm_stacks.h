/* The threads of a JVM at one moment, for `stack`: a wall recording in memory, as short as will
 * show each of them once. */
#ifndef SP_LAUNCHER_RUN_JVM_STACKS_H
#define SP_LAUNCHER_RUN_JVM_STACKS_H

#include "base/buf.h"
#include "cli/options.h"
#include "discover/jvm.h"

/* Appends what works for task @tid below its thread; ctx: the caller's. */
typedef void sp_jvm_stacks_task_fn(void *ctx, struct sp_buf *b, int64_t tid);

struct sp_jvm_stacks;

/* Gets in and begins. What goes wrong is said. Returns an exit code; *ret belongs to the caller
 * until sp_jvm_stacks_end, also after a failure. */
int sp_jvm_stacks_begin(
	struct sp_jvm_stacks **ret, const struct sp_jvm *target, const struct sp_call *call);

/* The memory of @pid, a process below the JVM that may not be read from here, as the agent opened
 * it: a descriptor that the caller owns; -EPERM. */
int sp_jvm_stacks_memory(struct sp_jvm_stacks *s, pid_t pid);

/* Waits until every thread was seen, lets go of the JVM and appends its threads: those in a task
 * first. Frees @s. Returns an exit code. */
int sp_jvm_stacks_end(
	struct sp_jvm_stacks *s, struct sp_buf *b, sp_jvm_stacks_task_fn *task, void *ctx);

#endif
