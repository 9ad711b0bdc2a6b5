/* Tasks by thread and time: see spans.h. */
#include "prof/spans.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "jfr/reader.h"
#include "prof/tasks.h"

#define DICT_CAP (64u << 20)
#define NEAR_NS	 20000000ull

enum { SPAN = 1, TASK, STAGE, APPLICATION, SOCKET };

struct reading {
	struct sp_spans *s;
	struct sp_dict *dict;
	bool ours; /* sparkprof.Task is there: profiler.Span says the same again */
};

static int want_span(void *ctx, const char *type)
{
	struct reading *r = ctx;

	if (strcmp(type, "sparkprof.Task") == 0) {
		r->ours = true;
		return TASK;
	}
	if (strcmp(type, "profiler.Span") == 0)
		return SPAN;
	if (strcmp(type, "sparkprof.Stage") == 0)
		return STAGE;
	if (strcmp(type, "sparkprof.PythonSocket") == 0)
		return SOCKET;
	return strcmp(type, "sparkprof.Application") == 0 ? APPLICATION : 0;
}

static int64_t number(const struct sp_jfr_event *e, const char *name)
{
	const struct sp_jfr_value *v = sp_jfr_value_of(e, name);

	return v && v->kind == SP_JFR_V_INT ? (int64_t)v->u : -1;
}

/* Keeps a text field in *to; where there is none, or an empty one, *to stays. */
static int keep(const struct sp_jfr_event *e, const char *name, char **to)
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

int sp_spans_add(struct sp_spans *s, const struct sp_span *x)
{
	if (s->count == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 256;
		void *to = reallocarray(s->list, cap, sizeof(*s->list));

		if (!to)
			return -ENOMEM;
		s->list = to;
		s->cap = cap;
	}
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

	x.run.name = (struct sp_taskname){number(e, "taskId"), (int32_t)number(e, "stage"),
		(int32_t)number(e, "stageAttempt"), (int32_t)number(e, "index"),
		(int32_t)number(e, "attempt")};
	x.run.begun = number(e, "begun") == 1;
	x.run.ended = number(e, "ended") == 1;
	x.run.helper = number(e, "helper") == 1;
	return sp_spans_add(r->s, &x);
}

static int read_socket(struct reading *r, const struct sp_jfr_event *e)
{
	struct sp_span x = span_of(r, e);

	return sp_sockets_add(
		&r->s->sockets, &(struct sp_socket){x.run.tid, (uint32_t)number(e, "javaThread"),
					number(e, "taskId"), x.run.start_ns, x.run.end_ns});
}

static int read_span(struct reading *r, const struct sp_jfr_event *e)
{
	struct sp_span x = span_of(r, e);
	SP_AUTO_FREE char *tag = NULL;
	int n = keep(e, "tag", &tag);

	if (n < 0 || !tag || r->ours)
		return n;
	if (!sp_spans_parse(tag, &x.run.name))
		x.label = sp_steal_ptr(tag);
	n = sp_spans_add(r->s, &x);
	if (n < 0)
		free(x.label);
	return n;
}

static int read_stage(struct sp_spans *s, const struct sp_jfr_event *e)
{
	struct sp_span_stage *x = reallocarray(s->stages, s->stage_count + 1, sizeof(*s->stages));
	int r;

	if (!x)
		return -ENOMEM;
	s->stages = x;
	x += s->stage_count++;
	*x = (struct sp_span_stage){
		.stage = (int32_t)number(e, "stage"), .attempt = (int32_t)number(e, "attempt")};
	x->sql = number(e, "sqlExecution");
	x->job = number(e, "job");
	r = keep(e, "jobGroup", &x->group);
	if (r == 0)
		r = keep(e, "name", &x->name);
	if (r == 0)
		r = keep(e, "sqlText", &x->sql_text);
	if (r == 0)
		r = keep(e, "description", &x->description);
	if (r == 0)
		r = keep(e, "streamingQuery", &x->query);
	if (r == 0)
		r = keep(e, "streamingBatch", &x->batch);
	return r < 0 ? r : keep(e, "callSite", &x->call_site);
}

