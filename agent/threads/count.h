/* Inside of the thread registry: how many threads there should be. */
#ifndef SP_AGENT_THREADS_COUNT_H
#define SP_AGENT_THREADS_COUNT_H

#include "threads_internal.h"

/* @t has announced its end to the JVM: it may be gone, or live on as a native thread. Context: the
 * registry's lock is held. */
void sp_threads_mark_ending(struct sp_threads *ts, struct sp_tinfo *t);

/* It is gone, or lives on. Context: the same. */
void sp_threads_unmark_ending(struct sp_threads *ts, struct sp_tinfo *t);

/* Has the process as many threads as are known? True where the kernel does not say. Context: the
 * collector, without the lock. */
bool sp_threads_count_fits(struct sp_threads *ts);

#endif
