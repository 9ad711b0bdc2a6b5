/* The threads of a JVM at one moment, for `stack`: a wall recording in memory, as short as will
 * show each of them once. */
#ifndef SP_LAUNCHER_STACK_JVM_H
#define SP_LAUNCHER_STACK_JVM_H

#include "jvm.h"
#include "options.h"
#include "base/buf.h"

/* Appends what works for task @tid below its thread; ctx: the caller's. */
typedef void sp_stackjvm_task_fn(void *ctx, struct sp_buf *b, int64_t tid);

struct sp_stackjvm;

/* Gets in and begins. What goes wrong is said. Returns an exit code; *ret belongs to the caller
 * until sp_stackjvm_end, also after a failure. */
int sp_stackjvm_begin(
	struct sp_stackjvm **ret, const struct sp_jvm *target, const struct sp_call *call);

/* The memory of @pid, a process below the JVM that may not be read from here, as the agent opened
 * it: a descriptor that the caller owns; -EPERM. */
int sp_stackjvm_memory(struct sp_stackjvm *s, pid_t pid);

/* Waits until every thread was seen, lets go of the JVM and appends its threads: those in a task
 * first. Frees @s. Returns an exit code. */
int sp_stackjvm_end(struct sp_stackjvm *s, struct sp_buf *b, sp_stackjvm_task_fn *task, void *ctx);

#endif
