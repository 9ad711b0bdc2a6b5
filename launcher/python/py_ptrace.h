/* A thread of another process that does not move: as it waits in the kernel, or stopped by
 * ptrace(2) for a moment. Used by the sampler's thread alone, for a tracer is a thread. A thread
 * that was stopped is let go by the kernel when this process dies. */
#ifndef SP_LAUNCHER_PYTHON_PY_PTRACE_H
#define SP_LAUNCHER_PYTHON_PY_PTRACE_H

#include <stdint.h>
#include <sys/types.h>

/* How often threads were stopped so far, and for how long: the longest, and all. */
struct sp_pyptraces {
	uint64_t count, longest_ns, all_ns;
};

struct sp_pyptrace {
	pid_t late; /* a thread that has not stopped in time; 0: none */
	uint64_t since_ns;
	struct sp_pyptraces stops;
};

/* Seizes thread @tid and stops it. Returns what sp_pyptrace_go needs; -EPERM where it may not be
 * stopped (another tracer, yama, a pod's filter); -ESRCH; -ETIMEDOUT and -EBUSY where it, or the
 * last one, is in the middle of something. */
int sp_pyptrace(struct sp_pyptrace *s, pid_t tid);
void sp_pyptrace_go(struct sp_pyptrace *s, pid_t tid, int stopped);

/* Before and behind other uses: lets go who has stopped after all. */
void sp_pyptrace_tidy(struct sp_pyptrace *s);

/* Calls @look while the thread waits in the kernel. Returns what it returns, or -EAGAIN where the
 * thread runs or did so meanwhile; -ESRCH. */
int sp_pyptrace_waiting(pid_t pid, pid_t tid, int (*look)(void *ctx), void *ctx);

#endif
