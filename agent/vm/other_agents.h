/* Other agents in this JVM, for messages that say who is in the way. */
#ifndef SP_AGENT_VM_OTHER_AGENTS_H
#define SP_AGENT_VM_OTHER_AGENTS_H

#include <stddef.h>

/* Writes the names of loaded libraries that are agents of other people, "a.so, b.so".
 * Returns how many. Context: any thread but a signal handler. */
int sp_other_agents(char *ret, size_t size);

#endif
