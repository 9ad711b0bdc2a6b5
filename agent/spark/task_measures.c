/* See task_measures.h. */
#include "task_measures.h"

#include <pthread.h>

#define WAITING 1024 /* a power of two */

static struct {
	pthread_mutex_t lock;
	struct sp_task_measure list[WAITING];
	uint64_t head, tail;
} ms = {.lock = PTHREAD_MUTEX_INITIALIZER};

void sp_task_measures_clear(void)
{
	pthread_mutex_lock(&ms.lock);
	ms.head = ms.tail = 0;
	pthread_mutex_unlock(&ms.lock);
}

void sp_task_measures_put(const struct sp_task_measure *m)
{
	pthread_mutex_lock(&ms.lock);
	if (ms.tail - ms.head < WAITING)
		ms.list[ms.tail++ & (WAITING - 1)] = *m;
	pthread_mutex_unlock(&ms.lock);
}

bool sp_task_measures_take(struct sp_task_measure *ret)
{
	bool any;

	pthread_mutex_lock(&ms.lock);
	any = ms.head < ms.tail;
	if (any)
		*ret = ms.list[ms.head++ & (WAITING - 1)];
	pthread_mutex_unlock(&ms.lock);
	return any;
}
