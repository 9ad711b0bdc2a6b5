/* See java_list.h. */
#include "java_list.h"

#include "threads_internal.h"
#include "unwind/hotspot.h"

#include <stdlib.h>

/* The JavaThreads that have announced themselves, or were listed before. */
struct listed {
	uint64_t *threads; /* sorted */
	uint32_t count;
};

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool is_listed(void *ctx, uint64_t thread)
{
	const struct listed *l = ctx;

	return bsearch(&thread, l->threads, l->count, sizeof(thread), by_address) != NULL;
}

/* @room: for @max threads. */
static struct listed listed_threads(struct sp_threads *ts, uint64_t *room, uint32_t max)
{
	struct listed l = {room, 0};

	pthread_mutex_lock(&ts->lock);
	for (uint32_t i = 0; i < ts->used && l.count < max; i++) {
		const struct sp_tinfo *t = &ts->infos[i];

		if (t->state == SP_THREAD_LIVE && t->listed && t->java_thread)
			l.threads[l.count++] = t->java_thread;
	}
	pthread_mutex_unlock(&ts->lock);
	qsort(l.threads, l.count, sizeof(*l.threads), by_address);
	return l;
}

void sp_threads_java_list(struct sp_threads *ts, const struct sp_hotspot *h)
{
	uint32_t max = ts->live + 64;
	struct sp_java_thread *list = calloc(max, sizeof(*list) + sizeof(uint64_t));
	struct sp_anchor_layout layout;
	struct listed listed;
	int n = 0;

	if (list) {
		listed = listed_threads(ts, (uint64_t *)(list + max), max);
		n = sp_hotspot_threads(h, is_listed, &listed, list, max);
	}

	if (n > (int)max)
		n = (int)max;
	sp_hotspot_anchor(h, &layout);
	pthread_mutex_lock(&ts->lock);
	for (int i = 0; i < n; i++) {
		struct sp_tinfo *t = sp_tindex_find(ts, list[i].tid);

		if (!t || t->state != SP_THREAD_LIVE || t->listed)
			continue;
		t->listed = true;
		t->java_thread = t->java_was = list[i].thread;
		if (list[i].stack_base)
			sp_threads_set_bounds(
				t, list[i].stack_base - list[i].stack_size, list[i].stack_base);
		atomic_store_explicit(
			&t->sig->anchor, list[i].thread + layout.anchor, memory_order_release);
	}
	ts->want_list = false;
	pthread_mutex_unlock(&ts->lock);
	free(list);
}