/* A recording that others were merged into is of no single executor. */
static int keep_executor(struct sp_spans *s, const struct sp_jfr_event *e)
{
	SP_AUTO_FREE char *is = NULL;
	int r = keep(e, "executorId", &is);

	if (r < 0 || !is)
		return r;
	if (!s->executor) {
		s->executor = sp_steal_ptr(is);
	} else if (!s->several && strcmp(s->executor, is) != 0) {
		s->several = true;
		free(s->executor);
		s->executor = strdup("several executors");
	}
	return s->executor ? 0 : -ENOMEM;
}

static int read_application(struct sp_spans *s, const struct sp_jfr_event *e)
{
	int r = keep(e, "appId", &s->app_id);

	if (r == 0)
		r = keep(e, "appName", &s->app_name);
	if (r == 0)
		r = keep_executor(s, e);
	if (r == 0)
		r = keep(e, "host", &s->host);
	return r < 0 ? r : keep(e, "sparkVersion", &s->spark);
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
	default:
		return read_application(r->s, e);
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

static int by_task(const void *a, const void *b)
{
	int64_t x = (*(const struct sp_span *const *)a)->run.name.task_id;
	int64_t y = (*(const struct sp_span *const *)b)->run.name.task_id;

	return x < y ? -1 : x > y;
}

/* A Python worker knows its TID and stage, not the attempt of the stage: the task's own thread told
 * the rest. */
static int complete_helpers(struct sp_spans *s)
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
static int find_same(struct sp_spans *s)
{
	size_t *first; /* of each stage attempt */
	size_t stages = 0;

	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].run.helper || s->list[i].label)
			return 0;
	first = calloc(s->count + 1, sizeof(*first));
	s->same = calloc(s->count + 1, sizeof(*s->same));
	for (size_t i = 0; first && s->same && i < s->count; i++) {
		const struct sp_taskname *x = &s->list[i].run.name;
		size_t k = stages;

		while (k-- > 0) {
			const struct sp_taskname *y = &s->list[first[k]].run.name;

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

bool sp_spans_fold(const struct sp_spans *s, uint32_t *task)
{
	if (!s->same)
		return false;
	if (*task <= s->count)
		*task = s->same[*task];
	return true;
}

int sp_spans_read(struct sp_spans *s, int fd)
{
	struct reading r = {.s = s};
	struct sp_jfr_visitor v = {.ctx = &r, .want = want_span, .event = read_event, .rare = true};
	int n = sp_dict_new(&r.dict, DICT_CAP);

	s->read = true;
	s->named_count = 0;
	if (n < 0)
		return n;
	n = sp_jfr_read(fd, r.dict, &v, NULL, NULL);
	sp_dict_free(r.dict);
	if (n == -ENOMEM)
		return n;
	if (s->count)
		qsort(s->list, s->count, sizeof(*s->list), by_start);
	n = complete_helpers(s);
	if (n == 0 && s->sockets.count)
		n = sp_sockets_apply(&s->sockets, s);
	if (n > 0) {
		qsort(s->list, s->count, sizeof(*s->list), by_start);
		n = 0;
	}
	return n == 0 && s->fold ? find_same(s) : n;
}

void sp_spans_done(struct sp_spans *s)
{
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
	sp_sockets_done(&s->sockets);
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

/* The first span of the list behind that place. */
static size_t behind(const struct sp_spans *s, uint32_t tid, uint64_t time_ns)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct sp_task_run *x = &s->list[mid].run;

		if (x->tid < tid || (x->tid == tid && x->start_ns <= time_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Whether nothing of the thread begins between the start of that span and the time. */
static bool is_latest(const struct sp_spans *s, size_t i, uint32_t tid, uint64_t time_ns)
{
	const struct sp_task_run *x = &s->list[i].run;

	return x->tid == tid && x->start_ns <= time_ns && x->end_ns >= time_ns &&
	       (i + 1 == s->count || tid != s->list[i + 1].run.tid ||
		       s->list[i + 1].run.start_ns > time_ns);
}

uint32_t sp_spans_find(const struct sp_spans *s, uint32_t tid, uint64_t time_ns, uint32_t last)
{
	size_t low;

	if (last && last <= s->count && is_latest(s, last - 1, tid, time_ns))
		return last;
	low = behind(s, tid, time_ns);

	/* spans of one thread nest: a few steps back is where the innermost open one is */
	for (size_t i = low, left = 64; i-- > 0 && left-- > 0;) {
		if (s->list[i].run.tid != tid)
			return 0;
		if (s->list[i].run.end_ns >= time_ns)
			return (uint32_t)i + 1;
	}
	return 0;
}

static bool same_name(const struct sp_taskname *a, const struct sp_taskname *b)
{
	return a->task_id == b->task_id && a->stage == b->stage && a->index == b->index &&
	       a->stage_attempt == b->stage_attempt && a->attempt == b->attempt;
}

uint32_t sp_spans_near(const struct sp_spans *s, uint32_t tid, uint64_t time_ns, bool *ret_last)
{
	size_t next = behind(s, tid, time_ns);
	const struct sp_task_run *b = next < s->count ? &s->list[next].run : NULL;
	const struct sp_task_run *a = next > 0 ? &s->list[next - 1].run : NULL;
	uint64_t after, before;

	b = b && b->tid == tid ? b : NULL;
	a = a && a->tid == tid ? a : NULL;
	before = a ? time_ns - a->end_ns : UINT64_MAX;
	after = b ? b->start_ns - time_ns : UINT64_MAX;
	*ret_last = b == NULL;
	if (before > NEAR_NS && after > NEAR_NS)
		return 0;
	return (uint32_t)(after < before ? next + 1 : next);
}

/* A name may outlive its span; it tells of no other task. */
static uint32_t known_task(const struct sp_spans *s, const struct sp_taskname *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].run.name.task_id == name->task_id && !s->list[i].run.helper)
			return (uint32_t)i + 1;
	return 0;
}

uint32_t sp_spans_name(struct sp_spans *s, const struct sp_taskname *name)
{
	size_t i = known_task(s, name);
	void *to;

	if (i)
		return (uint32_t)i;
	pthread_mutex_lock(s->lock);
	while (i < s->named_count && !same_name(&s->named[i], name))
		i++;
	if (i == s->named_count) {
		to = reallocarray(s->named, i + 1, sizeof(*s->named));
		if (to) {
			s->named = to;
			s->named[s->named_count++] = *name;
		}
	}
	i = i < s->named_count ? s->count + i + 1 : 0;
	pthread_mutex_unlock(s->lock);
	return (uint32_t)i;
}

/* The number ("7" or "7.0") behind @word, blanks, '=', ':' or '-' between them. False: none. */
static bool number_after(const char *text, const char *word, int64_t *ret, int32_t *ret_second)
{
	for (const char *p = strcasestr(text, word); p; p = strcasestr(p + 1, word)) {
		const char *from = p + strlen(word) + strspn(p + strlen(word), " =:-#");
		char *end;

		if (!isdigit((unsigned char)*from))
			continue;
		*ret = strtoll(from, &end, 10);
		if (ret_second && *end == '.' && isdigit((unsigned char)end[1]))
			*ret_second = (int32_t)strtol(end + 1, NULL, 10);
		return true;
	}
	return false;
}

bool sp_spans_parse(const char *text, struct sp_taskname *ret)
{
	struct sp_taskname t = {-1, -1, -1, -1, -1};
	int64_t stage = -1, index = -1;
	bool any;

	if (sp_taskname_parse(text, ret))
		return true;
	any = number_after(text, "stage", &stage, &t.stage_attempt);
	any |= number_after(text, "TID", &t.task_id, NULL);
	any |= number_after(text, "task", &index, &t.attempt);
	t.stage = (int32_t)stage;
	t.index = (int32_t)index;
	if (any)
		*ret = t;
	return any;
}
