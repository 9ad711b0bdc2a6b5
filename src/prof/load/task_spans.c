/* Tasks by thread and time: see task_spans.h. */
#include "prof/load/task_spans_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "prof/model/tasks.h"

#define DICT_CAP (64u << 20)
enum { SPAN = 1, TASK, STAGE, APPLICATION, SOCKET, SOURCE, PLAN, MEASURES };

struct reading {
	struct sp_task_spans *s;
	struct sp_dict *dict;
	bool ours; /* sparkprof.Task is there: profiler.Span says the same again */
};

static int want_span(void *ctx, const char *type)
{
	static const char *const types[] = {[SPAN] = "profiler.Span",
		[TASK] = "sparkprof.Task",
		[STAGE] = "sparkprof.Stage",
		[APPLICATION] = "sparkprof.Application",
		[SOCKET] = "sparkprof.PythonSocket",
		[SOURCE] = "sparkprof.ClassSource",
		[PLAN] = "sparkprof.SqlPlan",
		[MEASURES] = "sparkprof.TaskMeasures"};
	struct reading *r = ctx;

	for (int i = SPAN; i <= MEASURES; i++)
		if (strcmp(type, types[i]) == 0) {
			r->ours |= i == TASK;
			return i;
		}
	return 0;
}

static int64_t number(const struct sp_jfr_event *e, const char *name)
{
	const struct sp_jfr_value *v = sp_jfr_value_of(e, name);

	return v && v->kind == SP_JFR_V_INT ? (int64_t)v->u : -1;
}

/* Times come as nanoseconds. 0 where there is none, or nothing that can be. */
static uint64_t within(const struct sp_jfr_event *e, const char *name, int64_t most)
{
	int64_t n = number(e, name);

	return n > 0 && n <= most ? (uint64_t)n : 0;
}

int sp_spans_keep(const struct sp_jfr_event *e, const char *name, char **to)
{
	const struct sp_jfr_value *v = sp_jfr_value_of(e, name);
	char *s;

	if (!v || v->kind != SP_JFR_V_TEXT || v->len == 0)
		return 0;
	s = strndup(v->s, v->len);
	if (!s)
		return -ENOMEM;
	free(*to);
	*to = s;
	return 0;
}

int sp_task_spans_add(struct sp_task_spans *s, const struct sp_span *x)
{
	if (sp_grow(&s->list, &s->cap, s->count, sizeof(*s->list), 256) < 0)
		return -ENOMEM;
	s->list[s->count++] = *x;
	return 0;
}

static struct sp_span span_of(const struct reading *r, const struct sp_jfr_event *e)
{
	const struct sp_thread *t = sp_dict_get_thread(r->dict, e->thread);

	return (struct sp_span){.run = {.name = {-1, -1, -1, -1, -1},
					.tid = t ? t->tid : 0,
					.start_ns = e->start_ns,
					.end_ns = e->start_ns + e->duration_ns,
					.begun = true,
					.ended = true}};
}

static int read_task(struct reading *r, const struct sp_jfr_event *e)
{
	struct sp_span x = span_of(r, e);

	x.run.name = (struct sp_task_name){number(e, "taskId"), (int32_t)number(e, "stage"),
		(int32_t)number(e, "stageAttempt"), (int32_t)number(e, "index"),
		(int32_t)number(e, "attempt")};
	x.run.begun = number(e, "begun") == 1;
	x.run.ended = number(e, "ended") == 1;
	x.run.helper = number(e, "helper") == 1;
	r->s->helped |= x.run.helper;
	x.run.launch_ns = within(e, "launchTime", INT64_MAX);
	return sp_task_spans_add(r->s, &x);
}

static int read_socket(struct reading *r, const struct sp_jfr_event *e)
{
	struct sp_span x = span_of(r, e);

	return sp_worker_sockets_add(&r->s->sockets,
		&(struct sp_worker_socket){x.run.tid, (uint32_t)number(e, "javaThread"),
			number(e, "taskId"), x.run.start_ns, x.run.end_ns});
}

static int read_span(struct reading *r, const struct sp_jfr_event *e)
{
	struct sp_span x = span_of(r, e);
	SP_AUTO_FREE char *tag = NULL;
	int n = sp_spans_keep(e, "tag", &tag);

	if (n < 0 || !tag)
		return n;
	if (!sp_task_spans_parse(tag, &x.run.name))
		x.label = sp_steal_ptr(tag);
	else if (r->ours)
		return 0;
	n = sp_task_spans_add(r->s, &x);
	if (n < 0)
		free(x.label);
	return n;
}

