/* One line on the terminal while files are read: how much of them. Nothing where stderr is no
 * terminal, or with -q. */
#ifndef SP_LAUNCHER_READING_H
#define SP_LAUNCHER_READING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct sp_reading {
	bool on;
	uint64_t total, done, start_ns, drawn_ns;
	pthread_mutex_t lock;
};

void sp_reading_start(struct sp_reading *r, uint64_t total_bytes, bool quiet);

/* @reading: a struct sp_reading. So many bytes more; from any thread. Draws at most ten times a
 * second, and not at all in the first half second. */
void sp_reading_add(void *reading, uint64_t bytes);
void sp_reading_end(struct sp_reading *r);

#endif
