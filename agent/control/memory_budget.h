/* How much memory the agent may take: what was asked for, and at most 5 % of what the target's
 * memory cgroup has left; and nothing where its limit of addresses is near. */
#ifndef SP_AGENT_CONTROL_MEMORY_BUDGET_H
#define SP_AGENT_CONTROL_MEMORY_BUDGET_H

#include "options/args.h"
#include "session.h"

#define SP_BUDGET_MIN  (1u << 20)
#define SP_BUDGET_HOST (64ull << 20) /* addresses that are left to the host */

/* Lowers args->memory to the budget, saying so once. Returns 0, or -ENOMEM with a sentence where
 * less than SP_BUDGET_MIN is left, or fewer addresses than a recording and SP_BUDGET_HOST. */
int sp_memory_budget_apply(struct sp_args *args, sp_say_fn *say, void *say_ctx, struct sp_err *err);

/* Bytes the memory cgroup of this process has left (v1 and v2), UINT64_MAX without a limit. */
uint64_t sp_memory_budget_left(void);

#endif
