/* Inside of the collector: what it holds. Nobody else includes this. */
#ifndef SP_AGENT_COLLECT_COLLECTOR_INTERNAL_H
#define SP_AGENT_COLLECT_COLLECTOR_INTERNAL_H

#include "capture/wall.h"
#include "collector.h"
#include "event_writer.h"
#include "hook_events.h"
#include "metrics.h"
#include "processes.h"
#include "python_workers.h"
#include "sample_stack.h"
#include "thread_filter_check.h"

#include <pthread.h>
#include <stdatomic.h>

struct sp_collector {
	struct sp_capture *capture;
	struct sp_recording_input *input;
	const struct sp_engine *engine;
	struct sp_walls *wall;
	uint64_t wall_ns, wall_left; /* the interval, and what is over of spans */
	int out_fd;

	struct sp_sample_stack *stacks;
	uint64_t loads; /* of libraries, that stacks knows of */
	struct sp_dict *dict;
	struct sp_intern *intern; /* borrowed from stacks */
	struct sp_event_writer *record;
	struct sp_metrics_reader *metrics;
	struct sp_processes *processes; /* NULL: not asked for */
	struct sp_callers callers;
	uint32_t identity_version;
	struct sp_counts before;   /* of files before the one in hand */
	struct sp_counts recorded; /* of all files, as last written to the current one */
	uint64_t bytes_before;
	bool said_piece; /* that the next file cannot be opened */
	/* Around all use of dict and record: the collector's own while it is awake. Nobody waits
	 * for anything who holds it. */
	pthread_mutex_t writing;
	struct sp_python_workers *python; /* NULL: none are sampled */
	bool tried_python, running;
	struct sp_spark_identity identity; /* as far as it is known */

	_Atomic uint64_t samples, lost[SP_LOSSES], truncated, too_deep, unknown, bytes;
	uint64_t carrier_ns; /* when a thread was last seen to carry a virtual one */
	uint64_t next_drain_ns, drained_ns, next_flush_ns, end_ns;
	uint64_t begun_ns, news_ns; /* news: when something was last found that must be read soon */
	uint32_t found;		    /* threads that nobody had announced, by then */
	struct sp_thread_filter_check thread_filter;
	bool ring_filling; /* more than an eighth at the last look: look sooner */

	struct sp_own_thread *thread;
	bool started, finished;
	pthread_mutex_t finish_lock; /* stop and the JVM's end may come together */
	_Atomic uint32_t stop;
	pthread_mutex_t lock; /* the requests below */
	pthread_cond_t done;
	uint64_t flush_wanted, flush_done;
	bool dump_wanted; /* with what is alive */
	int flush_status;
	struct sp_err flush_err, finish_err;
	int finish_status;
};

/* collect/drain_wait.c: may the samples that lie in rings at @now wait for the next tick? */
bool sp_collector_may_wait(struct sp_collector *c, uint64_t now);
/* How long the collector may sleep where nothing new has come; 0: as usual. */
uint64_t sp_collector_rest_ns(struct sp_collector *c);

/* collect/collect_tasks.c */
void sp_collector_marks(struct sp_collector *c);      /* … and what the program has marked */
void sp_collector_tasks(struct sp_collector *c);      /* what Spark's threads have done since */
void sp_collector_open_tasks(struct sp_collector *c); /* for a dump */
void sp_collector_running_tasks(struct sp_collector *c);

static inline void sp_collector_count(_Atomic uint64_t *at, uint64_t n)
{
	if (n)
		atomic_fetch_add_explicit(at, n, memory_order_relaxed);
}

/* collector_samples.c */
void sp_collector_set_sink(struct sp_collector *c); /* engines hand samples to it */
void sp_collector_sample(void *ctx, struct sp_raw_sample *s);
/* The thread as it was called at that time. */
uint32_t sp_collector_thread_at(
	struct sp_collector *c, struct sp_tinfo *t, uint32_t tid, uint64_t time_ns);
/* Java threads that started and ended. */
void sp_collector_lives(struct sp_collector *c);
void sp_collector_report(
	struct sp_collector *c, struct sp_raw_sample *s, const struct sp_sig_record *rec);

/* collector_flush.c */
void sp_collector_identify(struct sp_collector *c);
void sp_collector_start_python(struct sp_collector *c);
void sp_collector_python(struct sp_collector *c);    /* before a flush: what Python has gathered */
void sp_collector_sources(struct sp_collector *c);   /* from where classes came */
void sp_collector_last_room(struct sp_collector *c); /* for the end of the file in hand */
void sp_collector_piece_counts(struct sp_collector *c, struct sp_counts *ret);
/* Somebody may be waiting in sp_collector_flush(). */
void sp_collector_flush_if_due(struct sp_collector *c);

#endif
