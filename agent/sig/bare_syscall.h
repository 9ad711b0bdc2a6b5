/* System calls that pass through no function of the C library: a breakpoint there is not hit. */
#ifndef SP_AGENT_SIG_BARE_SYSCALL_H
#define SP_AGENT_SIG_BARE_SYSCALL_H

#include <sys/syscall.h>

/* Returns what the kernel does: -errno where it fails. */
static inline long sp_bare_syscall(long nr, long a, long b, long c)
{
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return r;
}

#endif
