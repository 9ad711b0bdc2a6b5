/* What /proc/self says about threads and mappings, for the thread registry. */
#ifndef SP_AGENT_THREADS_PROC_H
#define SP_AGENT_THREADS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed to begin with; sp_proc_tasks_done() closes what it keeps open. */
struct sp_proc_tasks {
	uint64_t nlink;
	int fd; /* -1: cannot be kept */
	bool open;
};
void sp_proc_tasks_done(struct sp_proc_tasks *p);

/* Did the number of threads change since the last call? */
bool sp_proc_tasks_changed(struct sp_proc_tasks *p);

/* Calls @fn with each thread id. Returns 0 or -errno. */
int sp_proc_tasks(void (*fn)(void *ctx, uint32_t tid), void *ctx);

/* The thread's comm, "" if it is gone. Returns @buf (at least 20 bytes). */
const char *sp_proc_comm(uint32_t tid, char *buf);

/* The kernel cuts names after 15 characters. Puts the whole one back into @comm for those threads
 * of HotSpot that its tool interface does not name; compiler threads lose their number. */
void sp_proc_whole_name(char *comm, size_t size);

/* Calls @fn with the bounds of each readable and writable mapping. */
int sp_proc_maps(void (*fn)(void *ctx, uint64_t start, uint64_t end), void *ctx);

/* Bounds of the calling thread's stack; untouched if they cannot be had. */
void sp_proc_own_stack(uint64_t *ret_lo, uint64_t *ret_hi);

#endif
