/* See tasks.h. */
#include "prof/model/tasks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/saturate.h"

int sp_profile_add_task(struct sp_profile *p, const struct sp_task_run *task)
{
	if (p->task_count >= UINT32_MAX / 2 ||
		sp_grow(&p->tasks, &p->task_cap, p->task_count, sizeof(*p->tasks), 64) < 0)
		return -ENOMEM;
	p->tasks[p->task_count++] = *task;
	return 0;
}

int sp_profile_add_past(struct sp_profile *p, const struct sp_past *past)
{
	if (sp_grow(&p->pasts, &p->past_cap, p->past_count, sizeof(*p->pasts), 64) < 0)
		return -ENOMEM;
	p->pasts[p->past_count++] = *past;
	return 0;
}

/* Clocks of two hosts differ: a launch behind the begin that was seen is none. */
struct sp_task_length sp_task_length(const struct sp_task_run *t)
{
	bool launched = t->launch_ns && t->launch_ns < t->start_ns;
	bool ended = t->ended || t->finish_ns > t->end_ns;
	uint64_t from = !t->begun && launched ? t->launch_ns : t->start_ns;
	uint64_t to = !t->ended && ended ? t->finish_ns : t->end_ns;

	return (struct sp_task_length){.ns = to - from,
		.begun_ns = from,
		.running = !ended,
		.least = !ended || (!t->begun && !launched)};
}

const struct sp_stage *sp_profile_find_stage(
	const struct sp_profile *p, uint32_t app, int32_t stage, int32_t attempt)
{
	for (size_t i = 0; i < p->stage_count; i++) {
		const struct sp_stage *s = &p->stages[i];

		if (s->stage == stage && s->app == app && (s->attempt == attempt || attempt < 0))
			return s;
	}
	return NULL;
}

struct sp_stage *sp_profile_stage(
	struct sp_profile *p, uint32_t app, int32_t stage, int32_t attempt)
{
	const struct sp_stage *old = sp_profile_find_stage(p, app, stage, attempt);

	if (old)
		return &p->stages[old - p->stages];
	if (sp_grow_one(&p->stages, p->stage_count, sizeof(*p->stages)) < 0)
		return NULL;
	p->stages[p->stage_count] = (struct sp_stage){
		.stage = stage, .attempt = attempt, .app = app, .sql = -1, .job = -1};
	return &p->stages[p->stage_count++];
}

const struct sp_task_run *sp_profile_task(const struct sp_profile *p, const struct sp_sample *row)
{
	return row->task && row->task <= p->task_count ? &p->tasks[row->task - 1] : NULL;
}

static int64_t sql_of(const struct sp_profile *p, const struct sp_task_run *t)
{
	const struct sp_stage *s =
		t->name.stage < 0
			? NULL
			: sp_profile_find_stage(p, t->app, t->name.stage, t->name.stage_attempt);

	return s ? s->sql : -1;
}

static void label_task(const struct sp_task_name *n, struct sp_buf *out)
{
	if (n->index >= 0 && n->attempt >= 0)
		sp_buf_addf(out, "task %d.%d", n->index, n->attempt);
	else if (n->index >= 0)
		sp_buf_addf(out, "task %d", n->index);
	if (n->task_id >= 0)
		sp_buf_addf(out, "%sTID %lld", n->index >= 0 ? " " : "", (long long)n->task_id);
}

static void label(
	const struct sp_profile *p, const struct sp_task_run *t, enum sp_by by, struct sp_buf *out)
{
	const struct sp_task_name *n = &t->name;

	if (t->label && by != SP_BY_SQL)
		sp_buf_adds(out, sp_dict_get_string(p->dict, t->label, NULL));
	else if (by == SP_BY_STAGE && t->stage_label)
		sp_buf_adds(out, sp_dict_get_string(p->dict, t->stage_label, NULL));
	else if (by == SP_BY_STAGE && n->stage >= 0 && n->stage_attempt >= 0)
		sp_buf_addf(out, "stage %d.%d", n->stage, n->stage_attempt);
	else if (by == SP_BY_STAGE && n->stage >= 0)
		sp_buf_addf(out, "stage %d", n->stage);
	else if (by == SP_BY_SQL && sql_of(p, t) >= 0)
		sp_buf_addf(out, "sql %lld", (long long)sql_of(p, t));
	else if (by == SP_BY_TASK)
		label_task(n, out);
}

void sp_task_label(
	const struct sp_profile *p, const struct sp_task_run *t, enum sp_by by, struct sp_buf *out)
{
	size_t before;

	sp_buf_addc(out, '[');
	before = out->len;
	if (t)
		label(p, t, by, out);
	if (out->len == before)
		sp_buf_adds(out, by == SP_BY_STAGE ? "no stage"
				 : by == SP_BY_SQL ? "no sql"
						   : "no task");
	sp_buf_addc(out, ']');
}

static bool passes(
	const struct sp_profile *p, const struct sp_task_filter *f, const struct sp_task_run *t)
{
	if (f->stage >= 0 && (!t || t->name.stage != f->stage))
		return false;
	if (f->attempt >= 0 && (!t || t->name.stage_attempt != f->attempt))
		return false;
	if (f->task >= 0 && (!t || t->name.task_id != f->task))
		return false;
	return f->sql < 0 || (t && sql_of(p, t) == f->sql);
}

/* In no task, nor in another span; in merged profiles an entry has its executor. */
static bool is_outside(const struct sp_profile *p, const struct sp_sample *s)
{
	const struct sp_task_run *t = s->task ? &p->tasks[s->task - 1] : NULL;

	return !t || (t->name.stage < 0 && t->name.task_id < 0 && !t->label);
}

