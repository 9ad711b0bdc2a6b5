/* Perf events that the launcher opens because the target may not (paranoid 2, a seccomp filter):
 * the list of threads that wait for theirs, what has arrived, and which number belongs to which
 * thread, for the launcher may see this process in another pid namespace and the records carry its
 * numbers. Asking is done by the collector, answers come to the control thread; neither waits. */
#ifndef SP_AGENT_CAPTURE_PERF_FD_INBOX_H
#define SP_AGENT_CAPTURE_PERF_FD_INBOX_H

#include "threads/threads.h"
#include "wire/msg.h"

/* One answer of the launcher: an event per CPU, for @tid, or for the rings with tid 0. */
struct sp_parcel {
	uint32_t tid, ticket;
	uint32_t outer_pid, outer_tid; /* as the records name them */
	int error;		       /* errno; then there are no descriptors */
	uint32_t n;
	int fds[SP_MSG_FDS];
};

/* How to ask the launcher. Owned by the control connection. */
struct sp_perf_source {
	void *ctx;
	/* Asks for the rings and waits for them. Context: the control thread, while it starts. */
	int (*rings)(void *ctx, struct sp_parcel *ret);
	/* Asks for a thread's events and does not wait. 0 or -errno. */
	int (*ask)(void *ctx, uint32_t tid, uint32_t ticket, uint32_t window, uint64_t interval_ns);
	/* Names a Python process that we may not read: it will try. NULL: it will not. Does not
	 * wait. 0 or -errno. */
	int (*refused)(void *ctx, uint32_t pid);
};

void sp_parcel_drop(const struct sp_parcel *p); /* closes its descriptors */

struct sp_perf_fd_inbox;

/* Asks for the rings: @ret_rings' descriptors pass to the caller. Returns 0 or -errno. */
__attribute__((warn_unused_result)) int sp_perf_fd_inbox_new(struct sp_perf_fd_inbox **ret,
	const struct sp_perf_source *source, struct sp_parcel *ret_rings);
/* Closes what nobody took. */
void sp_perf_fd_inbox_free(struct sp_perf_fd_inbox *p);

/* @t should have events with @window bytes of stack; @t no longer wants them. Context: any agent or
 * JVMTI thread. */
void sp_perf_fd_inbox_want(struct sp_perf_fd_inbox *p, struct sp_tinfo *t, uint32_t window);
void sp_perf_fd_inbox_forget(struct sp_perf_fd_inbox *p, struct sp_tinfo *t);

/* Asks for as many waiting threads as @room allows. Context: the collector. */
void sp_perf_fd_inbox_ask(struct sp_perf_fd_inbox *p, uint32_t room, uint64_t interval_ns);
/* Requests under way: their answers will take descriptors. */
uint32_t sp_perf_fd_inbox_asked(const struct sp_perf_fd_inbox *p);

/* An answer has come; its descriptors are taken in any case. Context: the control thread. */
void sp_perf_fd_inbox_arrive(struct sp_perf_fd_inbox *p, const struct sp_parcel *parcel);

/* The next answer for a thread that still waits for it; its descriptors pass to t->fds, which the
 * caller has not set. Answers for others are closed. NULL: none. Context: the collector. */
struct sp_tinfo *sp_perf_fd_inbox_take(
	struct sp_perf_fd_inbox *p, struct sp_threads *threads, int *ret_error);

/* Our number of a thread that records call @outer; 0: not known. Context: the collector. */
uint32_t sp_perf_fd_inbox_tid(struct sp_perf_fd_inbox *p, uint32_t outer);
uint32_t sp_perf_fd_inbox_pid(
	const struct sp_perf_fd_inbox *p); /* the process, as records name it */

#endif
