/* Adding one profile to another: see profile.h. Everything is interned again in the dictionary of
 * the first; what each id of the second became is remembered, so that a stack is unpacked once. */
#include "prof/model/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/saturate.h"
#include "prof/model/tasks.h"
#include "prof/model/timeline.h"

struct merge {
	struct sp_dict *to, *from;
	uint32_t *strings, *methods, *stacks, *threads; /* new ids + 1; 0: not yet */
	uint32_t *tasks;				/* as rows name them */
	size_t task_count, first_task;			/* entries of tasks; what was before them */
	uint32_t *open;					/* of those before: that had not ended */
	size_t open_count;
	struct sp_frame_ref *frames;
	bool full; /* something did not fit */
	bool same; /* one dictionary: ids stay */
};

static void merge_done(struct merge *m)
{
	free(m->strings);
	free(m->methods);
	free(m->stacks);
	free(m->threads);
	free(m->tasks);
	free(m->open);
	free(m->frames);
}

static int merge_init(struct merge *m, struct sp_dict *to, struct sp_dict *from)
{
	m->to = to;
	m->from = from;
	m->same = to == from;
	if (m->same)
		return 0;
	m->strings = calloc(sp_dict_strings(from) + 1ul, sizeof(uint32_t));
	m->methods = calloc(sp_dict_methods(from) + 1ul, sizeof(uint32_t));
	m->stacks = calloc(sp_dict_stacks(from) + 1ul, sizeof(uint32_t));
	m->threads = calloc(sp_dict_threads(from) + 1ul, sizeof(uint32_t));
	m->frames = calloc(SP_DICT_MAX_FRAMES, sizeof(*m->frames));
	return m->strings && m->methods && m->stacks && m->threads && m->frames ? 0 : -ENOMEM;
}

static uint32_t keep_id(struct merge *m, uint32_t *place, uint32_t id)
{
	m->full |= id == 0;
	*place = id + 1;
	return id;
}

static uint32_t copy_string(struct merge *m, uint32_t id)
{
	size_t len;
	const char *s;

	if (m->same)
		return id;
	if (id == 0 || id > sp_dict_strings(m->from))
		return 0;
	if (m->strings[id])
		return m->strings[id] - 1;
	s = sp_dict_get_string(m->from, id, &len);
	return keep_id(m, &m->strings[id], sp_dict_string(m->to, s, len));
}

static uint32_t method(struct merge *m, uint32_t id)
{
	const struct sp_method *old = sp_dict_get_method(m->from, id);
	struct sp_method new;

	if (!old)
		return 0;
	if (m->methods[id])
		return m->methods[id] - 1;
	new = *old;
	new.class_id = copy_string(m, old->class_id);
	new.name_id = copy_string(m, old->name_id);
	new.sig_id = copy_string(m, old->sig_id);
	return keep_id(m, &m->methods[id], sp_dict_method(m->to, &new));
}

static uint32_t thread(struct merge *m, uint32_t id)
{
	const struct sp_thread *old = sp_dict_get_thread(m->from, id);
	struct sp_thread new;

	if (!old || m->same)
		return old ? id : 0;
	if (m->threads[id])
		return m->threads[id] - 1;
	new = *old;
	new.name_id = copy_string(m, old->name_id);
	new.group_id = copy_string(m, old->group_id);
	return keep_id(m, &m->threads[id], sp_dict_thread(m->to, &new));
}

static uint32_t stack(struct merge *m, uint32_t id)
{
	const struct sp_stack *old;

	if (m->same)
		return id;
	if (id == 0 || id > sp_dict_stacks(m->from))
		return 0;
	if (m->stacks[id])
		return m->stacks[id] - 1;
	old = sp_dict_get_stack(m->from, id);
	for (uint32_t i = 0; i < old->count; i++) {
		m->frames[i] = old->frames[i];
		m->frames[i].method = method(m, old->frames[i].method);
	}
	return keep_id(
		m, &m->stacks[id], sp_dict_stack(m->to, m->frames, old->count, old->truncated));
}

/* Where each event of @from is in @p. */
static int merge_events(
	struct sp_profile *p, const struct sp_profile *from, uint32_t map[SP_PROFILE_EVENTS])
{
	for (unsigned i = 0; i < from->event_count; i++) {
		const struct sp_event *e = &from->events[i];
		const char *name = sp_dict_get_string(from->dict, e->name_id, NULL);
		unsigned before = p->event_count;
		int n = sp_profile_event(p, name, e->unit, e->interval, e->measured);

		if (n < 0)
			return n;
		map[i] = (uint32_t)n;
		if ((unsigned)n < before && p->events[n].interval != e->interval)
			p->events[n].interval = 0;
		if ((unsigned)n < before && p->events[n].unit != e->unit)
			sp_profile_note(p, "recordings that are merged here weigh an event in "
					   "different units: compare samples, not weights");
	}
	return 0;
}