int sp_profile_filter_tasks(struct sp_profile *p, const struct sp_task_filter *f)
{
	SP_AUTO_FREE bool *pass = calloc(p->task_count + 1, sizeof(*pass));
	size_t n = p->row_count;
	int r = 0;

	if (!pass)
		return -ENOMEM;
	for (size_t i = 0; i <= p->task_count; i++)
		pass[i] = passes(p, f, i ? &p->tasks[i - 1] : NULL);
	/* nor are they in tables and lanes */
	for (size_t i = 1; i <= p->task_count; i++)
		if (!pass[i])
			p->tasks[i - 1] = (struct sp_task_run){.name = {-1, -1, -1, -1, -1},
				.app = p->tasks[i - 1].app,
				.executor = p->tasks[i - 1].executor};
	sp_profile_restart(p);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct sp_sample s = p->rows[i]; /* those read are behind us */

		if (!pass[s.task] || (f->tasks_only && is_outside(p, &s) &&
					     (f->event < 0 || s.event == (uint32_t)f->event)))
			continue;
		r = sp_profile_add(p, &s);
	}
	return r;
}

int32_t sp_profile_wall(const struct sp_profile *p)
{
	for (unsigned i = 0; i < p->event_count; i++)
		if (strcmp(sp_profile_event_name(p, i), "wall") == 0)
			return (int32_t)i;
	return -1;
}

static bool has_tasks(const struct sp_profile *p, uint32_t event)
{
	for (size_t i = 0; i < p->row_count; i++)
		if (p->rows[i].event == event && !is_outside(p, &p->rows[i]))
			return true;
	return false;
}

static int leave_outside(struct sp_profile *p, int32_t wall)
{
	struct sp_task_filter f = {-1, -1, -1, -1, true, wall};
	struct sp_event was = p->events[wall];
	int r = sp_profile_filter_tasks(p, &f);

	if (r < 0)
		return r;
	p->outside += was.samples - p->events[wall].samples;
	p->outside_weight = sp_saturate_add(p->outside_weight, was.weight - p->events[wall].weight);
	return 0;
}

int sp_profile_leave_idle(struct sp_profile *p)
{
	int32_t wall = sp_profile_wall(p);
	const char *shown = "threads inside of tasks only";
	char text[160];
	uint64_t all;
	int r = 0;

	if (wall < 0)
		return 0;
	if (p->idle == SP_IDLE_DRIVER || p->idle == SP_IDLE_EXECUTOR) {
		if (has_tasks(p, (uint32_t)wall))
			r = leave_outside(p, wall);
		else if (p->idle == SP_IDLE_DRIVER)
			shown = "threads that work";
		else
			sp_profile_note(
				p, "no task ran while this was recorded: all threads are shown");
	}
	if (p->idle == SP_IDLE_UNTOLD)
		shown = "tasks and threads that work";
	if (r < 0 || !p->outside)
		return r;
	all = sp_saturate_add(p->events[wall].weight, p->outside_weight);
	snprintf(text, sizeof(text),
		"wall shows %s, %.1f %% of all threads' time; "
		"--all-threads shows the rest",
		shown, all ? 100.0 * (double)p->events[wall].weight / (double)all : 0);
	sp_profile_note(p, text);
	return 0;
}

/* How long it has run is known from its span alone, and the driver has said nothing of its stage.
 */
static bool is_unmeasured(const struct sp_profile *p, const struct sp_task_run *t)
{
	const struct sp_stage *s =
		sp_profile_find_stage(p, t->app, t->name.stage, t->name.stage_attempt);

	return t->name.stage >= 0 && t->start_ns && !t->label && !t->helper && !t->fills &&
	       !t->folded && !t->begun && !t->ended && !t->launch_ns && !t->finish_ns &&
	       !(s && s->finished);
}

/* Whether the recording itself has others to measure it by. */
static bool has_finished_beside(const struct sp_profile *p, const struct sp_task_run *t)
{
	unsigned n = 0;

	for (size_t i = 0; i < p->task_count && n < 3; i++) {
		const struct sp_task_run *o = &p->tasks[i];

		n += o->app == t->app && o->name.stage == t->name.stage &&
		     o->name.stage_attempt == t->name.stage_attempt && o->begun && o->ended &&
		     !o->helper && !o->fills;
	}
	return n >= 3;
}

void sp_profile_note_unmeasured(struct sp_profile *p)
{
	const struct sp_task_run *first = NULL;
	char text[256], more[40] = "";
	unsigned n = 0;

	for (size_t i = 0; i < p->task_count; i++) {
		if (!is_unmeasured(p, &p->tasks[i]) || has_finished_beside(p, &p->tasks[i]))
			continue;
		first = first ? first : &p->tasks[i];
		n++;
	}
	if (!first)
		return;
	if (n > 1)
		snprintf(more, sizeof(more), " and %u more", n - 1);
	snprintf(text, sizeof(text),
		"TID %lld of stage %d.%d%s ran all the time, and nothing is known from the "
		"driver's UI: "
		"whether a task is slower than others of its stage is not known; try --event-log "
		"or --driver-ui",
		(long long)first->name.task_id, first->name.stage, first->name.stage_attempt, more);
	sp_profile_note(p, text);
}

int sp_profile_place(struct sp_profile *p, uint32_t executor, uint32_t host)
{
	for (size_t i = 0; i < p->placed_count; i++)
		if (p->placed[i].executor == executor)
			return 0;
	if (!executor || !host)
		return 0;
	if (sp_grow_one(&p->placed, p->placed_count, sizeof(*p->placed)) < 0)
		return -ENOMEM;
	p->placed[p->placed_count++] = (struct sp_placed){executor, host};
	return 0;
}
