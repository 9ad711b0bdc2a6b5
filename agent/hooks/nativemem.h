/* Native memory: malloc, calloc, realloc, posix_memalign, aligned_alloc, memalign, free, mmap and
 * munmap of all libraries, by their tables of addresses (got_patch.h). Sampled by bytes; what was
 * sampled is followed to its free. With an interval of 0 sums are exact for each caller, whatever
 * the rate: what is not reported by itself is added to the caller's next sample. */
#ifndef SP_AGENT_HOOKS_NATIVEMEM_H
#define SP_AGENT_HOOKS_NATIVEMEM_H

#include "capture/engine.h"
#include "jvmti_thread.h"

#define SP_NATIVEMEM_PER_SECOND 5000u

/* The guest that reports one allocation per @interval bytes. @c is borrowed for life. One at a
 * time. */
struct sp_jvm_guest sp_nativemem_guest(uint64_t interval, bool follow_free, struct sp_capture *c);

/* Looks whether a storm is over. Context: the collector, once a tick. */
void sp_nativemem_look(void);

/* Bytes and calls of @site that no sample has reported yet, at the end; false: there is no such
 * site.
 */
bool sp_nativemem_rest(uint32_t site, uint64_t *ret_bytes);
#define SP_NATIVEMEM_SITES 4096u

uint64_t sp_nativemem_max_factor(void);

#endif
