/* A launcher's conversation with the agent in one target, from getting in to letting go. */
#ifndef SP_LAUNCHER_RUN_AGENT_LINK_H
#define SP_LAUNCHER_RUN_AGENT_LINK_H

#include "base/err.h"
#include "cli/options.h"
#include "discover/jvm.h"
#include "perf_fd_server.h"
#include "proc/stopped_target.h"
#include "wire/chan.h"

struct sp_link {
	pid_t pid;
	char jdk[64];
	struct sp_chan chan; /* chan.fd -1: closed */
	struct sp_perf_fd_server perf;
	struct sp_stopped_target halted;
	/* Takes what the agent opened (ownership of @fd passes; -1 with an @error); NULL: nobody
	 * asks */
	void (*memory)(void *ctx, pid_t pid, int error, int fd);
	/* Hears of a Python process that the agent may not read; NULL: nobody does */
	void (*refused)(void *ctx, pid_t pid);
	void *python_ctx;
	int sentences;	    /* that it said unasked */
	bool patient;	    /* a Ctrl-C before does not end the wait for a stopped target */
	uint64_t answer_ns; /* that an answer may take; ten times as long from who works on it */
};

/* Gets into @pid and reads the agent's HELLO. 0, or -errno with a sentence (attach_run.h). */
__attribute__((warn_unused_result)) int sp_link_open(
	struct sp_link *l, pid_t pid, uint64_t attach_timeout_ns, struct sp_err *err);

/* Closes the link: an agent that may not go on alone stops and frees everything. */
void sp_link_close(struct sp_link *l);

/* Receives the next message that is not a LOG (those are shown as warnings), a PERF_WANTED
 * (those are served) or of Python processes (those are handed on), until @deadline_ns. 0;
 * -ETIMEDOUT; -EINTR; -ESRCH once the target has ended; -ECONNRESET; with a sentence. */
int sp_link_next(struct sp_link *l, struct sp_msg *ret, uint64_t deadline_ns, struct sp_err *err);

/* Sends what has no answer. 0, or -errno with a sentence. */
int sp_link_send(struct sp_link *l, const struct sp_msg *m, struct sp_err *err);

/* Sends a request and waits for its answer, PROGRESS left out. BUSY and FAILED become -EBUSY or the
 * agent's error with its sentence, an answer to another question -EPROTO. @fds stay the caller's.
 * Where the target is stopped meanwhile, that is said, and Ctrl-C ends the wait: -ETIMEDOUT. An
 * agent has half a minute, and up to five minutes as long as its threads are seen to work. */
int sp_link_ask(struct sp_link *l, const struct sp_msg *request, const int *fds, int n_fds,
	struct sp_msg *ret, struct sp_err *err);

/* The exit code for a failure: 3 where target or permission are at fault, 2 for a wrong call, else
 * 1. */
int sp_link_exit_code(int error);

/* Becomes a good guest: least priority of CPU and disk if the launcher sits in the target's own
 * cgroup and that is limited or a container's; and compares the memory left there with what a
 * recording needs (@agent_bytes for the agent). 0, or -ENOMEM with a sentence (--force skips it).
 */
void sp_guest_lower_priority(pid_t pid);
int sp_guest_check_memory(pid_t pid, uint64_t agent_bytes, struct sp_err *err);

/* "2026-01-31 23:59:59 UTC". Returns @ret. */
const char *sp_link_when(uint64_t wall_ns, char ret[40]);

#endif