static int read_stage(struct sp_task_spans *s, const struct sp_jfr_event *e)
{
	struct sp_span_stage *x;
	int r;

	if (sp_grow_one(&s->stages, s->stage_count, sizeof(*s->stages)) < 0)
		return -ENOMEM;
	x = &s->stages[s->stage_count++];
	*x = (struct sp_span_stage){
		.stage = (int32_t)number(e, "stage"), .attempt = (int32_t)number(e, "attempt")};
	x->sql = number(e, "sqlExecution");
	x->job = number(e, "job");
	x->finished = (uint32_t)within(e, "finished", UINT32_MAX);
	x->median_ns = within(e, "median", INT64_MAX);
	r = sp_spans_keep(e, "jobGroup", &x->group);
	if (r == 0)
		r = sp_spans_keep(e, "name", &x->name);
	if (r == 0)
		r = sp_spans_keep(e, "sqlText", &x->sql_text);
	if (r == 0)
		r = sp_spans_keep(e, "description", &x->description);
	if (r == 0)
		r = sp_spans_keep(e, "streamingQuery", &x->query);
	if (r == 0)
		r = sp_spans_keep(e, "streamingBatch", &x->batch);
	return r < 0 ? r : sp_spans_keep(e, "callSite", &x->call_site);
}

static int read_source(struct sp_task_spans *s, const struct sp_jfr_event *e)
{
	SP_AUTO_FREE char *location = NULL, *classes = NULL;
	int r = sp_spans_keep(e, "location", &location);

	if (r == 0)
		r = sp_spans_keep(e, "classes", &classes);
	return r == 0 && location && classes ? sp_task_spans_source(s, location, classes) : r;
}

static int read_plan(struct sp_task_spans *s, const struct sp_jfr_event *e)
{
	struct sp_span_plan *x;

	if (sp_grow_one(&s->plans, s->plan_count, sizeof(*s->plans)) < 0)
		return -ENOMEM;
	x = &s->plans[s->plan_count++];
	*x = (struct sp_span_plan){.sql = number(e, "sqlExecution"), .start_ns = e->start_ns};
	return sp_spans_keep(e, "pipelines", &x->pipelines);
}

static int read_event(void *ctx, const struct sp_jfr_event *e)
{
	struct reading *r = ctx;

	switch (e->wanted) {
	case SPAN:
		return read_span(r, e);
	case TASK:
		return read_task(r, e);
	case STAGE:
		return read_stage(r->s, e);
	case SOCKET:
		return read_socket(r, e);
	case SOURCE:
		return read_source(r->s, e);
	case PLAN:
		return read_plan(r->s, e);
	case MEASURES:
		return sp_spans_measure(r->s, e);
	default:
		return sp_spans_application(r->s, e);
	}
}

static int by_start(const void *a, const void *b)
{
	const struct sp_task_run *x = &((const struct sp_span *)a)->run;
	const struct sp_task_run *y = &((const struct sp_span *)b)->run;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* Of a task that was written while it ran and again later: spans of one thread do not overlap. */
static bool is_same(const struct sp_task_run *last, const struct sp_task_run *x)
{
	return x->name.task_id >= 0 && x->tid == last->tid &&
	       x->name.task_id == last->name.task_id &&
	       (x->start_ns == last->start_ns || x->start_ns < last->end_ns);
}

/* How it ended counts, else the longer one. */
static bool says_more(const struct sp_task_run *x, const struct sp_task_run *last)
{
	return x->ended == last->ended ? x->end_ns > last->end_ns : x->ended;
}

/* Spans of one thread do not overlap: where there are Spark's tasks, those that the program itself
 * marked are left to other readers. */
static void drop_labels(struct sp_task_spans *s)
{
	size_t tasks = 0, n = 0;

	for (size_t i = 0; i < s->count; i++)
		tasks += !s->list[i].label;
	for (size_t i = 0; tasks && i < s->count; i++) {
		if (s->list[i].label)
			free(s->list[i].label);
		else
			s->list[n++] = s->list[i];
	}
	s->count = tasks ? n : s->count;
}

static void drop_running(struct sp_task_spans *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct sp_span *x = &s->list[i];
		struct sp_span *last = n ? &s->list[n - 1] : NULL;

		if (!last || !is_same(&last->run, &x->run))
			s->list[n++] = *x;
		else if (says_more(&x->run, &last->run))
			*last = *x;
	}
	s->count = n;
}

/* A task of which no end was written runs to the end of the file, or until its thread had another.
 */
static void extend_running(struct sp_task_spans *s, uint64_t end_ns)
{
	for (size_t i = 0; i < s->count; i++) {
		struct sp_task_run *t = &s->list[i].run;
		const struct sp_task_run *next = i + 1 < s->count ? &s->list[i + 1].run : NULL;
		uint64_t to = end_ns;

		if (t->ended || t->helper)
			continue;
		if (next && next->tid == t->tid && next->start_ns < to)
			to = next->start_ns;
		t->end_ns = to > t->end_ns ? to : t->end_ns;
	}
}

