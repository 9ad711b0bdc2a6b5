/* See stage_names.h. */
#include "prof/spark/stage_names.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "prof/model/tasks.h"

void sp_stage_names_done(struct sp_stage_names *n)
{
	for (size_t i = 0; i < n->count; i++) {
		free(n->list[i].name);
		free(n->list[i].description);
		free(n->list[i].group);
		free(n->list[i].operators);
	}
	for (size_t i = 0; i < n->plan_count; i++) {
		free(n->plans[i].shape);
		free(n->plans[i].pipelines);
	}
	free(n->plans);
	for (size_t i = 0; i < n->query_count; i++)
		free(n->queries[i].name);
	free(n->queries);
	free(n->list);
	free(n->tasks);
	free(n->app_id);
	free(n->app_name);
	memset(n, 0, sizeof(*n));
}

/* Logs name a stage several times in a row: the search begins at the end. */
static struct sp_stage_name *find_stage(
	const struct sp_stage_names *n, int32_t stage, int32_t attempt)
{
	for (size_t i = n->count; i-- > 0;)
		if (n->list[i].stage == stage && n->list[i].attempt == attempt)
			return &n->list[i];
	return NULL;
}

struct sp_stage_name *sp_stage_names_add(struct sp_stage_names *n, int32_t stage, int32_t attempt)
{
	struct sp_stage_name *x = find_stage(n, stage, attempt);

	if (x)
		return x;
	if (sp_grow(&n->list, &n->cap, n->count, sizeof(*n->list), 64) < 0)
		return NULL;
	x = &n->list[n->count++];
	*x = (struct sp_stage_name){.stage = stage, .attempt = attempt, .job = -1, .sql = -1};
	return x;
}

/* Tasks end near where they began: the search goes back so far. */
#define BACK 4096

int sp_stage_names_task(struct sp_stage_names *n, const struct sp_task_time *t)
{
	size_t back = t->finish_ms ? BACK : 0;

	for (size_t i = n->task_count; i-- > 0 && back-- > 0;)
		if (n->tasks[i].task_id == t->task_id) {
			n->tasks[i] = *t;
			return 0;
		}
	if (sp_grow(&n->tasks, &n->task_cap, n->task_count, sizeof(*n->tasks), 256) < 0)
		return -ENOMEM;
	n->tasks[n->task_count++] = *t;
	return 0;
}

