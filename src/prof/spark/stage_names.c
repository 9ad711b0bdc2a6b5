/* See stagenames.h. */
#include "prof/stagenames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "prof/tasks.h"

void sp_stage_names_done(struct sp_stage_names *n)
{
	for (size_t i = 0; i < n->count; i++) {
		free(n->list[i].name);
		free(n->list[i].description);
		free(n->list[i].group);
	}
	free(n->list);
	free(n->app_id);
	free(n->app_name);
	memset(n, 0, sizeof(*n));
}

/* Logs tell of a stage several times in a row: the search begins at the end. */
static struct sp_stage_name *find(const struct sp_stage_names *n, int32_t stage, int32_t attempt)
{
	for (size_t i = n->count; i-- > 0;)
		if (n->list[i].stage == stage && n->list[i].attempt == attempt)
			return &n->list[i];
	return NULL;
}

struct sp_stage_name *sp_stage_names_add(struct sp_stage_names *n, int32_t stage, int32_t attempt)
{
	struct sp_stage_name *x = find(n, stage, attempt);

	if (x)
		return x;
	if (n->count == n->cap) {
		size_t cap = n->cap ? n->cap * 2 : 64;
		void *to = reallocarray(n->list, cap, sizeof(*n->list));

		if (!to)
			return NULL;
		n->list = to;
		n->cap = cap;
	}
	x = &n->list[n->count++];
	*x = (struct sp_stage_name){.stage = stage, .attempt = attempt, .job = -1, .sql = -1};
	return x;
}

static uint32_t intern(struct sp_profile *p, const char *s, uint32_t otherwise)
{
	uint32_t id = s && *s ? sp_dict_string(p->dict, s, strlen(s)) : 0;

	return id ? id : otherwise;
}

static void put(struct sp_profile *p, struct sp_stage *to, const struct sp_stage_name *from)
{
	if (!from)
		return;
	to->name = intern(p, from->name, to->name);
	to->description = intern(p, from->description, to->description);
	to->group = intern(p, from->group, to->group);
	to->job = from->job >= 0 ? from->job : to->job;
	to->sql = from->sql >= 0 ? from->sql : to->sql;
}

int sp_stage_names_apply(
	const struct sp_stage_names *n, struct sp_profile *p, uint32_t *ret_missing)
{
	const char *app = n->app_id ? n->app_id : "";
	struct sp_taskname last = {-1, -1, -1, -1, -1};
	int named = 0;

	*ret_missing = 0;
	for (size_t i = 0; i < p->task_count; i++) {
		const struct sp_task_run t = p->tasks[i];
		const struct sp_stage_name *of_all, *of_one;
		struct sp_stage *to;

		if (t.name.stage < 0 ||
			(t.name.stage == last.stage && t.name.stage_attempt == last.stage_attempt))
			continue;
		last = t.name;
		if (t.app && *app && strcmp(sp_dict_get_string(p->dict, t.app, NULL), app) != 0)
			continue;
		of_all = find(n, t.name.stage, -1);
		of_one = find(n, t.name.stage, t.name.stage_attempt);
		*ret_missing += !of_one;
		if (!of_all && !of_one)
			continue;
		to = sp_profile_stage(p, t.app, t.name.stage, t.name.stage_attempt);
		if (!to)
			return -ENOMEM;
		put(p, to, of_all);
		put(p, to, of_one);
		named++;
	}
	return named;
}
