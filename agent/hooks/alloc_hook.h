/* Java allocations: the JVM's own sampler (JVMTI SampledObjectAlloc, JDK 11) calls back on the
 * allocating thread. Its stack goes into the ring with class and size. The interval is global to
 * the JVM and is put back at the end. */
#ifndef SP_AGENT_HOOKS_ALLOC_HOOK_H
#define SP_AGENT_HOOKS_ALLOC_HOOK_H

#include "jvmti_thread.h"
#include "live_objects.h"

#define SP_ALLOC_PER_SECOND 5000u

/* The guest that samples one object per @interval bytes; @live (borrowed for life, may be NULL)
 * gets weak references. One at a time. */
struct sp_jvm_guest sp_alloc_guest(uint64_t interval, struct sp_live_objects *live);

/* Bytes that a sampled object of @size represents: the sampler takes it with the probability
 * 1 - exp(-size / interval). */
uint64_t sp_alloc_weight(uint64_t size, uint64_t interval);

/* Collections since the recording began. */
uint64_t sp_alloc_collections(void);

/* The largest number of samples that one stood for: 1 where the limit was never reached. */
uint64_t sp_alloc_max_factor(void);

#endif
