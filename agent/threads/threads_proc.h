/* What /proc/self says about threads and mappings, for the thread registry. */
#ifndef SP_AGENT_THREADS_THREADS_PROC_H
#define SP_AGENT_THREADS_THREADS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed to begin with; sp_threads_proc_tasks_done() closes what it keeps open. */
struct sp_threads_proc_tasks {
	int fd; /* -1: cannot be kept */
	bool open;
	bool counts; /* its link count was the number of threads when they were last listed */
};
void sp_threads_proc_tasks_done(struct sp_threads_proc_tasks *p);

/* How many threads there are; 0: not known, as before they were first listed. */
uint32_t sp_threads_proc_tasks_count(struct sp_threads_proc_tasks *p);

/* Calls @fn with each thread id. Returns 0 or -errno. */
int sp_threads_proc_tasks(
	struct sp_threads_proc_tasks *p, void (*fn)(void *ctx, uint32_t tid), void *ctx);

/* The thread's comm, "" if it is gone. Returns @buf (at least 20 bytes). */
const char *sp_threads_proc_comm(uint32_t tid, char *buf);

/* The kernel cuts names after 15 characters. Puts the whole one back into @comm for those threads
 * of HotSpot that its tool interface does not name; compiler threads lose their number. */
void sp_threads_proc_whole_name(char *comm, size_t size);

/* What a mapping is; the first thread's stack grows downwards. */
enum sp_mapping { SP_MAPPING_READABLE, SP_MAPPING_WRITABLE, SP_MAPPING_STACK };

typedef void sp_mapping_fn(void *ctx, uint64_t start, uint64_t end, enum sp_mapping kind);

/* Calls @fn with the bounds of each readable mapping. */
int sp_threads_proc_maps(sp_mapping_fn *fn, void *ctx);

/* Bounds of the calling thread's stack; untouched if they cannot be had. */
void sp_threads_proc_own_stack(uint64_t *ret_lo, uint64_t *ret_hi);

#endif
