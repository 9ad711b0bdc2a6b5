/* What a sampled thread was doing, and which system calls mean which of it: one table for threads
 * of a JVM and of Python. */
#ifndef SP_BASE_THREAD_STATE_H
#define SP_BASE_THREAD_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Names in recordings are in sp_jfr_state_names; a thread on a CPU is STATE_RUNNABLE there, because
 * that is what other readers take for running. */
enum sp_state {
	SP_STATE_UNKNOWN,  /* not looked at: what samples of a cpu engine carry (async-profiler's
			    * converter takes just these for cpu) */
	SP_STATE_RUNNING,  /* on a CPU */
	SP_STATE_RUNNABLE, /* waiting for a CPU */
	SP_STATE_LOCK,	   /* blocked: futex */
	SP_STATE_NET,
	SP_STATE_DISK,
	SP_STATE_SLEEP,
	SP_STATE_POLL,	  /* epoll_wait, poll, select */
	SP_STATE_BLOCKED, /* another reason */
	SP_STATES
};

/* The type of the file that @fd is in the thread's process, as in st_mode. False: not known. */
typedef bool sp_fd_mode_fn(void *ctx, uint64_t fd, mode_t *ret);

/* State of a thread that system call @nr blocks; -1: it is blocked outside of one. @first: the
 * first argument. @mode_of is called for reads and writes only, with @ctx. Context: any thread;
 * allocates nothing. */
enum sp_state sp_thread_state(long nr, uint64_t first, sp_fd_mode_fn *mode_of, void *ctx);

#endif
