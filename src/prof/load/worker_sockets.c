/* See worker_sockets.h. */
#include "prof/load/worker_sockets.h"

#include "base/grow.h"

#include "prof/load/task_spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int sp_worker_sockets_add(struct sp_worker_sockets *s, const struct sp_worker_socket *x)
{
	if (sp_grow(&s->list, &s->cap, s->count, sizeof(*s->list), 64) < 0)
		return -ENOMEM;
	s->list[s->count++] = *x;
	return 0;
}

void sp_worker_sockets_done(struct sp_worker_sockets *s)
{
	free(s->list);
	memset(s, 0, sizeof(*s));
}

int sp_worker_sockets_apply(struct sp_worker_sockets *s, struct sp_task_spans *spans)
{
	size_t sorted = spans->count, added = 0;
	struct sp_span *more = calloc(s->count + 1, sizeof(*more));
	int r = more ? 0 : -ENOMEM;

	for (size_t i = 0; i < s->count && r == 0; i++) {
		const struct sp_worker_socket *x = &s->list[i];
		uint64_t middle = x->start_ns + (x->end_ns - x->start_ns) / 2;
		uint32_t task = sp_task_spans_find(spans, x->java, x->end_ns, 0);

		if (!task || spans->list[task - 1].label)
			continue;
		if (x->task >= 0) {
			bool same = spans->list[task - 1].run.name.task_id == x->task;

			s->same += same;
			s->other += !same;
		} else if (!sp_task_spans_find(spans, x->tid, middle, 0)) {
			more[added] = spans->list[task - 1];
			more[added].run.tid = x->tid;
			more[added].run.helper = true;
			more[added].run.start_ns = x->start_ns;
			more[added++].run.end_ns = x->end_ns;
		}
	}
	for (size_t i = 0; i < added && r == 0; i++)
		r = sp_task_spans_add(spans, &more[i]);
	free(more);
	return r < 0 ? r : spans->count > sorted;
}