static void merge_words(struct sp_profile *p, const struct sp_profile *from)
{
	uint64_t end = p->start_ns + p->duration_ns, from_end = from->start_ns + from->duration_ns;

	for (unsigned i = 0; i < from->lost_count; i++)
		sp_profile_lost(p, sp_dict_get_string(from->dict, from->lost[i].text_id, NULL),
			from->lost[i].count);
	for (unsigned i = 0; i < from->note_count; i++)
		sp_profile_note(p, sp_dict_get_string(from->dict, from->notes[i].text_id, NULL));
	p->too_deep += from->too_deep;
	p->outside += from->outside;
	p->outside_weight = sp_saturate_add(p->outside_weight, from->outside_weight);
	p->saturated |= from->saturated;
	p->idle = from->idle > p->idle ? from->idle : p->idle;
	p->depth_known |= from->depth_known;
	if (from->start_ns && (!p->start_ns || from->start_ns < p->start_ns))
		p->start_ns = from->start_ns;
	if (from_end > end)
		end = from_end;
	p->duration_ns = end > p->start_ns ? end - p->start_ns : 0;
}

/* At the middle of its first bucket: both sides cut time at other places. */
static int add_rows(struct sp_profile *p, const struct sp_profile *from, const struct sp_sample *s,
	size_t count)
{
	struct sp_timed times[SP_PROFILE_BATCH];
	uint64_t bucket = from->bucket_ns;

	for (size_t i = 0; i < count; i++)
		times[i] = (struct sp_timed){
			from->origin_ns + s[i].bucket * bucket + bucket / 2, s[i].span * bucket};
	return bucket ? sp_profile_add_many_at(p, s, times, count)
		      : sp_profile_add_many(p, s, count);
}

static int merge_series(struct sp_profile *p, const struct sp_profile *from)
{
	int r = 0;

	for (int k = 0; k < SP_SERIES_KINDS; k++)
		for (size_t i = 0; i < from->series[k].count && r == 0; i++)
			r = sp_profile_point(p, (enum sp_series_kind)k,
				from->series[k].points[i].time_ns, from->series[k].points[i].value);
	return r;
}

static bool is_part(const struct sp_task_run *x, const struct sp_task_run *t)
{
	return (!x->ended || !t->ended) && x->name.task_id == t->name.task_id && !x->helper &&
	       x->tid == t->tid && x->app == t->app && x->executor == t->executor &&
	       x->name.stage == t->name.stage && x->start_ns < t->end_ns && t->start_ns < x->end_ns;
}

/* The task that ran when one file of a recording ended, and that another one has as well: its
 * number + 1; 0: there is none. */
static uint32_t find_part(
	const struct merge *m, const struct sp_profile *p, const struct sp_task_run *t)
{
	if (t->name.task_id < 0 || t->helper || t->folded)
		return 0;
	for (size_t i = 0; t->ended && i < m->open_count; i++)
		if (is_part(&p->tasks[m->open[i]], t))
			return m->open[i] + 1;
	for (size_t i = m->first_task; !t->ended && i-- > 0;)
		if (is_part(&p->tasks[i], t))
			return (uint32_t)i + 1;
	return 0;
}

static int list_open(struct merge *m, const struct sp_profile *p)
{
	m->open = calloc(p->task_count + 1, sizeof(*m->open));
	for (size_t i = 0; m->open && i < p->task_count; i++)
		if (!p->tasks[i].ended && !p->tasks[i].helper && p->tasks[i].name.task_id >= 0)
			m->open[m->open_count++] = (uint32_t)i;
	return m->open ? 0 : -ENOMEM;
}

static void join_parts(struct sp_task_run *to, const struct sp_task_run *t)
{
	if (t->ended ? !to->ended : t->end_ns > to->end_ns && !to->ended) {
		to->end_ns = t->end_ns;
		to->ended = t->ended;
	}
	to->begun |= t->begun;
	to->start_ns = t->start_ns < to->start_ns ? t->start_ns : to->start_ns;
	to->launch_ns = to->launch_ns ? to->launch_ns : t->launch_ns;
	to->gc_ns += t->gc_ns;
	if (t->measured) {
		to->measured = true;
		to->spark = t->spark;
	}
}

