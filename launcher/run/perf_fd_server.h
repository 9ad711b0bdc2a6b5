/* Perf events for a target that may not open them itself: the agent asks, the launcher opens one
 * per thread and CPU, of the target's own threads only and never system-wide, and passes the
 * descriptors. What is opened is this side's choice (CPU time, as the user asked); the agent only
 * says for which threads, how often and how much stack. */
#ifndef SP_LAUNCHER_RUN_PERF_FD_SERVER_H
#define SP_LAUNCHER_RUN_PERF_FD_SERVER_H

#include "wire/chan.h"

#include <stdbool.h>
#include <sys/types.h>

struct sp_perf_fd_server {
	bool on;
	pid_t pid;
	bool namespaced; /* the target counts its threads in a pid namespace of its own */
	struct sp_perf_pair {
		pid_t inner, outer;
	} * pairs; /* owned: numbers seen so far */
	size_t n, cap;
};

/* Whether this launcher may sample @pid with its kernel share; then @p serves until _done. */
bool sp_perf_fd_server_init(struct sp_perf_fd_server *p, pid_t pid);
void sp_perf_fd_server_done(struct sp_perf_fd_server *p);

/* Answers a PERF_WANTED, with descriptors or with an errno. Returns 0, or -errno of the socket. */
int sp_perf_fd_server_serve(
	struct sp_perf_fd_server *p, struct sp_chan *chan, const struct sp_msg *wanted);

#endif
