/* See bury.h. The helper is a thread of the kernel only: glibc and the JVM do not know it. It has
 * no stack and no thread-local storage; it is five system calls in registers, with every signal
 * blocked, for another stack would need a thread to unmap it in turn. */
#include "bury.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREAD_FLAGS \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)

#ifdef __x86_64__
/* clone; in the child: while (*tid) futex(tid, FUTEX_WAIT, *tid); munmap(map, size); exit(0).
 * FUTEX_WAIT is the shared kind: the kernel wakes so (clear_child_tid in set_tid_address(2)). */
static long start_helper(struct sp_grave *g)
{
	register void *map __asm__("r12") = g->map;
	register size_t size __asm__("r13") = g->size;
	register void *tid __asm__("r14") = &g->tid;
	register long r10 __asm__("r10") = 0;
	register long r8 __asm__("r8") = 0;
	long r = SYS_clone;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 3f\n"
			 "1:\n\t"
			 "mov (%%r14), %%edx\n\t"
			 "test %%edx, %%edx\n\t"
			 "jz 2f\n\t"
			 "mov %[futex], %%eax\n\t"
			 "mov %%r14, %%rdi\n\t"
			 "mov %[wait], %%esi\n\t"
			 "xor %%r10d, %%r10d\n\t"
			 "syscall\n\t"
			 "jmp 1b\n"
			 "2:\n\t"
			 "mov %[munmap], %%eax\n\t"
			 "mov %%r12, %%rdi\n\t"
			 "mov %%r13, %%rsi\n\t"
			 "syscall\n\t"
			 "mov %[exit], %%eax\n\t"
			 "xor %%edi, %%edi\n\t"
			 "syscall\n\t"
			 "hlt\n"
			 "3:"
			 : "+a"(r)
			 : "D"((long)THREAD_FLAGS), "S"(g + 1), "d"(0l), "r"(r10), "r"(r8),
			 "r"(map), "r"(size), "r"(tid), [futex] "i"(SYS_futex),
			 [wait] "i"(FUTEX_WAIT), [munmap] "i"(SYS_munmap), [exit] "i"(SYS_exit)
			 : "rcx", "r11", "memory");
	return r;
}
#else
static long start_helper(struct sp_grave *g)
{
	return -ENOSYS;
}
#endif

/* The kernel's whole mask: glibc's functions leave two signals of its own open. */
int sp_bury_after_me(struct sp_grave *g)
{
	uint64_t all = ~0ull, old;
	long r;

	__atomic_store_n((int *)&g->tid, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	syscall(SYS_set_tid_address, &g->tid);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, sizeof(all));
	r = start_helper(g);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
	return r < 0 ? (int)r : 0;
}
