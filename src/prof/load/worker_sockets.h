/* What sockets show of Python workers: which task they work for while they do not say it
 * themselves, and whether it is what they say. Inside of src/prof. */
#ifndef SP_PROF_LOAD_WORKER_SOCKETS_H
#define SP_PROF_LOAD_WORKER_SOCKETS_H

#include <stddef.h>
#include <stdint.h>

struct sp_task_spans;

/* A worker's socket led to a thread of the JVM. */
struct sp_worker_socket {
	uint32_t tid, java; /* the worker's thread, the JVM's */
	int64_t task;	    /* what the worker says; -1: nothing */
	uint64_t start_ns, end_ns;
};

struct sp_worker_sockets {
	struct sp_worker_socket *list; /* owned */
	size_t count, cap;
	uint64_t same, other; /* looks at which both named a task */
};

/* Returns 0 or -ENOMEM. */
int sp_worker_sockets_add(struct sp_worker_sockets *s, const struct sp_worker_socket *x);
void sp_worker_sockets_done(struct sp_worker_sockets *s);

/* Counts, and adds spans to @spans, which are sorted, for workers at times when they had none; the
 * list is no more sorted if that returns 1. 0: nothing was added; -ENOMEM. */
int sp_worker_sockets_apply(struct sp_worker_sockets *s, struct sp_task_spans *spans);

#endif
