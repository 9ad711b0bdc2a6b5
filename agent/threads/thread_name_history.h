/* The last names that threads had, and until when: samples are given a name a little after they
 * were taken, and a thread may be called something else by then. One ring for all threads.
 * Context: under the lock of its owner (threads.c). */
#ifndef SP_AGENT_THREADS_THREAD_NAME_HISTORY_H
#define SP_AGENT_THREADS_THREAD_NAME_HISTORY_H

#include <stddef.h>
#include <stdint.h>

struct sp_thread_name_history;

/* @names: how many it keeps, a power of two. @size: bytes of a name. Returns 0 or -ENOMEM. */
int sp_thread_name_history_new(struct sp_thread_name_history **ret, size_t names, size_t size);
void sp_thread_name_history_free(struct sp_thread_name_history *l);

/* @name was a thread's until now. @before: what this returned for the same thread last, 0: never.
 * Returns the entry. */
uint64_t sp_thread_name_history_put(
	struct sp_thread_name_history *l, const char *name, uint64_t until_ns, uint64_t before);

/* The name that a thread had at @time_ns, by its latest entry; NULL: none of those in the log.
 * Where the log does not reach back so far, the oldest there is. Borrowed until the next put. */
const char *sp_thread_name_history_at(
	const struct sp_thread_name_history *l, uint64_t latest, uint64_t time_ns);

#endif