/* Rows of @from name their tasks behind those that are here, or those that replace theirs. */
static int merge_tasks(struct merge *m, struct sp_profile *p, const struct sp_profile *from)
{
	int r = 0;

	m->task_count = from->task_count;
	m->first_task = p->task_count;
	m->tasks = calloc(from->task_count + 1, sizeof(*m->tasks));
	if (!m->tasks || list_open(m, p) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < from->task_count && r == 0; i++) {
		struct sp_task_run t = from->tasks[i];
		uint32_t part;

		t.label = copy_string(m, t.label);
		t.stage_label = copy_string(m, t.stage_label);
		t.app = copy_string(m, t.app);
		t.executor = copy_string(m, t.executor);
		part = find_part(m, p, &t);
		m->tasks[i + 1] = part ? part : (uint32_t)p->task_count + 1;
		if (part)
			join_parts(&p->tasks[part - 1], &t);
		else
			r = t.folded ? sp_profile_add_group(p, &t, &m->tasks[i + 1])
				     : sp_profile_add_task(p, &t);
	}
	return r;
}

static int merge_stage(struct merge *m, struct sp_profile *p, const struct sp_stage *s)
{
	struct sp_stage *to = sp_profile_stage(p, copy_string(m, s->app), s->stage, s->attempt);

	if (!to)
		return -ENOMEM;
	to->sql = s->sql >= 0 ? s->sql : to->sql;
	to->job = s->job >= 0 ? s->job : to->job;
	to->name = s->name ? copy_string(m, s->name) : to->name;
	to->group = s->group ? copy_string(m, s->group) : to->group;
	to->description = s->description ? copy_string(m, s->description) : to->description;
	to->call_site = s->call_site ? copy_string(m, s->call_site) : to->call_site;
	to->sql_text = s->sql_text ? copy_string(m, s->sql_text) : to->sql_text;
	to->query = s->query ? copy_string(m, s->query) : to->query;
	to->batch = s->batch ? copy_string(m, s->batch) : to->batch;
	if (s->finished >= to->finished) {
		to->finished = s->finished;
		to->median_ns = s->median_ns;
	}
	to->plan = s->plan ? copy_string(m, s->plan) : to->plan;
	to->pipelines = s->pipelines ? copy_string(m, s->pipelines) : to->pipelines;
	to->operators = s->operators ? copy_string(m, s->operators) : to->operators;
	return 0;
}

/* What is known of tasks, executors and stages beside the tasks themselves. */
static int merge_facts(struct merge *m, struct sp_profile *p, const struct sp_profile *from)
{
	int r = 0;

	for (size_t i = 0; i < from->placed_count && r == 0; i++)
		r = sp_profile_place(p, copy_string(m, from->placed[i].executor),
			copy_string(m, from->placed[i].host));
	for (size_t i = 0; i < from->past_count && r == 0; i++) {
		struct sp_past past = from->pasts[i];

		past.app = copy_string(m, past.app);
		r = sp_profile_add_past(p, &past);
	}
	for (size_t i = 0; i < from->source_count && r == 0; i++)
		r = sp_profile_source(p, copy_string(m, from->sources[i].location),
			copy_string(m, from->sources[i].classes));
	for (size_t i = 0; i < from->stage_count && r == 0; i++)
		r = merge_stage(m, p, &from->stages[i]);
	return r;
}

struct others {
	uint32_t task; /* as rows name it */
};

static void name_other(void *ctx, struct sp_sample *row)
{
	const struct others *o = ctx;

	if (!row->task)
		row->task = o->task;
}

/* Adds an entry for everything that @executor did outside of tasks. */
static int add_others(struct sp_profile *p, uint32_t executor, struct others *ret)
{
	struct sp_task_run t = {.name = {-1, -1, -1, -1, -1}, .executor = executor};
	int r = sp_profile_add_task(p, &t);

	ret->task = (uint32_t)p->task_count;
	return r;
}

/* With a second executor samples that are in no task need its name. @ret: as rows of
 * @from shall name it; 0: not at all. */
static int name_executors(
	struct merge *m, struct sp_profile *p, const struct sp_profile *from, struct others *ret)
{
	uint32_t executor = copy_string(m, from->executor_id);
	int r = 0;

	ret->task = 0;
	if (executor == p->executor_id || (!p->row_count && !p->task_count) ||
		p->fold == SP_FOLD_EXECUTORS)
		return 0;
	if (p->executor_id) {
		struct others own;

		r = add_others(p, p->executor_id, &own);
		if (r == 0)
			sp_profile_rekey(p, name_other, &own);
	}
	return r < 0 || !executor ? r : add_others(p, executor, ret);
}

