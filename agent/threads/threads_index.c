/* Where a thread id's slot is: see threads_internal.h. Open addressing over the table that the
 * signal handler reads without a lock. */
#include "threads_internal.h"

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

/* Numbers of threads are small, addresses are not: the three cannot be taken for each other. */
static bool holds(const struct sp_tinfo *t, uint64_t holder, uint64_t time_ns)
{
	if (t->state == SP_THREAD_FREE || t->java_since_ns > time_ns)
		return false;
	return holder == t->java_was || holder == t->java_id ||
	       (holder >= atomic_load(&t->sig->stack_lo) &&
		       holder < atomic_load(&t->sig->stack_hi));
}

/* Addresses are used again: the last who had it by then. */
static struct sp_tinfo *search_holder(struct sp_threads *ts, uint64_t holder, uint64_t time_ns)
{
	struct sp_tinfo *found = NULL;

	for (uint32_t i = 0; i < ts->used; i++)
		if (holds(&ts->infos[i], holder, time_ns) &&
			(!found || ts->infos[i].java_since_ns >= found->java_since_ns))
			found = &ts->infos[i];
	return found;
}

struct sp_tinfo *sp_threads_holder(struct sp_threads *ts, uint64_t holder, uint64_t time_ns)
{
	uint32_t at = (uint32_t)(holder * 0x9e3779b97f4a7c15ull >> 58) % SP_HOLDERS;
	struct sp_tinfo *t = NULL;

	if (!holder)
		return NULL;
	pthread_mutex_lock(&ts->lock);
	if (ts->holders[at].holder == holder)
		t = &ts->infos[ts->holders[at].slot];
	/* While it lives nobody else has its number, its JavaThread or its stack. */
	if (!t || t->generation != ts->holders[at].generation || t->state != SP_THREAD_LIVE ||
		!t->java_thread || !holds(t, holder, time_ns)) {
		t = search_holder(ts, holder, time_ns);
		if (t) {
			ts->holders[at].holder = holder;
			ts->holders[at].slot = (uint32_t)(t - ts->infos);
			ts->holders[at].generation = t->generation;
		}
	}
	pthread_mutex_unlock(&ts->lock);
	return t;
}

void sp_threads_with(struct sp_threads *ts, struct sp_tinfo *t,
	void (*fn)(void *ctx, struct sp_tinfo *t), void *ctx)
{
	pthread_mutex_lock(&ts->lock);
	if (ts->hooked && t->state == SP_THREAD_LIVE && !t->agent)
		fn(ctx, t);
	pthread_mutex_unlock(&ts->lock);
}
