/* How many bytes off a thread's next sample is, the JVM draws when it takes the last one (or makes
 * the thread), by the interval of that moment, and keeps it while nobody samples. So a thread's
 * first sample of a recording represents the bytes of another interval: the JVM's own, or that of
 * the recording before. Here is noted which.
 * Context: any thread, lock-free; not a signal handler. One per process, for its life. */
#ifndef SP_AGENT_HOOKS_ALLOC_INTERVAL_HISTORY_H
#define SP_AGENT_HOOKS_ALLOC_INTERVAL_HISTORY_H

#include <stdint.h>

#define SP_DRAWN_JVM (512u << 10) /* what HotSpot starts with */

/* JDK 11 draws by a table of logarithms that is filled when sampling begins. Without it each
 * ln 2 x 512 KiB is as likely to be the one as not: two of them on average (threadHeapSampler.cpp).
 */
#define SP_DRAWN_NO_TABLE 726818u

/* Before a recording: forgets threads that ended while nobody listened. @unknown: the interval by
 * which the next samples of those were drawn that nothing is known of. */
void sp_alloc_interval_begin(uint32_t unknown);

/* The calling thread (thread pointer @self) was sampled: returns the interval by which
 * that was drawn. The next is, by @interval. */
uint32_t sp_alloc_interval_next(uint64_t self, uint32_t interval);

/* It was made while the interval was @interval; or it ends. */
void sp_alloc_interval_born(uint64_t self, uint32_t interval);
void sp_alloc_interval_ended(uint64_t self);

#endif
