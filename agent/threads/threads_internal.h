/* Inside of the thread registry: its state, and its index by thread id. Context: under its lock. */
#ifndef SP_AGENT_THREADS_THREADS_INTERNAL_H
#define SP_AGENT_THREADS_THREADS_INTERNAL_H

#include "threads.h"
#include "threads_proc.h"

#include <pthread.h>

#define SP_TINDEX_SIZE (SP_THREADS_MAX * 2)
#define SP_HOLDERS     64

struct sp_threads {
	pthread_mutex_t lock;
	const struct sp_args *args;
	struct sp_sig_thread *slots; /* SP_THREADS_MAX, mapped, touched as used */
	struct sp_tinfo *infos;
	_Atomic uint32_t *index;
	uint32_t used, live; /* slots ever used; threads alive */
	uint32_t ending;     /* of these, Java threads that announced their end */
	uint32_t found;	     /* by scans, not announced; the collector's */
	bool full;	     /* the last scan saw threads for which there was no slot */
	uint32_t tombs, scan;
	uint32_t agents[8];
	uint32_t agent_count;
	bool want_bounds, want_list;
	bool hooked;
	struct sp_thread_hooks hooks;
	struct sp_threads_proc_tasks proc;
	uint64_t next_scan_ns, rest_ns; /* the next one; none before, whatever changed */
	struct sp_thread_name_history *old_names;
	struct {
		uint64_t holder;
		uint32_t slot, generation;
	} holders[SP_HOLDERS]; /* who was found last, by a hash of what it was found by */
};

static inline void sp_threads_set_bounds(struct sp_tinfo *t, uint64_t lo, uint64_t hi)
{
	atomic_store_explicit(&t->sig->stack_lo, lo, memory_order_relaxed);
	atomic_store_explicit(&t->sig->stack_hi, hi, memory_order_release);
	t->want_sp = false;
}

/* The slot that the index has for @tid, whatever its state. */
struct sp_tinfo *sp_tindex_find(struct sp_threads *ts, uint32_t tid);
void sp_tindex_put(struct sp_threads *ts, uint32_t tid, uint32_t slot);
void sp_tindex_remove(struct sp_threads *ts, uint32_t tid, uint32_t slot);

/* Many threads came and went: long probes. A handler that looks meanwhile may miss its slot and
 * copies through the kernel instead. */
void sp_tindex_rebuild(struct sp_threads *ts);

#endif
