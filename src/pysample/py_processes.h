/* The Python processes of a target: a process with its children, or those below a JVM, found as
 * they come and go, sampled, and recorded. One thread at a time, but for sp_pyprocesses_settle.
 * Nothing is stopped and nothing is loaded into anything. */
#ifndef SP_PYSAMPLE_PY_PROCESSES_H
#define SP_PYSAMPLE_PY_PROCESSES_H

#include "pysample/py_newcomers.h"
#include "pysample/py_orphans.h"
#include "pysample/py_sockets.h"
#include "pysample/py_worker.h"

struct sp_pyprocesses_cfg {
	pid_t root;   /* it and its descendants */
	bool beside;  /* the root is a JVM: only its descendants, and it need not have any yet */
	pid_t driver; /* beside: the Python of the driver's application, which may be the root's
		       * parent; 0: none */
	size_t max;   /* processes */
	bool no_call; /* as of struct sp_pymem_process */
	size_t codes; /* bytes that may be kept of what is known of code; 0: as many as there are */
	/* Asks who may to open the memory of @pid, or to sample it (there is no answer then).
	 * Returns the number by which the answer will name it, or -errno. NULL: there is nobody to
	 * ask. */
	pid_t (*ask)(void *ctx, pid_t pid);
	/* Whether @pid is to be sampled here; what such a one starts is, too. NULL: all are. */
	bool (*mine)(void *ctx, pid_t pid);
	size_t (*tasks)(void *ctx, uint32_t *ret, size_t cap); /* as of struct sp_pysockets */
	void *ctx;
};

struct sp_pyprocesses {
	struct sp_pyprocesses_cfg cfg;
	struct sp_pysampling sampling;
	struct sp_pyworker **workers; /* owned, each; parents before their children */
	size_t count, cap;
	unsigned ever;	 /* Python processes that were ever sampled */
	unsigned opened; /* of them, those that were read by what somebody else opened */
	struct sp_pynewcomers newcomers;
	struct sp_pyorphans orphans;
	uint64_t search_due_ns;
	uint64_t look_again_ns; /* at processes that execute something else, 0: none */
	struct sp_pysockets sockets;
	uint64_t sockets_due_ns, all_sockets_due_ns;
	unsigned compared;     /* sockets with what their workers said */
	unsigned groups;       /* looks at the control group */
	uint64_t group_due_ns; /* when the memory of the control group is asked for again */
	bool rest;	       /* at the last look nothing of them had run since the one before */
	bool asked;	       /* for one of them */
	bool full;	       /* there were more of them than cfg.max */
	struct sp_err said;    /* why one was not sampled, "" for nothing */
};

/* @sampling: copied. Where the root itself is to be sampled, begins with it: returns 0 or -errno,
 * with a sentence that follows "pid N: ". sp_pyprocesses_done in any case. */
int sp_pyprocesses_init(struct sp_pyprocesses *p, const struct sp_pyprocesses_cfg *cfg,
	const struct sp_pysampling *sampling, struct sp_err *err);
void sp_pyprocesses_done(struct sp_pyprocesses *p);

/* Samples all, and what they have forked since. */
void sp_pyprocesses_sample(struct sp_pyprocesses *p, uint64_t now_ns);

/* Once a second: looks for processes everywhere, and records what they use. */
void sp_pyprocesses_second(struct sp_pyprocesses *p, uint64_t now_ns);

/* Whether the root is still one of them. */
bool sp_pyprocesses_has_root(const struct sp_pyprocesses *p);

/* What was asked for: @pid, as the one that was asked counts. Ownership of @fd passes. */
void sp_pyprocesses_answer(struct sp_pyprocesses *p, pid_t pid, int error, int fd);

/* Writes what has gathered, before a flush. */
void sp_pyprocesses_settle(struct sp_pyprocesses *p, uint64_t now_ns);

/* The same at the end, where the thread that samples cannot be waited for. */
void sp_pyprocesses_left(struct sp_pyprocesses *p, uint64_t now_ns);

/* The end: writes all that there is to say, and lets go of all processes. */
void sp_pyprocesses_end(struct sp_pyprocesses *p, uint64_t now_ns);

#endif