static int by_task(const void *a, const void *b)
{
	int64_t x = (*(const struct sp_span *const *)a)->run.name.task_id;
	int64_t y = (*(const struct sp_span *const *)b)->run.name.task_id;

	return x < y ? -1 : x > y;
}

/* A Python worker knows its TID and stage, not the attempt of the stage: the task's own thread said
 * the rest. */
static int complete_helpers(struct sp_task_spans *s)
{
	SP_AUTO_FREE struct sp_span **own = NULL;
	size_t n = 0, lacking = 0;

	for (size_t i = 0; i < s->count; i++)
		lacking += s->list[i].run.helper && s->list[i].run.name.stage_attempt < 0;
	if (!lacking)
		return 0;
	own = calloc(s->count, sizeof(*own));
	if (!own)
		return -ENOMEM;
	for (size_t i = 0; i < s->count; i++)
		if (!s->list[i].run.helper && s->list[i].run.name.task_id >= 0)
			own[n++] = &s->list[i];
	qsort(own, n, sizeof(*own), by_task);
	for (size_t i = 0; i < s->count; i++) {
		struct sp_span *x = &s->list[i], **found = NULL;

		if (n && x->run.helper && x->run.name.stage_attempt < 0)
			found = bsearch(&x, own, n, sizeof(*own), by_task);
		if (found)
			x->run.name = (*found)->run.name;
	}
	return 0;
}

/* Workers of Python are joined with the one task that they work for, and labels are all different.
 */
static int find_same(struct sp_task_spans *s)
{
	size_t *first; /* of each stage attempt */
	size_t stages = 0;

	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].run.helper || s->list[i].label)
			return 0;
	first = calloc(s->count + 1, sizeof(*first));
	s->same = calloc(s->count + 1, sizeof(*s->same));
	for (size_t i = 0; first && s->same && i < s->count; i++) {
		const struct sp_task_name *x = &s->list[i].run.name;
		size_t k = stages;

		while (k-- > 0) {
			const struct sp_task_name *y = &s->list[first[k]].run.name;

			if (x->stage == y->stage && x->stage_attempt == y->stage_attempt)
				break;
		}
		if (k == SIZE_MAX)
			first[k = stages++] = i;
		s->same[i + 1] = (uint32_t)first[k] + 1;
	}
	free(first);
	return first && s->same ? 0 : -ENOMEM;
}

bool sp_task_spans_fold(const struct sp_task_spans *s, uint32_t *task)
{
	if (!s->same)
		return false;
	if (*task <= s->count)
		*task = s->same[*task];
	return true;
}

int sp_task_spans_read(struct sp_task_spans *s, int fd)
{
	struct reading r = {.s = s};
	struct sp_jfr_visitor v = {.ctx = &r, .want = want_span, .event = read_event, .rare = true};
	struct sp_jfr_stats stats = {0};
	int n = sp_dict_new(&r.dict, DICT_CAP);

	s->read = true;
	s->named_count = 0;
	if (n < 0)
		return n;
	n = sp_jfr_read(fd, r.dict, &v, &stats, NULL);
	sp_dict_free(r.dict);
	if (n == -ENOMEM)
		return n;
	if (r.ours)
		drop_labels(s);
	if (s->count)
		qsort(s->list, s->count, sizeof(*s->list), by_start);
	drop_running(s);
	extend_running(s, stats.end_ns);
	n = complete_helpers(s);
	sp_spans_apply_measures(s);
	if (n == 0 && s->sockets.count)
		n = sp_worker_sockets_apply(&s->sockets, s);
	if (n > 0) {
		qsort(s->list, s->count, sizeof(*s->list), by_start);
		n = 0;
	}
	return n == 0 && s->fold ? find_same(s) : n;
}

void sp_task_spans_done(struct sp_task_spans *s)
{
	for (size_t i = 0; i < s->known_count; i++)
		free(s->known[i]);
	free(s->known);
	for (size_t i = 0; i < s->count; i++)
		free(s->list[i].label);
	for (size_t i = 0; i < s->stage_count; i++) {
		free(s->stages[i].group);
		free(s->stages[i].description);
		free(s->stages[i].call_site);
		free(s->stages[i].name);
		free(s->stages[i].sql_text);
		free(s->stages[i].query);
		free(s->stages[i].batch);
	}
	for (size_t i = 0; i < s->plan_count; i++)
		free(s->plans[i].pipelines);
	free(s->plans);
	free(s->measures);
	sp_task_spans_sources_done(s);
	sp_worker_sockets_done(&s->sockets);
	free(s->list);
	free(s->named);
	free(s->same);
	free(s->stages);
	free(s->app_id);
	free(s->app_name);
	free(s->executor);
	free(s->host);
	free(s->spark);
	memset(s, 0, sizeof(*s));
}
