/* Samples Python processes from outside: a process with its children, or the workers of a Spark
 * executor as they come and go. It has a thread of its own; nothing is stopped and nothing is
 * loaded into anything. */
#ifndef SP_LAUNCHER_PYTHON_PY_SAMPLER_H
#define SP_LAUNCHER_PYTHON_PY_SAMPLER_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sp_pysampler;

struct sp_pysampler_cfg {
	pid_t root;   /* it and its descendants */
	bool beside;  /* the root is a JVM: only its descendants, and it need not have any yet */
	pid_t driver; /* beside: the Python of the driver's application, which may be the root's
		       * parent; 0: none */
	int fd;	      /* where the recording goes; borrowed until _stop */
	bool stream;  /* @fd is a pipe */
	uint64_t cpu_ns, wall_ns;	/* intervals; 0: not asked for; not both 0 */
	const char *event;		/* what the recording says was asked for; for the call */
	uint64_t chunk_bytes, chunk_ns; /* see jfr/writer.h */
	uint32_t depth, depth_left;	/* frames of a stack, and of one that has more */
	bool no_redact;			/* what looks secret stays in the command line */
	bool native;	    /* native frames too: threads that run are stopped for a moment */
	bool blocking;	    /* threads that run are stopped while their Python frames are read */
	const char *thread; /* glob over names; NULL: all. Borrowed until _stop */
	pid_t refused;	    /* beside: only this one, as the JVM counts, others that
			     * sp_pysampler_refused names, and what they start; 0: all */
	int agent; /* beside: connection to the agent in the root, which may read what we may not;
		    * borrowed for the call; -1: none */
};

/* Returns 0; where the root itself is to be read and cannot be, -errno with a sentence that follows
 * "pid N: ". */
int sp_pysampler_start(
	struct sp_pysampler **ret, const struct sp_pysampler_cfg *cfg, struct sp_err *err);

struct sp_pysampler_state {
	uint64_t samples, lost;
	unsigned workers; /* Python processes that were ever sampled */
	bool ended;	  /* the root has ended, or the recording failed */
};
void sp_pysampler_look(const struct sp_pysampler *s, struct sp_pysampler_state *ret);

/* What the agent opened for this sampler: see py_memory_request.h. Any thread. */
void sp_pysampler_give(struct sp_pysampler *s, pid_t pid, int error, int fd);

/* The agent was refused the memory of @pid, as the JVM counts. Any thread. */
void sp_pysampler_refused(struct sp_pysampler *s, pid_t pid);

/* Ends the recording and frees @s. @ret_said: what a person should know, "" for nothing.
 * Returns 0 or the first error of writing, with a sentence. */
int sp_pysampler_stop(struct sp_pysampler *s, struct sp_pysampler_state *ret,
	struct sp_err *ret_said, struct sp_err *err);

#endif
