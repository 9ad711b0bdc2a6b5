/* Java threads that started and ended, until the recording has them. Context: any agent thread and
 * JVMTI callbacks, never a signal handler. */
#ifndef SP_AGENT_THREADS_THREAD_LIVES_H
#define SP_AGENT_THREADS_THREAD_LIVES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct sp_thread_life {
	uint64_t time_ns;
	uint32_t tid;
	bool end;
	char name[128]; /* what it had then */
};

/* All zero but for the lock: empty. */
struct sp_thread_lives {
	pthread_mutex_t lock;
	struct sp_thread_life *all; /* owned */
	uint32_t count, room;
};

/* The calling thread starts or ends now. Those beyond what is kept in a second are not noted. */
void sp_thread_lives_note(struct sp_thread_lives *l, const char *name, bool end);

/* Hands over what was noted since the last call: owned by the caller, NULL where there is none. */
struct sp_thread_life *sp_thread_lives_take(struct sp_thread_lives *l, uint32_t *ret_count);

#endif
