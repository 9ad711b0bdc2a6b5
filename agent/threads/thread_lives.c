/* See thread_lives.h. */
#include "thread_lives.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LIVES_MAX 4096u

void sp_thread_lives_note(struct sp_thread_lives *l, const char *name, bool end)
{
	struct sp_thread_life now = {
		.time_ns = sp_clock_mono_ns(), .tid = (uint32_t)syscall(SYS_gettid), .end = end};
	struct sp_thread_life *to;

	snprintf(now.name, sizeof(now.name), "%s", name ? name : "");
	pthread_mutex_lock(&l->lock);
	if (l->count == l->room && l->room < LIVES_MAX) {
		uint32_t room = l->room ? l->room * 2 : 16;

		to = realloc(l->all, room * sizeof(*to));
		l->all = to ? to : l->all;
		l->room = to ? room : l->room;
	}
	if (l->count < l->room)
		l->all[l->count++] = now;
	pthread_mutex_unlock(&l->lock);
}

struct sp_thread_life *sp_thread_lives_take(struct sp_thread_lives *l, uint32_t *ret_count)
{
	struct sp_thread_life *all;

	pthread_mutex_lock(&l->lock);
	all = l->all;
	*ret_count = l->count;
	l->all = NULL;
	l->count = l->room = 0;
	pthread_mutex_unlock(&l->lock);
	return all;
}
