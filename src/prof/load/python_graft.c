/* See python_graft.h. */
#include "prof/load/python_graft.h"

#include "base/cleanup.h"
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
	uint32_t worker; /* method "[python worker]" */
	uint32_t driver; /* method "[python driver]" */
	struct sp_frame_ref *frames;
};

static bool starts_with(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static bool is_called(const struct sp_profile *p, uint32_t thread, const char *prefix)
{
	const struct sp_thread *t = sp_dict_get_thread(p->dict, thread);

	return t && starts_with(sp_dict_get_string(p->dict, t->name_id, NULL), prefix);
}

static bool is_worker(const struct sp_profile *p, uint32_t thread)
{
	return is_called(p, thread, "python-worker-");
}

/* Of a driver's application. */
static bool is_driver(const struct sp_profile *p, uint32_t thread)
{
	return is_called(p, thread, "python-driver-");
}

/* The frame nearest to the leaf that belongs to Spark's reading from Python, in a stack that does
 * just that; -1: it does not. */
static int64_t waiting_frame(const struct sp_profile *p, const struct sp_stack *s)
{
	int64_t first = -1;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct sp_method *m = sp_dict_get_method(p->dict, s->frames[i].method);
		const char *cls = m ? sp_dict_get_string(p->dict, m->class_id, NULL) : "";

		if (!starts_with(cls, "org/apache/spark/api/python/") &&
			!starts_with(cls, "org/apache/spark/sql/execution/python/"))
			continue;
		first = first < 0 ? i : first;
		if (strstr(cls, "Runner$ReaderIterator"))
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
	if (j->count == j->cap) {
		size_t cap = j->cap ? j->cap * 2 : 64;
		void *to = reallocarray(j->waits, cap, sizeof(*j->waits));

		if (!to)
			return -ENOMEM;
		j->waits = to;
		j->cap = cap;
	}
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
		int64_t from = s ? waiting_frame(p, s) : -1;

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

	return stage ? x->stage == y->stage : x->task_id == y->task_id;
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
	if (!j.worker || !j.driver || !j.frames)
		r = -ENOMEM;
	if (r == 0)
		r = find_waits(&j);
	if (r == 0)
		r = replace(&j);
	free(j.waits);
	free(j.frames);
	return r;
}
