/* The agent's own heap. glibc gives each thread that allocates an arena (64 MB of addresses), which
 * stays in the host for ever, and an error of ours in a shared heap would be the host's. So malloc
 * and its family in the agent's objects mean these (by the linker's --wrap, agent/meson.build), and
 * the memory goes back to the kernel when the last block is freed. What libc or the JVM allocates
 * for itself on a thread of ours is not reached by that.
 * Context: any thread, never a signal handler. Each returns what the function of the same name in
 * the C standard does, aligned to 16 bytes. */
#ifndef SP_AGENT_HOST_OWN_HEAP_H
#define SP_AGENT_HOST_OWN_HEAP_H

#include <stddef.h>

void *sp_own_malloc(size_t size);
void *sp_own_calloc(size_t n, size_t size);
void *sp_own_realloc(void *p, size_t size);
void sp_own_free(void *p);
char *sp_own_strdup(const char *s);
char *sp_own_strndup(const char *s, size_t max);

/* Bytes that the heap has mapped at this moment. */
size_t sp_own_heap_mapped(void);

#endif
