/* Tasks of samples: see sample_task.h. Answers are kept by thread, and beside stacks. */
#include "prof/load/sample_task.h"
#include "base/grow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct known_thread {
	uint32_t tid;
	uint32_t last;	/* the task that was found last */
	uint32_t named; /* the one that its name says, + 1 */
	bool met;
};

struct sp_sample_task {
	struct known_thread *threads; /* by thread id */
	size_t thread_cap;
	uint8_t *methods; /* what a frame of it says, by method id */
	size_t method_cap;
};

void sp_sample_task_free(struct sp_sample_task *r)
{
	if (!r)
		return;
	free(r->threads);
	free(r->methods);
	free(r);
}

static struct sp_sample_task *roots(struct sp_loading *l)
{
	if (!l->roots)
		l->roots = calloc(1, sizeof(*l->roots));
	return l->roots;
}

static uint8_t judge_method(const struct sp_dict *d, uint32_t method)
{
	const struct sp_method *m = sp_dict_get_method(d, method);
	const char *cls = m ? sp_dict_get_string(d, m->class_id, NULL) : "";

	if (strstr(cls, "executor/Executor$TaskRunner") ||
		strstr(cls, "executor.Executor$TaskRunner"))
		return SP_STACK_TASK;
	if (strcmp(cls, "java/util/concurrent/ThreadPoolExecutor") == 0 &&
		strcmp(sp_dict_get_string(d, m->name_id, NULL), "getTask") == 0)
		return SP_STACK_IDLE;
	return SP_STACK_OTHER;
}

/* What a stack says by itself: a pool's thread that waits for its next job is in none. */
static uint8_t judge_stack(struct sp_loading *l, struct sp_sample_task *r, uint32_t stack)
{
	const struct sp_stack *st = sp_dict_get_stack(l->p->dict, stack);

	for (uint32_t i = st ? st->count : 0; i-- > 0;) {
		uint32_t method = st->frames[i].method;

		if (!r->methods[method])
			r->methods[method] = judge_method(l->p->dict, method);
		if (r->methods[method] != SP_STACK_OTHER)
			return r->methods[method];
	}
	return SP_STACK_OTHER;
}

/* The same, once for each stack; or -ENOMEM. */
static int judge_once(struct sp_loading *l, struct sp_sample_task *r, uint32_t stack)
{
	enum { SAID = SP_STACK_TASK | SP_STACK_IDLE | SP_STACK_OTHER };
	uint8_t said = sp_dict_stack_marks(l->p->dict, stack) & SAID;

	if (said)
		return said;
	if (sp_grow_zero(&r->methods, &r->method_cap, sp_dict_methods(l->p->dict), 1, 256) < 0)
		return -ENOMEM;
	said = judge_stack(l, r, stack);
	sp_dict_add_stack_marks(l->p->dict, stack, said);
	return said;
}

/* The task that the thread's name says, as a number of the spans; 0: none. */
static uint32_t named(struct sp_loading *l, const struct sp_thread *t)
{
	const char *name = t ? sp_dict_get_string(l->p->dict, t->name_id, NULL) : "";
	struct sp_task_name task;

	/* Other threads have words like "task-result-getter-1" in their names. */
	if (!sp_task_name_parse(name, &task))
		return 0;
	return sp_task_spans_name(l->spans, &task);
}

/* The worker as Spark calls it in that task; those that have a name for idle ones (4.2 on) all call
 * them so. */
static void call_by_task(struct sp_loading *l, uint32_t task, uint32_t *thread)
{
	const struct sp_thread *t = sp_dict_get_thread(l->p->dict, *thread);
	struct sp_thread named;
	char tag[96], name[160];
	uint32_t id;
	int n;

	if (!task || task > l->spans->count || !t ||
		!sp_task_name_idle(sp_dict_get_string(l->p->dict, t->name_id, NULL)))
		return;
	named = *t;
	n = snprintf(name, sizeof(name), "Executor task launch worker for %s",
		sp_task_name_tag(&l->spans->list[task - 1].run.name, tag, sizeof(tag)));
	named.name_id = sp_dict_string(l->p->dict, name, (size_t)n);
	id = named.name_id ? sp_dict_thread(l->p->dict, &named) : 0;
	*thread = id ? id : *thread;
}

