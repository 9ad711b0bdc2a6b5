/* See drawn.h: a hash of thread ids, a word each: the id, and the interval below it. Only the
 * thread itself writes its word. */
#include "drawn.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORDS  8192u
#define PROBES 16u

static _Atomic uint64_t words[WORDS];

static _Atomic uint64_t *probe(uint32_t tid, uint32_t i)
{
	return &words[((tid * 2654435761u >> 7) + i) % WORDS];
}

/* The word of @tid, NULL: it has none. */
static _Atomic uint64_t *find(uint32_t tid)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		_Atomic uint64_t *w = probe(tid, i);

		if (atomic_load_explicit(w, memory_order_relaxed) >> 32 == tid)
			return w;
	}
	return NULL;
}

static int add(uint32_t tid, uint32_t interval)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(
			    probe(tid, i), &none, (uint64_t)tid << 32 | interval))
			return 0;
	}
	return -ENOSPC;
}

void sp_drawn_begin(void)
{
	pid_t self = getpid();

	for (size_t i = 0; i < WORDS; i++) {
		uint32_t tid = (uint32_t)(atomic_load(&words[i]) >> 32);

		if (tid && syscall(SYS_tgkill, self, tid, 0) < 0)
			atomic_store(&words[i], 0);
	}
}

uint32_t sp_drawn_next(uint32_t tid, uint32_t interval)
{
	_Atomic uint64_t *w = find(tid);
	uint32_t was;

	/* Where there is no room, each sample would be taken for a first one. */
	if (!w)
		return add(tid, interval) < 0 ? interval : SP_DRAWN_JVM;
	was = (uint32_t)atomic_load_explicit(w, memory_order_relaxed);
	if (was != interval)
		atomic_store_explicit(w, (uint64_t)tid << 32 | interval, memory_order_relaxed);
	return was;
}

void sp_drawn_born(uint32_t tid, uint32_t interval)
{
	_Atomic uint64_t *w = find(tid);

	if (w)
		atomic_store(w, (uint64_t)tid << 32 | interval);
	else
		add(tid, interval);
}

void sp_drawn_ended(uint32_t tid)
{
	_Atomic uint64_t *w = find(tid);

	if (w)
		atomic_store(w, 0);
}