static int compare(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_task(const void *a, const void *b)
{
	const struct sp_task_time *x = a, *y = b;

	return compare(x->task_id, y->task_id);
}

/* Those that succeeded come first in each stage, shortest first. */
static int by_length(const void *a, const void *b)
{
	const struct sp_task_time *x = a, *y = b;
	bool x_out = x->failed || !x->finish_ms, y_out = y->failed || !y->finish_ms;
	int r = compare(x->stage, y->stage);

	if (r == 0)
		r = compare(x->attempt, y->attempt);
	if (r == 0)
		r = compare(x_out, y_out);
	return r ? r : compare(x->finish_ms - x->launch_ms, y->finish_ms - y->launch_ms);
}

/* The tasks of one stage attempt lie beside each other. Returns how many, or -ENOMEM. */
static int64_t settle_stage(struct sp_stage_names *n, size_t first)
{
	const struct sp_task_time *t = &n->tasks[first];
	struct sp_stage_name *s = sp_stage_names_add(n, t->stage, t->attempt);
	size_t count = 0, done = 0;

	if (!s)
		return -ENOMEM;
	for (; first + count < n->task_count && t[count].stage == t->stage &&
		t[count].attempt == t->attempt;
		count++)
		done += t[count].finish_ms && !t[count].failed;
	s->finished = (uint32_t)done;
	if (done && t[done / 2].finish_ms > t[done / 2].launch_ms)
		s->median_ms = (uint64_t)(t[done / 2].finish_ms - t[done / 2].launch_ms);
	return (int64_t)count;
}

int sp_stage_names_settle(struct sp_stage_names *n)
{
	int64_t count;

	if (n->task_count)
		qsort(n->tasks, n->task_count, sizeof(*n->tasks), by_length);
	for (size_t i = 0; i < n->task_count; i += (size_t)count) {
		count = settle_stage(n, i);
		if (count < 0)
			return (int)count;
	}
	if (n->task_count)
		qsort(n->tasks, n->task_count, sizeof(*n->tasks), by_task);
	return 0;
}

static void put_times(const struct sp_stage_names *n, struct sp_task_run *t)
{
	struct sp_task_time key = {.task_id = t->name.task_id};
	const struct sp_task_time *x =
		n->task_count ? bsearch(&key, n->tasks, n->task_count, sizeof(key), by_task) : NULL;

	if (!x || x->launch_ms <= 0)
		return;
	t->launch_ns = (uint64_t)x->launch_ms * 1000000;
	t->finish_ns = x->finish_ms > 0 ? (uint64_t)x->finish_ms * 1000000 : 0;
}

int sp_stage_names_plan(struct sp_stage_names *n, int64_t sql, char *shape)
{
	if (sp_grow_one(&n->plans, n->plan_count, sizeof(*n->plans)) < 0) {
		free(shape);
		return -ENOMEM;
	}
	n->plans[n->plan_count++] = (struct sp_sql_plan){sql, shape, NULL};
	return 0;
}

static struct sp_sql_plan *plan_of(const struct sp_stage_names *n, int64_t sql)
{
	for (size_t i = n->plan_count; i-- > 0;)
		if (n->plans[i].sql == sql)
			return &n->plans[i];
	return NULL;
}

void sp_stage_names_pipelines(struct sp_stage_names *n, int64_t sql, char *pipelines)
{
	struct sp_sql_plan *plan = plan_of(n, sql);

	if (plan) {
		free(plan->pipelines);
		plan->pipelines = pipelines;
	} else {
		free(pipelines);
	}
}

struct sp_stage_query *sp_stage_names_query(struct sp_stage_names *n, bool job, int64_t id)
{
	struct sp_stage_query *q;

	for (size_t i = n->query_count; i-- > 0;)
		if (n->queries[i].id == id && n->queries[i].job == job)
			return &n->queries[i];
	if (sp_grow(&n->queries, &n->query_cap, n->query_count, sizeof(*n->queries), 64) < 0)
		return NULL;
	q = &n->queries[n->query_count++];
	*q = (struct sp_stage_query){.job = job, .id = id, .sql = -1};
	return q;
}

static uint32_t intern(struct sp_profile *p, const char *s, uint32_t otherwise)
{
	uint32_t id = s && *s ? sp_dict_string(p->dict, s, strlen(s)) : 0;

	return id ? id : otherwise;
}

static void put_names(struct sp_profile *p, struct sp_stage *to, const struct sp_stage_name *from)
{
	if (!from)
		return;
	to->name = intern(p, from->name, to->name);
	to->description = intern(p, from->description, to->description);
	to->group = intern(p, from->group, to->group);
	to->operators = intern(p, from->operators, to->operators);
	to->job = from->job >= 0 ? from->job : to->job;
	to->sql = from->sql >= 0 ? from->sql : to->sql;
	if (from->finished) {
		to->finished = from->finished;
		to->median_ns = from->median_ms * 1000000;
	}
}

/* Of a driver, and once: what the log says of its queries. Returns 0 or -ENOMEM. */
static int apply_queries(const struct sp_stage_names *n, struct sp_profile *p)
{
	if (p->executions || !n->query_count || !p->executor_id ||
		strcmp(sp_dict_get_string(p->dict, p->executor_id, NULL), "driver") != 0)
		return 0;
	p->executions = calloc(n->query_count, sizeof(*p->executions));
	if (!p->executions)
		return -ENOMEM;
	for (size_t i = 0; i < n->query_count; i++) {
		const struct sp_stage_query *q = &n->queries[i];

		p->executions[p->execution_count++] = (struct sp_execution){
			q->job, q->id, q->sql, q->start_ns, q->end_ns, intern(p, q->name, 0)};
	}
	return 0;
}

int sp_stage_names_apply(
	const struct sp_stage_names *n, struct sp_profile *p, uint32_t *ret_missing)
{
	const char *app = n->app_id ? n->app_id : "";
	struct sp_task_name last = {-1, -1, -1, -1, -1};
	int named = 0;

	*ret_missing = 0;
	if (apply_queries(n, p) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < p->task_count; i++) {
		const struct sp_task_run t = p->tasks[i];
		const struct sp_stage_name *of_all, *of_one;
		const struct sp_sql_plan *plan;
		struct sp_stage *to;

		if (t.name.stage < 0 ||
			(t.app && *app &&
				strcmp(sp_dict_get_string(p->dict, t.app, NULL), app) != 0))
			continue;
		put_times(n, &p->tasks[i]);
		if (t.name.stage == last.stage && t.name.stage_attempt == last.stage_attempt)
			continue;
		last = t.name;
		of_all = find_stage(n, t.name.stage, -1);
		of_one = find_stage(n, t.name.stage, t.name.stage_attempt);
		*ret_missing += !of_one;
		if (!of_all && !of_one)
			continue;
		to = sp_profile_stage(p, t.app, t.name.stage, t.name.stage_attempt);
		if (!to)
			return -ENOMEM;
		put_names(p, to, of_all);
		put_names(p, to, of_one);
		plan = plan_of(n, to->sql);
		to->plan = intern(p, plan ? plan->shape : NULL, to->plan);
		to->pipelines = intern(p, plan ? plan->pipelines : NULL, to->pipelines);
		named++;
	}
	return named;
}