/* NULL: no memory. */
static struct known_thread *known_thread(
	struct sp_loading *l, struct sp_sample_task *r, uint32_t id)
{
	const struct sp_thread *t;

	if (sp_grow_zero(&r->threads, &r->thread_cap, id, sizeof(*r->threads), 256) < 0)
		return NULL;
	if (r->threads[id].met)
		return &r->threads[id];
	t = sp_dict_get_thread(l->p->dict, id);
	r->threads[id].tid = t ? t->tid : 0;
	r->threads[id].met = true;
	return &r->threads[id];
}

/* What a thread ran, and waited for a core meanwhile, is written when it is seen next, as one piece
 * that ends then: on busy cores that begins long before the task does whose stack it has. */
static uint32_t task_at_end(const struct sp_task_spans *s, uint32_t tid,
	const struct sp_jfr_event *e, uint64_t took_ns, uint64_t *ret_early_ns)
{
	uint32_t task = took_ns ? sp_task_spans_find(s, tid, e->start_ns + took_ns, 0) : 0;

	if (task && s->list[task - 1].run.start_ns > e->start_ns)
		*ret_early_ns = s->list[task - 1].run.start_ns - e->start_ns;
	return task;
}

/* At the end of a recording a worker that is idle since gets what it ran behind the last sample of
 * its last task, and that sample's stack. */
static bool is_unpaid(const struct sp_loading *l, const struct sp_jfr_event *e, uint64_t took_ns)
{
	const struct sp_thread *t = sp_dict_get_thread(l->p->dict, e->thread);

	return took_ns && (e->state == SP_STATE_RUNNING || e->state == SP_STATE_RUNNABLE) && t &&
	       sp_task_name_idle(sp_dict_get_string(l->p->dict, t->name_id, NULL));
}

int sp_sample_task_find(struct sp_loading *l, const struct sp_jfr_event *e, uint64_t took_ns,
	uint32_t *ret_task, uint32_t *thread, uint64_t *ret_early_ns)
{
	struct sp_sample_task *r = roots(l);
	struct known_thread *t;
	bool last = true;
	int said = r ? judge_once(l, r, e->stack) : -ENOMEM;

	*ret_task = 0;
	if (said < 0 || said == SP_STACK_IDLE)
		return said < 0 ? said : 0;
	if (!l->spans->count && said != SP_STACK_TASK) /* as in most recordings of others */
		return 0;
	t = known_thread(l, r, e->thread);
	if (!t)
		return -ENOMEM;
	*ret_task = e->thread ? sp_task_spans_find(l->spans, t->tid, e->start_ns, t->last) : 0;
	t->last = *ret_task ? *ret_task : t->last;
	if (*ret_task || said != SP_STACK_TASK)
		return 0;
	if (e->thread)
		*ret_task = task_at_end(l->spans, t->tid, e, took_ns, ret_early_ns);
	if (e->thread && !*ret_task)
		*ret_task = sp_task_spans_near(l->spans, t->tid, e->start_ns, &last);
	call_by_task(l, *ret_task, thread);
	if (*ret_task || !last)
		return 0;
	if (!t->named)
		t->named = named(l, sp_dict_get_thread(l->p->dict, e->thread)) + 1;
	*ret_task = t->named - 1;
	if (!*ret_task && is_unpaid(l, e, took_ns)) {
		*ret_task = sp_task_spans_before(l->spans, t->tid, e->start_ns);
		call_by_task(l, *ret_task, thread);
	}
	return 0;
}
