/* See pool_idle.h. */
#include "pool_idle.h"

#include "base/cleanup.h"

#include <string.h>

/* Methods in which a thread has nothing to do, by what class and name begin with. */
static const struct {
	const char *in, *name;
} waiting[] = {
	{"java/util/concurrent/ThreadPoolExecutor", "getTask"},
	{"java/util/concurrent/ForkJoinPool", "awaitWork"},
	{"java/util/concurrent/ForkJoinPool", "runWorker"},
	{"java/util/concurrent/", "take"},
	{"java/util/concurrent/", "poll"},
	{"java/lang/ref/ReferenceQueue", "remove"},
	{"java/lang/ref/ReferenceQueue", "await"},
};

static bool begins(const struct sp_dict *d, uint32_t string, const char *with)
{
	return strncmp(sp_dict_get_string(d, string, NULL), with, strlen(with)) == 0;
}

/* Pools have queues of their own, as Jetty's BlockingArrayQueue of Spark's web pages. */
static bool is_queue(const struct sp_dict *d, const struct sp_method *m)
{
	const char *name = sp_dict_get_string(d, m->class_id, NULL), *slash = strrchr(name, '/');

	return strstr(slash ? slash : name, "Queue") &&
	       (begins(d, m->name_id, "take") || begins(d, m->name_id, "poll"));
}

bool sp_pool_idle_stack(struct sp_dict *d, uint32_t stack)
{
	const struct sp_stack *s = stack ? sp_dict_get_stack(d, stack) : NULL;

	for (uint32_t i = 0; s && i < s->count; i++) {
		const struct sp_method *m = sp_dict_get_method(d, s->frames[i].method);

		if (!m || m->native)
			continue;
		/* A lock: the queue's own, or one that a condition takes again. */
		if (begins(d, m->class_id, "java/util/concurrent/locks/") &&
			(begins(d, m->name_id, "acquire") || begins(d, m->name_id, "doAcquire")))
			return false;
		if (is_queue(d, m))
			return true;
		for (size_t k = 0; k < SP_COUNT(waiting); k++)
			if (begins(d, m->class_id, waiting[k].in) &&
				begins(d, m->name_id, waiting[k].name))
				return true;
	}
	return false;
}
