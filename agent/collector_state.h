/* What the collector's own sources share; everybody else includes collector.h. */
#ifndef SP_AGENT_COLLECTOR_STATE_H
#define SP_AGENT_COLLECTOR_STATE_H

#include "collector.h"

#include <pthread.h>
#include <stdatomic.h>

struct sp_collector {
	struct sp_capture *capture;
	const struct sp_engine *engine;
	struct sp_walls *wall;
	uint64_t wall_ns;
	int out_fd;

	struct sp_mem_live *live;
	const struct sp_mem *mem;
	struct sp_modules *modules;
	struct sp_hotspot *hotspot;
	struct sp_unwinder *unwinder;
	struct sp_names *names;
	struct sp_dict *dict;
	struct sp_intern *intern;
	struct sp_record *record;
	struct sp_metrics_reader *metrics;
	struct sp_frame *frames;

	_Atomic uint64_t samples, lost, truncated, unknown, bytes;
	uint64_t next_flush_ns, end_ns;

	pthread_t thread;
	bool started, finished;
	pthread_mutex_t finish_lock; /* stop and the JVM's end may come together */
	_Atomic uint32_t wake;	     /* futex: bumped to interrupt the sleep */
	_Atomic uint32_t stop;
	pthread_mutex_t lock; /* the requests below */
	pthread_cond_t done;
	uint64_t flush_wanted, flush_done;
	int flush_status;
	struct sp_err flush_err, finish_err;
	int finish_status;
};

/* Takes everything that engines and handlers have left. Context: the collector's thread. */
void sp_collector_drain(struct sp_collector *c);

#endif
