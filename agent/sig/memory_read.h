/* The process's own memory, read by the kernel: what is not mapped is an error, no fault. By
 * process_vm_readv, or where that may not be called (base/filtered.h) by /proc/self/mem, which
 * agent/host/own_memory.c opens.
 * Context: any, also signal handlers. */
#ifndef SP_AGENT_SIG_MEMORY_READ_H
#define SP_AGENT_SIG_MEMORY_READ_H

#include "handler.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* Reads @n bytes at @from. Returns how many could be read, from the first one on, or -1. */
static inline ssize_t sp_memory_read(void *dst, uint64_t from, size_t n)
{
	struct iovec to = {dst, n}, source = {(void *)from, n};
	int32_t way = atomic_load_explicit(&sp_sig.memory, memory_order_relaxed);

	if (way == SP_SIG_MEMORY_CALL)
		return process_vm_readv(sp_sig.memory_pid, &to, 1, &source, 1, 0);
	return way > 0 ? syscall(SYS_pread64, way - 1, dst, n, from) : -1;
}

#endif
