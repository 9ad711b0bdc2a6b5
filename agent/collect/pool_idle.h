/* Tells a pool thread that waits for work from one that waits for a lock, by who called.
 * Context: the collector only. */
#ifndef SP_AGENT_COLLECT_POOL_IDLE_H
#define SP_AGENT_COLLECT_POOL_IDLE_H

#include "dict/dict.h"

#include <stdbool.h>

/* Is @stack, of a parked thread, in getTask, take, poll or the like, and not on its way to a lock
 * in there? */
bool sp_pool_idle_stack(struct sp_dict *d, uint32_t stack);

#endif
