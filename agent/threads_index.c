/* Where a thread id's slot is: see threads_inside.h. Open addressing over the table that the signal
 * handler reads without a lock. */
#include "threads_inside.h"

#define TOMB 0xffffffffu

/* The slot that the index has for @tid, whatever its state. */
struct sp_tinfo *sp_tindex_find(struct sp_threads *ts, uint32_t tid)
{
	for (uint32_t i = sp_sig_hash(tid), n = 0; n < SP_TINDEX_SIZE; i++, n++) {
		uint32_t k = atomic_load_explicit(
			&ts->index[i & (SP_TINDEX_SIZE - 1)], memory_order_relaxed);

		if (!k)
			return NULL;
		if (k != TOMB && ts->infos[k - 1].tid == tid)
			return &ts->infos[k - 1];
	}
	return NULL;
}

void sp_tindex_put(struct sp_threads *ts, uint32_t tid, uint32_t slot)
{
	for (uint32_t i = sp_sig_hash(tid);; i++) {
		_Atomic uint32_t *e = &ts->index[i & (SP_TINDEX_SIZE - 1)];
		uint32_t k = atomic_load_explicit(e, memory_order_relaxed);

		if (k && k != TOMB)
			continue;
		ts->tombs -= k == TOMB;
		atomic_store_explicit(e, slot + 1, memory_order_release);
		return;
	}
}

void sp_tindex_remove(struct sp_threads *ts, uint32_t tid, uint32_t slot)
{
	for (uint32_t i = sp_sig_hash(tid), n = 0; n < SP_TINDEX_SIZE; i++, n++) {
		_Atomic uint32_t *e = &ts->index[i & (SP_TINDEX_SIZE - 1)];
		uint32_t k = atomic_load_explicit(e, memory_order_relaxed);

		if (!k)
			return;
		if (k == slot + 1) {
			atomic_store_explicit(e, TOMB, memory_order_release);
			ts->tombs++;
			return;
		}
	}
}

/* Many threads came and went: long probes. A handler that looks meanwhile may miss its slot and
 * copies through the kernel instead. */
void sp_tindex_rebuild(struct sp_threads *ts)
{
	for (uint32_t i = 0; i < SP_TINDEX_SIZE; i++)
		atomic_store_explicit(&ts->index[i], 0, memory_order_relaxed);
	ts->tombs = 0;
	for (uint32_t i = 0; i < ts->used; i++)
		if (ts->infos[i].state != SP_THREAD_FREE)
			sp_tindex_put(ts, ts->infos[i].tid, i);
}
