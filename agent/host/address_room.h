/* What the host may still map. A JVM that cannot map what it needs ends itself, so a recording
 * must not take the last of it. */
#ifndef SP_AGENT_HOST_ADDRESS_ROOM_H
#define SP_AGENT_HOST_ADDRESS_ROOM_H

#include <stdint.h>

/* Bytes that this process may map until it reaches its own limits (ulimit -v, ulimit -d);
 * UINT64_MAX without a limit, or where /proc does not say what is mapped.
 * Context: any thread, never a signal handler. */
uint64_t sp_address_room(void);

#endif
