/* Spans and what was read with them become part of a profile: see task_spans.h. */
#include "prof/load/task_spans.h"

#include "prof/model/tasks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

int sp_task_spans_source(struct sp_task_spans *s, const char *location, const char *classes)
{
	struct sp_span_source *x;

	if (sp_grow_one(&s->sources, s->source_count, sizeof(*s->sources)) < 0)
		return -ENOMEM;
	x = &s->sources[s->source_count++];
	*x = (struct sp_span_source){strdup(location), strdup(classes)};
	return x->location && x->classes ? 0 : -ENOMEM;
}

void sp_task_spans_sources_done(struct sp_task_spans *s)
{
	for (size_t i = 0; i < s->source_count; i++) {
		free(s->sources[i].location);
		free(s->sources[i].classes);
	}
	free(s->sources);
}

static uint32_t intern(struct sp_profile *p, const char *s)
{
	return s ? sp_dict_string(p->dict, s, strlen(s)) : 0;
}

/* A stage is known by its tasks, and again by its driver. */
static void learn(struct sp_profile *p, const char *s, uint32_t *to)
{
	uint32_t id = intern(p, s);

	*to = id ? id : *to;
}

/* The last that was said of a query has all that went before. */
static uint32_t pipelines_of(const struct sp_task_spans *s, struct sp_profile *p, int64_t sql)
{
	const struct sp_span_plan *last = NULL;

	for (size_t i = 0; sql >= 0 && i < s->plan_count; i++)
		if (s->plans[i].sql == sql && s->plans[i].pipelines &&
			(!last || s->plans[i].start_ns >= last->start_ns))
			last = &s->plans[i];
	return last ? intern(p, last->pipelines) : 0;
}

static int settle_stages(const struct sp_task_spans *s, struct sp_profile *p)
{
	for (size_t i = 0; i < s->stage_count; i++) {
		const struct sp_span_stage *from = &s->stages[i];
		struct sp_stage *to = sp_profile_stage(p, p->app_id, from->stage, from->attempt);

		if (!to)
			return -ENOMEM;
		to->sql = from->sql >= 0 ? from->sql : to->sql;
		to->job = from->job >= 0 ? from->job : to->job;
		learn(p, from->group, &to->group);
		learn(p, from->description, &to->description);
		learn(p, from->call_site, &to->call_site);
		learn(p, from->name, &to->name);
		learn(p, from->sql_text, &to->sql_text);
		learn(p, from->query, &to->query);
		learn(p, from->batch, &to->batch);
		to->pipelines = pipelines_of(s, p, to->sql);
		if (from->finished) {
			to->finished = from->finished;
			to->median_ns = from->median_ns;
		}
	}
	return 0;
}

static void note_sockets(const struct sp_worker_sockets *s, struct sp_profile *p)
{
	unsigned long long other = s->other, looks = s->other + s->same;
	char text[160];

	snprintf(text, sizeof(text),
		"in %llu of %llu checks a Python worker named another task than the JVM's thread "
		"at its socket",
		other, looks);
	sp_profile_note(p, text);
}

int sp_task_spans_finish(const struct sp_task_spans *s, struct sp_profile *p)
{
	int r = 0;

	p->app_id = intern(p, s->app_id);
	p->app_name = intern(p, s->app_name);
	p->executor_id = intern(p, s->executor);
	p->spark_id = intern(p, s->spark);
	for (size_t i = 0; i < s->count + s->named_count && r == 0; i++) {
		struct sp_task_run t = {0};

		if (i < s->count) {
			t = s->list[i].run;
			t.label = intern(p, s->list[i].label);
		} else {
			t.name = s->named[i - s->count];
		}
		t.app = p->app_id;
		t.executor = p->executor_id;
		r = sp_profile_add_task(p, &t);
	}
	for (size_t i = 0; i < s->source_count && r == 0; i++)
		r = sp_profile_source(
			p, intern(p, s->sources[i].location), intern(p, s->sources[i].classes));
	if (s->sockets.other)
		note_sockets(&s->sockets, p);
	return r < 0 ? r : settle_stages(s, p);
}
