/* Libraries that bring an allocator of their own, linked into them: what they allocate with it
 * does not call malloc, and only its mmap is seen. */
#ifndef SP_AGENT_HOOKS_PRIVATE_MALLOC_H
#define SP_AGENT_HOOKS_PRIVATE_MALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls @fn with the file name of each loaded library that shows functions of such an allocator
 * (and is not the process's own, to which @process_malloc belongs) among its symbols; a library
 * that hides them is not found. Context: a thread that may wait for the dynamic loader. */
void sp_private_malloc_find(const void *process_malloc, void (*fn)(const char *library));

#endif
