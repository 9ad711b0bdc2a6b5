/* Once a second beside the samples: CPU load of JVM and machine, memory, heap and collections. Read
 * from /proc and from HotSpot's performance counters where they lie, without calling the JVM.
 * Context: the collector only. */
#ifndef SP_AGENT_COLLECT_METRICS_H
#define SP_AGENT_COLLECT_METRICS_H

#include "host/cpu_group.h"

#include <stdbool.h>
#include <stdint.h>

struct sp_metrics {
	uint64_t time_ns;			      /* CLOCK_MONOTONIC */
	float cpu_user, cpu_system, cpu_machine;      /* shares of all CPUs, 0 to 1 */
	uint64_t rss, rss_peak;			      /* bytes */
	uint64_t heap_used, heap_committed, heap_max; /* 0 unknown */
	uint64_t classes_loaded, classes_unloaded;    /* since the JVM started; 0 unknown */
	uint64_t gc_count, gc_pause_ns;		      /* since the JVM started */
	uint64_t gc_new_pause_ns;		      /* since the last call */
	bool limited;				      /* the next is known: */
	struct sp_throttled throttled;
};

struct sp_metrics_reader;

int sp_metrics_new(struct sp_metrics_reader **ret);
void sp_metrics_free(struct sp_metrics_reader *r);
void sp_metrics_read(struct sp_metrics_reader *r, struct sp_metrics *ret);

/* How things were when the reader was made, once: only what is since the container's start. Returns
 * false from the second call on, and where there is no such thing. */
bool sp_metrics_before(struct sp_metrics_reader *r, struct sp_metrics *ret);

#endif
