/* See python_graft.h. */
#include "prof/load/python_graft.h"

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/pyspark_class.h"
#include "dict/python_thread.h"
#include "prof/model/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where the JVM waits for Python, seen in a task's stacks. */
struct wait {
	uint32_t task;	/* index of tasks[] + 1 */
	uint32_t stack; /* its frames from @from on are those below */
	uint32_t from;
	uint64_t weight;
};

struct join {
	struct sp_profile *p;
	struct wait *waits; /* owned */
	size_t count, cap;
	uint32_t worker;  /* method "[python worker]" */
	uint32_t driver;  /* method "[python driver]" */
	uint8_t *classes; /* owned; per method sp_pyspark_class() + 1, 0: not known yet */
	struct sp_frame_ref *frames;
};

static bool is_worker(const struct sp_profile *p, uint32_t thread)
{
	return sp_python_thread_of(p->dict, thread) == SP_PYTHON_THREAD_WORKER;
}

/* Of a driver's application. */
static bool is_driver(const struct sp_profile *p, uint32_t thread)
{
	return sp_python_thread_of(p->dict, thread) == SP_PYTHON_THREAD_DRIVER;
}

static unsigned class_of(const struct join *j, uint32_t method)
{
	const struct sp_method *m = sp_dict_get_method(j->p->dict, method);
	uint8_t *known = &j->classes[method];

	if (m && !*known) {
		const char *cls = sp_dict_get_string(j->p->dict, m->class_id, NULL);

		*known = (uint8_t)(sp_pyspark_class(cls, strlen(cls)) + 1);
	}
	return m ? *known - 1u : 0;
}

/* The frame nearest to the leaf that belongs to Spark's reading from Python, in a stack that does
 * just that; -1: it does not. */
static int64_t waiting_frame(const struct join *j, const struct sp_stack *s)
{
	int64_t first = -1;

	for (uint32_t i = 0; i < s->count; i++) {
		unsigned is = class_of(j, s->frames[i].method);

		if (first < 0 && is & (SP_PYSPARK_IS_EXCHANGE | SP_PYSPARK_IS_READER))
			first = i;
		if (is & SP_PYSPARK_IS_READER)
			return first;
	}
	return -1;
}

static int add_wait(struct join *j, const struct wait *w)
{
	for (size_t i = 0; i < j->count; i++) {
		if (j->waits[i].task != w->task)
			continue;
		if (w->weight > j->waits[i].weight)
			j->waits[i] = *w;
		return 0;
	}
	if (sp_grow(&j->waits, &j->cap, j->count, sizeof(*j->waits), 64) < 0)
		return -ENOMEM;
	j->waits[j->count++] = *w;
	return 0;
}

static int find_waits(struct join *j)
{
	struct sp_profile *p = j->p;
	int r = 0;

	for (size_t i = 0; i < p->row_count && r == 0; i++) {
		const struct sp_sample *row = &p->rows[i];
		const struct sp_stack *s =
			row->task ? sp_dict_get_stack(p->dict, row->stack) : NULL;
		int64_t from = s ? waiting_frame(j, s) : -1;

		if (from >= 0)
			r = add_wait(j,
				&(struct wait){row->task, row->stack, (uint32_t)from, row->weight});
	}
	return r;
}

/* Tasks are the same where their TIDs are, or, for the second best, their stages. */
static bool fits(const struct sp_profile *p, uint32_t a, uint32_t b, bool stage)
{
	const struct sp_task_name *x = &p->tasks[a - 1].name, *y = &p->tasks[b - 1].name;

	return stage ? x->stage >= 0 && x->stage == y->stage
		     : x->task_id >= 0 && x->task_id == y->task_id;
}

static const struct wait *wait_of(const struct join *j, uint32_t task)
{
	for (int stage = 0; stage < 2 && task; stage++)
		for (size_t i = 0; i < j->count; i++)
			if (fits(j->p, task, j->waits[i].task, stage))
				return &j->waits[i];
	return NULL;
}

/* The stack of a row as it is shown; 0 when out of memory. */
static uint32_t joined(struct join *j, const struct sp_sample *row)
{
	const struct wait *w = wait_of(j, row->task);
	const struct sp_stack *s = sp_dict_get_stack(j->p->dict, row->stack);
	uint32_t n = s ? s->count : 0;
	bool cut = s && s->truncated;

	if (n + 1 > SP_DICT_MAX_FRAMES)
		return row->stack;
	if (n)
		memcpy(j->frames, s->frames, n * sizeof(*j->frames));
	j->frames[n++] = (struct sp_frame_ref){
		is_driver(j->p, row->thread) ? j->driver : j->worker, -1, -1, SP_FRAME_PYTHON};
	s = w ? sp_dict_get_stack(j->p->dict, w->stack) : NULL;
	for (uint32_t i = w ? w->from : 0; s && i < s->count && n < SP_DICT_MAX_FRAMES; i++)
		j->frames[n++] = s->frames[i];
	return sp_dict_stack(j->p->dict, j->frames, n, cut || (s && s->truncated));
}

/* Rows of one stack and task become the same. */
struct known {
	uint32_t stack, task, to;
};

static int replace(struct join *j)
{
	struct sp_profile *p = j->p;
	enum { KNOWN = 4096 };
	SP_AUTO_FREE struct known *known = calloc(KNOWN, sizeof(*known));

	if (!known)
		return -ENOMEM;
	for (size_t i = 0; i < p->row_count; i++) {
		struct sp_sample *row = &p->rows[i];
		struct known *k = &known[(row->stack * 31u + row->task) % KNOWN];

		if (!row->stack || !(is_worker(p, row->thread) || is_driver(p, row->thread)))
			continue;
		if (k->stack != row->stack || k->task != row->task) {
			*k = (struct known){row->stack, row->task, joined(j, row)};
			if (!k->to)
				return -ENOMEM;
		}
		row->stack = k->to;
	}
	sp_profile_reindex(p);
	return 0;
}

static bool has_workers(const struct sp_profile *p)
{
	for (uint32_t i = 1; i <= sp_dict_threads(p->dict); i++)
		if (is_worker(p, i) || is_driver(p, i))
			return true;
	return false;
}

/* Returns 0 when out of memory. */
static uint32_t add_method(struct sp_profile *p, const char *name)
{
	struct sp_method m = {.native = 1, .name_id = sp_dict_string(p->dict, name, strlen(name))};

	return m.name_id ? sp_dict_method(p->dict, &m) : 0;
}

int sp_python_graft_join(struct sp_profile *p)
{
	struct join j = {.p = p};
	int r = 0;

	if (!has_workers(p))
		return 0;
	j.worker = add_method(p, "[python worker]");
	j.driver = add_method(p, "[python driver]");
	j.frames = malloc(SP_DICT_MAX_FRAMES * sizeof(*j.frames));
	j.classes = calloc(sp_dict_methods(p->dict) + 1, 1);
	if (!j.worker || !j.driver || !j.frames || !j.classes)
		r = -ENOMEM;
	if (r == 0)
		r = find_waits(&j);
	if (r == 0)
		r = replace(&j);
	free(j.classes);
	free(j.waits);
	free(j.frames);
	return r;
}
