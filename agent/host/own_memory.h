/* How sig/memory_read.h reads the process's memory while a session runs.
 * Context: the thread that starts and ends the session. */
#ifndef SP_AGENT_HOST_OWN_MEMORY_H
#define SP_AGENT_HOST_OWN_MEMORY_H

/* Chooses a way; where there is none, every read fails. */
void sp_own_memory_open(void);

/* No handler is under way any more: from now on every read fails. */
void sp_own_memory_close(void);

#endif
