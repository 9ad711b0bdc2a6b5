/* One line on the terminal while files are read: how much of them. Nothing where stderr is no
 * terminal, or with -q. */
#ifndef SP_LAUNCHER_CLI_READ_PROGRESS_H
#define SP_LAUNCHER_CLI_READ_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct sp_read_progress {
	bool on;
	uint64_t total, done, start_ns, drawn_ns;
	pthread_mutex_t lock;
};

void sp_read_progress_start(struct sp_read_progress *r, uint64_t total_bytes, bool quiet);

/* @reading: a struct sp_read_progress. So many bytes more; from any thread. Draws at most ten times
 * a second, and not at all in the first half second. */
void sp_read_progress_add(void *reading, uint64_t bytes);
void sp_read_progress_end(struct sp_read_progress *r);

#endif
