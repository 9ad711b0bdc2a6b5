/* Threads with stacks longer than a record of a ring can hold. What is beyond the record could
 * only be read later, when the thread may be elsewhere. So from the first such sample on the kernel
 * also signals the thread at each record, and the handler copies the whole stack; the record gives
 * it moment, weight and kernel frames. Context: the collector, except where it says. */
#ifndef SP_AGENT_CAPTURE_DEEP_STACKS_H
#define SP_AGENT_CAPTURE_DEEP_STACKS_H

#include "engine.h"

/* A thread's records that wait for their signal, oldest first. */
struct sp_deep_thread {
	struct sp_deep_thread *next;
	struct sp_tinfo *thread;
	uint32_t tid, generation; /* of @thread: it may have become another */
	uint32_t count;
	bool ended;
	uint64_t since_ns; /* records of before have no signal */
	struct sp_deep_record *first, **last;
};

struct sp_deep_stacks {
	struct sp_deep_thread *all;
	bool refused; /* no handler or no memory: said */
	bool installed;
	bool over; /* the engine has stopped: nobody else begins */
};

/* Makes the events @fds of thread @tid signal it. Context: under the registry's lock. */
void sp_deep_stacks_arm(const int *fds, uint32_t n, uint32_t tid);

/* @t has new events, @n of them: they signal it as the old ones did. Context: under the registry's
 * lock. */
void sp_deep_stacks_renewed(struct sp_tinfo *t, uint32_t n);

/* @t needs it from now on. @fds: its @n events. */
void sp_deep_stacks_begin(
	struct sp_deep_stacks *d, struct sp_capture *c, struct sp_tinfo *t, uint32_t n);

/* Whether the record @s is kept until its signal has come. */
bool sp_deep_stacks_keep(struct sp_deep_stacks *d, const struct sp_raw_sample *s);

/* Whether a record waits for the handler's sample @s; false: the rings may have it. */
bool sp_deep_stacks_due(const struct sp_raw_sample *s);
/* Hands on those records that the handler's sample @s belongs to, with its stack. */
void sp_deep_stacks_sampled(
	struct sp_deep_stacks *d, struct sp_capture *c, const struct sp_raw_sample *s);

/* Forgets threads that have ended. Their records, and with @all everybody's, are handed on cut. */
void sp_deep_stacks_settle(struct sp_deep_stacks *d, struct sp_capture *c, bool all);

#endif
