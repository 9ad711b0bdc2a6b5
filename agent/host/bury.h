/* Unmaps the stack of a thread that is not joined. It cannot do that itself: glibc runs on it to
 * the very end, and the kernel writes into it after that. */
#ifndef SP_AGENT_HOST_BURY_H
#define SP_AGENT_HOST_BURY_H

#include <stddef.h>

/* Lies within the mapping that it describes. */
struct sp_grave {
	void *map;
	size_t size;
	_Atomic int tid; /* of a thread that leaves; the kernel makes it 0 when that is gone */
};

/* Called by a detached thread as its last act. Starts a helper that waits until the kernel has set
 * @g->tid to 0, which is after the thread's last access to its memory, and then unmaps @g->map.
 * Returns 0, or -errno where the kernel refuses a helper: then @g->tid still becomes 0, and the
 * caller sees to it that it is unmapped. */
int sp_bury_after_me(struct sp_grave *g);

#endif
