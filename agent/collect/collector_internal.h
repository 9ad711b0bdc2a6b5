/* Inside of the collector: what it holds. Nobody else includes this. */
#ifndef SP_AGENT_COLLECTOR_IN_H
#define SP_AGENT_COLLECTOR_IN_H

#include "collector.h"
#include "metrics.h"
#include "record.h"
#include "reports.h"
#include "somebody.h"
#include "stacks.h"
#include "wall.h"

#include <pthread.h>
#include <stdatomic.h>

struct sp_collector {
	struct sp_capture *capture;
	const struct sp_engine *engine;
	struct sp_walls *wall;
	uint64_t wall_ns, wall_left; /* the interval, and what is over of spans */
	int out_fd;

	struct sp_stacks *stacks;
	struct sp_dict *dict;
	struct sp_intern *intern; /* borrowed from stacks */
	struct sp_record *record;
	struct sp_metrics_reader *metrics;
	struct sp_callers callers;
	uint32_t identity_version;
	struct sp_counts before; /* of files before the one in hand */
	struct sp_counts told;	 /* of all files, as the one in hand tells last */
	uint64_t bytes_before;
	bool said_piece;  /* that the next file cannot be opened */
	bool said_python; /* that its workers are not sampled */

	_Atomic uint64_t samples, lost[SP_LOSSES], truncated, too_deep, unknown, bytes;
	uint64_t next_drain_ns, next_flush_ns, end_ns;
	struct sp_somebody somebody;
	bool ring_filling; /* more than an eighth at the last look: look sooner */

	pthread_t thread;
	bool started, finished;
	pthread_mutex_t finish_lock; /* stop and the JVM's end may come together */
	_Atomic uint32_t wake;	     /* futex: bumped to interrupt the sleep */
	_Atomic uint32_t stop;
	pthread_mutex_t lock; /* the requests below */
	pthread_cond_t done;
	uint64_t flush_wanted, flush_done;
	bool dump_wanted; /* with what is alive */
	int flush_status;
	struct sp_err flush_err, finish_err;
	int finish_status;
};

/* collector_flush.c */
void sp_collector_identify(struct sp_collector *c);
void sp_collector_tell_python(struct sp_collector *c); /* says once what autostart lacks */
void sp_collector_last_room(struct sp_collector *c);   /* for the end of the file in hand */
void sp_collector_piece_counts(struct sp_collector *c, struct sp_counts *ret);
/* Somebody may be waiting in sp_collector_flush(). */
void sp_collector_flush_if_due(struct sp_collector *c);

#endif
