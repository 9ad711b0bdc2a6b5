/* See alloc_interval_history.h: a hash of thread pointers, which a thread knows of itself without a
 * system call. Only the thread itself writes to its entry; its number says whether it
 * still lives. */
#include "alloc_interval_history.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRIES 8192u
#define PROBES	16u

static struct entry {
	_Atomic uint64_t self; /* thread pointer, 0: free */
	_Atomic uint32_t tid, interval;
} entries[ENTRIES];

static struct entry *entry_at(uint64_t self, uint32_t i)
{
	return &entries[(((uint32_t)(self >> 6) * 2654435761u >> 7) + i) % ENTRIES];
}

/* The entry of the calling thread, NULL: it has none. */
static struct entry *find_entry(uint64_t self)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		struct entry *e = entry_at(self, i);

		if (atomic_load_explicit(&e->self, memory_order_relaxed) == self)
			return e;
	}
	return NULL;
}

static int add_entry(uint64_t self, uint32_t interval)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		struct entry *e = entry_at(self, i);
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&e->self, &none, self)) {
			atomic_store(&e->interval, interval);
			atomic_store(&e->tid, (uint32_t)syscall(SYS_gettid));
			return 0;
		}
	}
	return -ENOSPC;
}

static _Atomic uint32_t of_unknown = SP_DRAWN_JVM;

void sp_alloc_interval_begin(uint32_t unknown)
{
	pid_t self = getpid();

	atomic_store(&of_unknown, unknown);
	for (size_t i = 0; i < ENTRIES; i++) {
		struct entry *e = &entries[i];

		if (atomic_load(&e->self) && syscall(SYS_tgkill, self, atomic_load(&e->tid), 0) < 0)
			atomic_store(&e->self, 0);
	}
}

uint32_t sp_alloc_interval_next(uint64_t self, uint32_t interval)
{
	struct entry *e = find_entry(self);
	uint32_t was;

	/* Where there is no room, each sample would be taken for a first one. */
	if (!e)
		return add_entry(self, interval) < 0 ? interval : atomic_load(&of_unknown);
	was = atomic_load_explicit(&e->interval, memory_order_relaxed);
	if (was != interval)
		atomic_store_explicit(&e->interval, interval, memory_order_relaxed);
	return was;
}

void sp_alloc_interval_born(uint64_t self, uint32_t interval)
{
	struct entry *e = find_entry(self);

	/* One that died unseen may have had this place. */
	if (e)
		atomic_store(&e->self, 0);
	add_entry(self, interval);
}

void sp_alloc_interval_ended(uint64_t self)
{
	struct entry *e = find_entry(self);

	if (e)
		atomic_store(&e->self, 0);
}
