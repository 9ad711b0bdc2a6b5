/* Stages and tasks of samples: see roots.h. Answers are kept by thread, by stack and by span. */
#include "prof/roots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { UNSEEN, NO, YES };

struct sp_roots {
	uint32_t none;
	uint32_t *threads; /* root + 1 by thread id */
	size_t thread_cap;
	uint8_t *stacks; /* whether it runs a task, by stack id */
	size_t stack_cap;
	uint32_t *spans; /* root + 1 by number of the span */
};

void sp_roots_free(struct sp_roots *r)
{
	if (!r)
		return;
	free(r->threads);
	free(r->stacks);
	free(r->spans);
	free(r);
}

static struct sp_roots *roots(struct sp_loading *l)
{
	const char *none = l->opts->by == SP_BY_STAGE ? "[no stage]" : "[no task]";
	struct sp_roots *r = l->roots;

	if (r)
		return r;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->none = sp_dict_string(l->p->dict, none, strlen(none));
	r->spans = calloc(l->spans ? l->spans->count + 1 : 1, sizeof(*r->spans));
	if (!r->spans || !r->none) {
		sp_roots_free(r);
		return NULL;
	}
	return l->roots = r;
}

/* Grows an array so that index @n exists, new entries zero. */
static int ensure(void *array, size_t *cap, size_t n, size_t size)
{
	size_t want = n * 2 + 256;
	void *p;

	if (n < *cap)
		return 0;
	p = reallocarray(*(void **)array, want, size);
	if (!p)
		return -ENOMEM;
	memset((char *)p + *cap * size, 0, (want - *cap) * size);
	*(void **)array = p;
	*cap = want;
	return 0;
}

/* The label in @text as a string id + 1; 1 where it says none. */
static uint32_t label(struct sp_loading *l, const char *text, bool whole)
{
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	if (!sp_spans_label(l->opts->by, text, &b) && whole)
		sp_buf_adds(&b, text);
	return b.len ? sp_dict_string(l->p->dict, b.data, b.len) + 1 : 1;
}

static bool runs_task(struct sp_loading *l, uint32_t stack)
{
	const struct sp_stack *st = sp_dict_get_stack(l->p->dict, stack);

	for (uint32_t i = st ? st->count : 0; i-- > 0;) {
		const struct sp_method *m = sp_dict_get_method(l->p->dict, st->frames[i].method);
		const char *cls = m ? sp_dict_get_string(l->p->dict, m->class_id, NULL) : "";

		if (strstr(cls, "executor/Executor$TaskRunner") ||
			strstr(cls, "executor.Executor$TaskRunner"))
			return true;
	}
	return false;
}

int sp_roots_find(struct sp_loading *l, const struct sp_jfr_event *e, uint32_t *ret_root)
{
	struct sp_roots *r = roots(l);
	const struct sp_thread *t = sp_dict_get_thread(l->p->dict, e->thread);
	const struct sp_span *span;

	if (!r || ensure(&r->threads, &r->thread_cap, e->thread, sizeof(*r->threads)) < 0 ||
		ensure(&r->stacks, &r->stack_cap, e->stack, 1) < 0)
		return -ENOMEM;
	*ret_root = r->none;
	span = l->spans && t ? sp_spans_find(l->spans, t->tid, e->start_ns) : NULL;
	if (span) {
		uint32_t *known = &r->spans[span - l->spans->list];

		if (!*known)
			*known = label(l, span->tag, true);
		*ret_root = *known > 1 ? *known - 1 : r->none;
		return 0;
	}
	if (!r->threads[e->thread])
		r->threads[e->thread] =
			t ? label(l, sp_dict_get_string(l->p->dict, t->name_id, NULL), false) : 1;
	if (r->threads[e->thread] == 1)
		return 0;
	if (r->stacks[e->stack] == UNSEEN)
		r->stacks[e->stack] = runs_task(l, e->stack) ? YES : NO;
	if (r->stacks[e->stack] == YES)
		*ret_root = r->threads[e->thread] - 1;
	return 0;
}
