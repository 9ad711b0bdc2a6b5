/* Names of the kernel's functions from /proc/kallsyms, where it shows addresses (to root, or with
 * kernel.kptr_restrict=0). A recording that no launcher finishes, and that is read on another
 * machine, must have them in it. Read once, in a thread of its own, when they are first asked for.
 * Context: one thread at a time. */
#ifndef SP_AGENT_HOST_KERNEL_NAMES_H
#define SP_AGENT_HOST_KERNEL_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct sp_kernel_names;

/* Begins to read; keeps at most @memory bytes, the kernel's own functions before its modules'.
 * @path: NULL for /proc/kallsyms. Returns 0 or -errno. */
__attribute__((warn_unused_result)) int sp_kernel_names_new(
	struct sp_kernel_names **ret, const char *path, size_t memory);
void sp_kernel_names_free(struct sp_kernel_names *k);

/* The function that covers @addr; waits until all is read. NULL: not known. Borrowed until free. */
const char *sp_kernel_names_find(struct sp_kernel_names *k, uint64_t addr);

#endif
