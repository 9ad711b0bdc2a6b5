/* What the kernel says about one of our threads, for the wall clock. */
#ifndef SP_AGENT_THREADS_KERNEL_STATE_H
#define SP_AGENT_THREADS_KERNEL_STATE_H

#include "base/thread_state.h"

#include <stdbool.h>
#include <stdint.h>

/* CPU time of thread @tid in nanoseconds, 0 if it is gone. A system call of 0.15 us. */
uint64_t sp_kernel_state_cpu_ns(uint32_t tid);

/* Files below /proc/self/task/TID. Functions that read them take a descriptor of it, or -1 to open
 * and close one. */
enum sp_kernel_state_file { SP_WALL_SYSCALL, SP_WALL_SCHEDSTAT, SP_WALL_STATUS, SP_WALL_FILES };
/* Returns a descriptor or -errno. */
int sp_kernel_state_open(uint32_t tid, enum sp_kernel_state_file file);

/* What schedstat says: nanoseconds that the thread has waited for a CPU, booked when it gets one,
 * and how often it got one. Returns false and leaves *ret where it cannot be read. */
struct sp_kernel_state_delay {
	uint64_t ns, arrivals;
};
bool sp_kernel_state_delay(uint32_t tid, int fd, struct sp_kernel_state_delay *ret);

/* How often the thread has gone to sleep by itself (voluntary context switches, in its status). A
 * slow file: 10 us. */
uint64_t sp_kernel_state_blocks(uint32_t tid, int fd);

struct sp_kernel_state_where {
	bool running; /* on a CPU or waiting for one */
	int32_t nr;   /* system call, -1: blocked outside of one (a page fault) */
	uint64_t args[6];
	uint64_t sp, pc;
};

/* Where a thread is in the kernel. Returns 0 or -errno. */
int sp_kernel_state_where(uint32_t tid, int fd, struct sp_kernel_state_where *ret);

/* The class of a wait: by the system call, and for reads and writes by what the descriptor is. */
enum sp_state sp_kernel_state_class(const struct sp_kernel_state_where *w);

#endif
