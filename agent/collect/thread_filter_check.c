/* See thread_filter_check.h. */
#include "thread_filter_check.h"

#include <stdio.h>

static void look_at(void *ctx, struct sp_tinfo *t)
{
	struct sp_thread_filter_check *s = ctx;

	s->seen |= atomic_load(&t->sig->wanted) != 0;
}

void sp_thread_filter_check_look(struct sp_thread_filter_check *s, struct sp_capture *c)
{
	if (!c->args->thread[0] && !c->args->filter[0])
		s->seen = true;
	if (!s->seen)
		sp_threads_each(c->threads, true, look_at, s);
}

void sp_thread_filter_check_say(struct sp_thread_filter_check *s, struct sp_capture *c)
{
	const struct sp_args *a = c->args;
	char line[sizeof(a->thread) + 160];

	sp_thread_filter_check_look(s, c);
	if (s->seen)
		return;
	if (a->thread[0])
		snprintf(line, sizeof(line),
			"--thread: no thread is named '%s'%s; -e wall -t lists thread names",
			a->thread, a->filter[0] ? " among those of --filter" : "");
	else
		snprintf(line, sizeof(line),
			"--filter: the target had none of these threads; use the ids of its own "
			"/proc/PID/task");
	c->say(c->say_ctx, line);
}
