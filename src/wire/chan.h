/* A control connection: one message per packet on a SOCK_SEQPACKET unix socket, with descriptors.
 * Nothing here blocks past its deadline (CLOCK_MONOTONIC nanoseconds; 0 = wait for ever), raises
 * SIGPIPE or allocates. One thread per channel. */
#ifndef SP_WIRE_CHAN_H
#define SP_WIRE_CHAN_H

#include "wire/msg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_chan {
	int fd;
	int fds[SP_MSG_FDS]; /* that came with the last message; the receiver takes or drops them */
	int n_fds;
	uint8_t buf[SP_MSG_MAX];
};

/* Whole packets of a fixed size. 0; -ETIMEDOUT; -ECONNRESET at the end of the connection; -EBADMSG
 * for a packet of another size or one with descriptors; -EINTR when a signal came; or -errno. */
int sp_chan_send_raw(int fd, const void *data, size_t n, uint64_t deadline_ns);
int sp_chan_recv_raw(int fd, void *ret, size_t n, uint64_t deadline_ns);

/* Waits until @fd can be read: 1, 0 at the deadline, -EINTR, or -errno. */
int sp_chan_wait(int fd, uint64_t deadline_ns);

/* Sends @m with @n_fds descriptors (kept open here). 0 or as above. */
int sp_chan_send(
	struct sp_chan *c, const struct sp_msg *m, const int *fds, int n_fds, uint64_t deadline_ns);

/* Receives one message: texts are borrowed from c->buf until the next call. Descriptors beyond what
 * the message's type may carry are a -EBADMSG, and all are closed then. 0 or as above. */
int sp_chan_recv(struct sp_chan *c, struct sp_msg *ret, uint64_t deadline_ns);

/* Closes descriptors that came with the last message and were not taken (set to -1). */
void sp_chan_drop_fds(struct sp_chan *c);

/* What a passed descriptor may be. 0, or -EPERM with nothing done.
 * output: a regular file or a pipe, open for writing, never O_PATH.
 * perf:   an anonymous perf event. Whether it counts one process or the whole system cannot be
 *         asked of a descriptor: the sender never opens pid = -1 (sp_chan_perf_allowed). */
int sp_chan_check_output(int fd);
int sp_chan_check_perf(int fd);

/* Whether a perf event for (@pid, @cpu) may be passed into a target: never a system-wide one. */
bool sp_chan_perf_allowed(int pid, int cpu);

#endif
