/* Inside of src/prof: what has been read of a recording so far, by one reader. */
#ifndef SP_PROF_LOAD_LOAD_EVENT_H
#define SP_PROF_LOAD_LOAD_EVENT_H

#include "jfr/reader.h"
#include "prof/load/leaks.h"
#include "prof/load/load.h"
#include "prof/load/losses.h"
#include "prof/load/others.h"
#include "prof/load/task_spans.h"
#include "prof/model/timeline.h"

#include <pthread.h>

struct sp_loading {
	struct sp_profile *p; /* owned */
	/* Samples that are not added yet: sp_loading_flush. */
	struct sp_sample pending[SP_PROFILE_BATCH];
	struct sp_timed times[SP_PROFILE_BATCH];
	size_t pending_count;
	/* Of wall outside of tasks, where only tasks are shown: counted, not kept. */
	struct sp_tally outside;
	const struct sp_load_opts *opts; /* borrowed */
	/* borrowed; NULL: tasks are not asked for. Where they are not read yet, the first event
	 * about one ends the reading with -EAGAIN. */
	struct sp_task_spans *spans;
	const struct sp_leaks *leaks; /* borrowed; NULL: not asked for */
	/* Of dumps: when the last one was, if the recording did not end after it. 0: not looked for
	 * yet, then the first event of one ends the reading with -EAGAIN. */
	uint64_t dump_ns;
	bool dump_met;
	bool tasks_only;		  /* wall outside of tasks is only counted */
	struct sp_symbols *symbols;	  /* borrowed; NULL: modules are not wanted */
	pthread_mutex_t *lock;		  /* borrowed: around symbols, which readers share */
	struct sp_jfr_stack_cache *known; /* owned */
	struct sp_jfr_stats stats;
	char event[64]; /* setting: the event that jdk.ExecutionSample samples */
	uint64_t interval, wall_interval;
	/* The same of chunks that sampled wall with no other event beside: others may be joined. */
	bool only_wall;
	uint64_t only_wall_interval;
	bool ours; /* sparkprof wrote it */
	bool depth_known;
	struct sp_losses losses;
	struct sp_others others; /* processes */
	char executor[64];	 /* "executor 3" */
	uint32_t states[SP_STATES];
	bool chosen; /* samples are, by time, state, duration or thread */
	bool state_wanted[SP_STATES];
	uint8_t *thread_wanted; /* owned, by thread id: 0 not looked at, 1 no, 2 yes */
	size_t thread_cap;
	struct sp_sample_task *roots; /* owned: tasks by thread and stack */
	struct sp_classed *classed;   /* owned: stacks with the class of an object on top */
	size_t classed_size, classed_count;
	struct sp_jfr_event lock_kind;	/* of the native lock that the next event reports */
	struct sp_jfr_event call_count; /* of the call that the next event reports */
	int events[40];			/* event index + 1 by kind */
	struct sp_err err;		/* the first damage */
	int result, error;
};

/* @opts and @spans are borrowed. Returns 0 or -ENOMEM; sp_loading_done in any case. */
int sp_loading_init(struct sp_loading *l, const struct sp_load_opts *opts,
	struct sp_task_spans *spans, struct sp_symbols *symbols, pthread_mutex_t *lock);
void sp_loading_done(struct sp_loading *l);

/* For sp_jfr_visitor: ctx is a struct sp_loading. */
int sp_loading_want(void *ctx, const char *type);
const char *const *sp_loading_fields(void *ctx, int wanted);
int sp_loading_event(void *ctx, const struct sp_jfr_event *e);

/* Adds what is pending: after the last event. Returns 0 or -ENOMEM. */
int sp_loading_flush(struct sp_loading *l);

/* Native memory of that time and address: adds it to the event "leak" if it was never freed. */
int sp_loading_leak(
	struct sp_loading *l, uint64_t time_ns, uint64_t address, const struct sp_sample *s);

/* Adds what one reading of the file counted. */
void sp_loading_count(struct sp_loading *l, const struct sp_jfr_stats *from);

/* Adds what another reader of the same file has found. Returns 0 or -errno. */
int sp_loading_join(struct sp_loading *l, const struct sp_loading *other);

/* Notes what a recording that is not ours cannot show, once its tasks are known. */
void sp_loading_note_foreign(struct sp_loading *l);

/* Settles names, intervals and weights once everything is read. */
int sp_loading_finish(struct sp_loading *l);

#endif