/* What one of several readers of a recording has names tasks that all of them will have. */
static uint32_t task(const struct merge *m, uint32_t id)
{
	return id <= m->task_count ? m->tasks[id] : id + (uint32_t)m->first_task;
}

/* Rows with ids and times that mean the same here. */
static int merge_same(struct merge *m, struct sp_profile *p, const struct sp_profile *from,
	const uint32_t *events, uint32_t others)
{
	struct sp_sample batch[SP_PROFILE_BATCH];
	int r = 0;

	for (size_t i = 0, n; i < from->row_count && r == 0; i += n) {
		n = from->row_count - i < SP_PROFILE_BATCH ? from->row_count - i : SP_PROFILE_BATCH;
		memcpy(batch, &from->rows[i], n * sizeof(*batch));
		for (size_t k = 0; k < n; k++) {
			batch[k].task = batch[k].task ? task(m, batch[k].task) : others;
			batch[k].event = events[batch[k].event];
		}
		r = sp_profile_add_batch(p, batch, n);
	}
	return r;
}

static int merge_rows(struct merge *m, struct sp_profile *p, const struct sp_profile *from,
	const uint32_t *events, uint32_t others)
{
	struct sp_sample batch[SP_PROFILE_BATCH];
	size_t n = 0;
	int r = 0;

	if (m->same && p->bucket_ns == from->bucket_ns && p->origin_ns == from->origin_ns)
		return merge_same(m, p, from, events, others);
	for (size_t i = 0; i < from->row_count && r == 0; i++) {
		struct sp_sample *s = &batch[n++];

		*s = from->rows[i];
		s->stack = stack(m, s->stack);
		s->thread = thread(m, s->thread);
		s->state = copy_string(m, s->state);
		s->root = copy_string(m, s->root);
		s->holder = copy_string(m, s->holder);
		s->task = s->task ? task(m, s->task) : others;
		s->event = events[s->event];
		if (m->full)
			return -ENOMEM;
		if (n < SP_PROFILE_BATCH && i + 1 < from->row_count)
			continue;
		r = add_rows(p, from, batch, n);
		n = 0;
	}
	return r;
}

/* Those of one application have that in common: "several of application_… "nightly"". */
static void merge_target(struct merge *m, struct sp_profile *p, const struct sp_profile *from)
{
	uint32_t target = copy_string(m, from->target_id);
	SP_AUTO_BUF struct sp_buf b = {0};

	if (!p->target_id)
		p->target_id = target;
	p->several |= from->several;
	if (!target || p->target_id == target)
		return;
	p->several = true;
	sp_buf_adds(&b, "several");
	if (p->app_id)
		sp_buf_addf(&b, " of %s", sp_dict_get_string(p->dict, p->app_id, NULL));
	if (p->app_id && p->app_name)
		sp_buf_addf(&b, " \"%s\"", sp_dict_get_string(p->dict, p->app_name, NULL));
	p->target_id = b.failed ? 0 : sp_dict_string(p->dict, b.data, b.len);
}

int sp_profile_merge(struct sp_profile *p, const struct sp_profile *from)
{
	__attribute__((cleanup(merge_done))) struct merge m = {0};
	uint32_t events[SP_PROFILE_EVENTS] = {0};
	struct others others = {0};
	int r = merge_init(&m, p->dict, from->dict);

	if (r == 0)
		r = merge_events(p, from, events);
	sp_profile_recount(p);
	while (from->fold && p->bucket_ns && p->bucket_ns < from->bucket_ns)
		sp_profile_widen(p, 1);
	if (r == 0)
		r = name_executors(&m, p, from, &others);
	if (r == 0)
		r = merge_tasks(&m, p, from);
	if (r == 0)
		r = merge_facts(&m, p, from);
	if (r == 0)
		r = merge_rows(&m, p, from, events, others.task);
	if (r == 0)
		r = merge_series(p, from);
	if (r < 0)
		return r;
	p->fold = p->fold > from->fold ? p->fold : from->fold;
	merge_words(p, from);
	if (p->app_id && p->app_id != copy_string(&m, from->app_id))
		p->app_id = p->app_name = 0;
	else if (p->app_id && !p->app_name)
		p->app_name = copy_string(&m, from->app_name);
	merge_target(&m, p, from);
	if (p->executor_id != copy_string(&m, from->executor_id))
		p->executor_id = 0;
	if (!p->runtime_id)
		p->runtime_id = copy_string(&m, from->runtime_id);
	return 0;
}
