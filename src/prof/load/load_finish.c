/* What the readers left behind becomes a whole profile: names and intervals of events, weights,
 * what was lost, and what --by could not find. See load_event.h. */
#include "prof/load/load_event.h"
#include "prof/spark/task_roots.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/saturate.h"
#include "prof/load/python_graft.h"
#include "prof/model/tasks.h"
#include "prof/model/timeline.h"
#include "prof/spark/driver_work.h"

static void settle_lost(struct sp_loading *l)
{
	uint64_t counted = 0, lost = 0;

	sp_losses_settle(&l->losses);
	for (size_t i = 0; i < l->losses.count; i++) {
		const struct sp_loss_note *x = &l->losses.rows[i];

		if (x->kind == SP_TOO_DEEP)
			l->p->too_deep = x->count;
		else if (x->kind == SP_LOST_IN_ALL)
			lost = x->count;
		else {
			counted = sp_saturate_add(counted, x->count);
			sp_profile_lost(l->p, x->reason, x->count);
		}
	}
	if (lost > counted)
		sp_profile_lost(l->p, "reason unknown", lost - counted);
	l->p->depth_known = l->depth_known;
}

/* Weights of events that count alike: samples times the interval. */
static void weigh_alike(struct sp_profile *p, unsigned event)
{
	struct sp_event *e = &p->events[event];

	if (e->interval == 0) {
		e->unit = SP_UNIT_COUNT; /* the time of a sample is not known */
		return;
	}
	for (size_t i = 0; i < p->row_count; i++)
		if (p->rows[i].event == event)
			p->rows[i].weight = sp_saturate_mul(p->rows[i].count, e->interval);
	e->weight = sp_saturate_mul(e->count, e->interval);
	p->saturated |= e->count > INT64_MAX / e->interval;
}

/* async-profiler gives running threads no time span: such a sample counts its intervals. */
static void weigh_missing(struct sp_profile *p, unsigned event)
{
	struct sp_event *e = &p->events[event];

	for (size_t i = 0; i < p->row_count; i++) {
		uint64_t w = sp_saturate_mul(p->rows[i].count, e->interval);

		if (p->rows[i].event != event || p->rows[i].weight > 0)
			continue;
		p->rows[i].weight = sp_saturate_fitting(e->weight, w);
		p->saturated |= p->rows[i].weight < w;
		e->weight += p->rows[i].weight;
	}
}

static bool is_time(const char *event)
{
	static const char *const names[] = {
		"cpu", "itimer", "ctimer", "wall", "cpu-clock", "task-clock"};

	for (size_t i = 0; i < SP_COUNT(names); i++)
		if (strcmp(names[i], event) == 0)
			return true;
	return false;
}

/* A wall recording names its event "wall"; where it has samples of running threads beside, these
 * stay "cpu". */
static void settle_events(struct sp_loading *l)
{
	struct sp_profile *p = l->p;
	uint64_t alone = l->only_wall_interval, interval = l->interval ? l->interval : alone;
	bool has_wall = false;

	for (unsigned i = 0; i < p->event_count; i++)
		has_wall |= strcmp(sp_profile_event_name(p, i), "wall") == 0;
	for (unsigned i = 0; i < p->event_count; i++) {
		struct sp_event *e = &p->events[i];
		const char *name = sp_profile_event_name(p, i);
		bool wall = strcmp(name, "wall") == 0;

		if (wall) {
			e->interval = l->wall_interval ? l->wall_interval
				      : alone	       ? alone
						       : l->interval;
		} else if (strcmp(name, "cpu") == 0) {
			if (l->event[0] && !(has_wall && strcmp(l->event, "wall") == 0))
				e->name_id = sp_dict_string(p->dict, l->event, strlen(l->event));
			e->unit = !l->event[0] || is_time(l->event) ? SP_UNIT_NS : SP_UNIT_COUNT;
			e->interval = interval;
		}
		if (e->measured)
			weigh_missing(p, i);
		else
			weigh_alike(p, i);
		if (wall && !l->ours)
			e->measured = false; /* others count their samples themselves */
	}
	sp_profile_recount(p);
}

static void note_stackless(struct sp_profile *p, uint64_t count)
{
	char text[120];

	snprintf(text, sizeof(text), "%llu sample%s without any stack %s left out",
		(unsigned long long)count, count == 1 ? "" : "s", count == 1 ? "is" : "are");
	sp_profile_note(p, text);
}

/* async-profiler's converter leaves out samples that have no stack at all, and so does what is
 * compared with it. */
static int drop_stackless(struct sp_loading *l)
{
	struct sp_profile *p = l->p;
	uint64_t before = p->samples;
	size_t n = p->row_count, lack = 0;
	int r = 0;

	for (size_t i = 0; i < n && !l->ours; i++)
		lack += p->rows[i].stack == 0;
	if (lack == 0)
		return 0;
	sp_profile_restart(p);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct sp_sample s = p->rows[i]; /* those read are behind us */

		if (s.stack)
			r = sp_profile_add(p, &s);
	}
	note_stackless(p, before - p->samples);
	return r;
}

/* Takes out the events that were not asked for. */
static int keep_events(struct sp_loading *l)
{
	const struct sp_load_opts *o = l->opts;
	uint32_t mask = 0;
	bool cpu_too = true;

	for (unsigned i = 0; i < l->p->event_count; i++) {
		for (size_t k = 0; k < o->event_count; k++) {
			if (strcmp(sp_profile_event_name(l->p, i), o->events[k]) != 0)
				continue;
			mask |= 1u << i;
			cpu_too &= strcmp(o->events[k], "cpu") != 0;
		}
	}
	/* "cpu" is what people call whatever sampled CPU time */
	for (size_t k = 0; k < o->event_count && cpu_too; k++) {
		for (unsigned i = 0; i < l->p->event_count && strcmp(o->events[k], "cpu") == 0;
			i++) {
			const char *name = sp_profile_event_name(l->p, i);

			if (strcmp(name, "wall") != 0 &&
				(is_time(name) || strcmp(name, "cpu-time") == 0))
				mask |= 1u << i;
		}
	}
	return sp_profile_keep_events(l->p, mask);
}

/* One root for all: of the application, or of the executor. */
static void set_all_roots(struct sp_loading *l, const char *kind, const char *name)
{
	SP_AUTO_BUF struct sp_buf b;
	struct sp_profile *p = l->p;
	uint32_t root;

	sp_buf_init(&b);
	sp_buf_addf(&b, "[%s%s]", kind, name);
	root = sp_dict_string(p->dict, sp_buf_str(&b), b.len);
	for (size_t i = 0; i < p->row_count; i++)
		p->rows[i].root = root;
	sp_profile_reindex(p);
}

/* Says so where --by found nothing to put there. */
static void check_tasks(struct sp_loading *l)
{
	struct sp_profile *p = l->p;
	bool found = false;

	for (size_t i = 0; i < p->row_count && !found; i++)
		found = p->rows[i].task != 0;
	if (!found)
		sp_profile_note(p,
			"no stage or task is known: the recording has no profiler.Span events "
			"and no thread named after a Spark task; try --by thread");
}

/* Events that were only kept a place for. */
static int drop_empty(struct sp_profile *p)
{
	uint32_t mask = 0, all;

	while (p->event_count && p->events[p->event_count - 1].samples == 0)
		p->event_count--;
	all = p->event_count ? UINT32_MAX >> (32 - p->event_count) : 0;
	for (unsigned i = 0; i < p->event_count; i++)
		if (p->events[i].samples)
			mask |= 1u << i;
	return mask == all ? 0 : sp_profile_keep_events(p, mask);
}

static const char *before_id(const struct sp_task_spans *s)
{
	return s->several || strcmp(s->executor, "driver") == 0 ? "" : "executor ";
}

static int settle_roots(struct sp_loading *l)
{
	const struct sp_load_opts *o = l->opts;
	const char *app = l->spans && l->spans->app_id ? l->spans->app_id : "?";
	const char *name = l->executor[0] ? l->executor : o->executor;

	if (o->by == SP_BY_EXECUTOR && l->spans->executor)
		set_all_roots(l, before_id(l->spans), l->spans->executor);
	else if (o->by == SP_BY_EXECUTOR)
		set_all_roots(l, "", name ? name : "?");
	else if (o->by == SP_BY_APP)
		set_all_roots(l, "app ", app);
	if (o->by != SP_BY_STAGE && o->by != SP_BY_TASK && o->by != SP_BY_SQL)
		return 0;
	check_tasks(l);
	return sp_profile_root_tasks(l->p, o->by);
}

/* "5" or "5.1"; checked when the command line was read. */
static void set_filter(const struct sp_load_opts *o, struct sp_task_filter *f)
{
	char *end;

	*f = (struct sp_task_filter){-1, -1, -1, -1, o->tasks_only == SP_TASKS_ONLY, -1};
	if (o->stage) {
		f->stage = strtoll(o->stage, &end, 10);
		if (*end == '.')
			f->attempt = strtoll(end + 1, NULL, 10);
	}
	if (o->task)
		f->task = strtoll(o->task, NULL, 10);
	if (o->sql)
		f->sql = strtoll(o->sql, NULL, 10);
}

/* Which rows of wall go: on an executor all that are not in a task. */
static int32_t idle_event(const struct sp_loading *l)
{
	const char *executor = l->spans->executor;

	if (l->opts->tasks_only != SP_TASKS_ONLY_WALL || !executor ||
		strcmp(executor, "driver") == 0)
		return -1;
	return sp_profile_wall(l->p);
}

static enum sp_idle idle_of(const struct sp_loading *l, bool ran)
{
	const char *executor = l->spans->executor;

	if (l->opts->tasks_only != SP_TASKS_ONLY_WALL || sp_profile_wall(l->p) < 0)
		return SP_IDLE_NONE;
	if (!executor)
		return SP_IDLE_UNTOLD;
	if (ran)
		return strcmp(executor, "driver") == 0 ? SP_IDLE_UNTOLD : SP_IDLE_NONE;
	return strcmp(executor, "driver") == 0 ? SP_IDLE_DRIVER : SP_IDLE_EXECUTOR;
}

static int settle_filter(struct sp_loading *l)
{
	struct sp_profile *p = l->p;
	struct sp_task_filter f;
	uint64_t all = 0, samples = 0;
	bool ran = false, asked;
	int r;

	set_filter(l->opts, &f);
	asked = f.stage >= 0 || f.task >= 0 || f.sql >= 0;
	f.event = idle_event(l);
	f.tasks_only |= f.event >= 0;
	for (size_t i = 0; i < p->row_count && !ran; i++)
		ran = p->rows[i].task != 0;
	/* of several recordings one that is idle is not what was asked for */
	ran |= l->opts->tasks_only == SP_TASKS_ONLY && l->opts->several;
	if (l->opts->tasks_only == SP_TASKS_ONLY && !ran && !asked)
		sp_profile_note(p, "no task ran while this was recorded: all threads are shown");
	f.tasks_only &= ran;
	if (!asked && !f.tasks_only) {
		p->idle = idle_of(l, ran);
		r = p->idle ? sp_driver_work_leave_idle(p, l->spans->executor) : 0;
		return r < 0 || l->opts->several ? r : sp_profile_leave_idle(p);
	}
	if (f.event >= 0) {
		const struct sp_event *e = &p->events[f.event];
		struct sp_rounding round = sp_rounding_of(e);

		all = sp_saturate_add(e->weight, l->outside.weight);
		samples = sp_round(&round, sp_saturate_add(e->count, l->outside.count), all);
	}
	r = l->outside.count && !asked ? 0 : sp_profile_filter_tasks(p, &f);
	if (r == 0 && f.event >= 0 && !asked) {
		p->outside = samples - p->events[f.event].samples;
		p->outside_weight = all - p->events[f.event].weight;
	}
	return r < 0 || l->opts->several ? r : sp_profile_leave_idle(p);
}

/* Everything of another executor, or of another host, goes. */
static int settle_place(struct sp_loading *l)
{
	const struct sp_load_opts *o = l->opts;
	const char *is = l->spans->executor ? l->spans->executor
			 : l->executor[0]   ? l->executor
			 : o->executor	    ? o->executor
					    : "";

	if (strncmp(is, "executor ", 9) == 0)
		is += 9;
	if ((!o->executor_id || strcmp(is, o->executor_id) == 0) &&
		(!o->host || (l->spans->host && strcmp(l->spans->host, o->host) == 0)))
		return 0;
	l->p->outside = l->p->outside_weight = 0;
	l->p->idle = SP_IDLE_NONE;
	return sp_profile_filter_tasks(
		l->p, &(struct sp_task_filter){INT64_MAX, -1, -1, -1, false, -1});
}

static int settle_names(struct sp_loading *l)
{
	const struct sp_stage_names *n = l->opts->names;
	const char *is = l->spans->app_id ? l->spans->app_id : "";
	uint32_t missing;
	char text[256];
	int r = sp_stage_names_apply(n, l->p, &missing);

	if (r >= 0 && missing && (n->cut || !n->ended))
		sp_profile_note(l->p,
			n->cut ? "the event log is cut or damaged: it does not name all stages"
			       : "the event log does not reach the end of the application: it does "
				 "not name all stages");
	if (r == 0 && *is && n->app_id && strcmp(is, n->app_id) != 0) {
		snprintf(text, sizeof(text),
			"the event log is of %s, this is of %s: its stages are not named",
			n->app_id, is);
		sp_profile_note(l->p, text);
	}
	return r < 0 ? r : 0;
}

/* "executor 3 of application_… "nightly" (pid 4711)", as far as the recording says it. */
static void settle_target(struct sp_loading *l)
{
	const struct sp_task_spans *s = l->spans;
	SP_AUTO_BUF struct sp_buf b = {0};
	uint32_t id;

	if (s->several)
		sp_profile_note(l->p, "a merged recording does not keep executors apart");
	if (!s->executor || !s->app_id || !l->p->target_id)
		return;
	sp_buf_addf(&b, "%s%s of %s", before_id(s), s->executor, s->app_id);
	if (s->app_name && s->app_name[0])
		sp_buf_addf(&b, " \"%s\"", s->app_name);
	if (!s->several)
		sp_buf_addf(&b, " (%s)", sp_dict_get_string(l->p->dict, l->p->target_id, NULL));
	id = sp_dict_string(l->p->dict, sp_buf_str(&b), b.len);
	l->p->target_id = id ? id : l->p->target_id;
}

/* "OpenJDK …, Spark 4.3.0" */
static void settle_runtime(struct sp_loading *l)
{
	SP_AUTO_BUF struct sp_buf b = {0};
	uint32_t id;

	if (!l->spans->spark || !l->spans->spark[0])
		return;
	if (l->p->runtime_id)
		sp_buf_addf(&b, "%s, ", sp_dict_get_string(l->p->dict, l->p->runtime_id, NULL));
	sp_buf_addf(&b, "Spark %s", l->spans->spark);
	id = sp_dict_string(l->p->dict, sp_buf_str(&b), b.len);
	l->p->runtime_id = id ? id : l->p->runtime_id;
}

static int settle_host(struct sp_loading *l)
{
	const char *executor = l->spans->executor, *host = l->spans->host;

	if (!executor || !*executor || !host || !*host)
		return 0;
	return sp_profile_place(l->p, sp_dict_string(l->p->dict, executor, strlen(executor)),
		sp_dict_string(l->p->dict, host, strlen(host)));
}

/* What Spark measured is of whole tasks: of a part of their samples it says nothing. */
static void settle_measured(struct sp_loading *l)
{
	for (size_t i = 0; l->chosen && i < l->p->task_count; i++)
		l->p->tasks[i].measured = false;
}

static int settle_tasks(struct sp_loading *l)
{
	int r;

	if (!l->spans)
		return 0;
	r = sp_task_spans_finish(l->spans, l->p);
	settle_measured(l);
	sp_loading_note_foreign(l);
	settle_target(l);
	settle_runtime(l);
	if (r == 0)
		r = settle_host(l);
	if (r == 0)
		r = sp_python_graft_join(l->p);
	if (r == 0 && l->spans->helped && !l->opts->python_both && !l->opts->thread &&
		!l->opts->states)
		r = sp_python_graft_fill(l->p, !l->opts->timeless);
	if (r == 0 && l->opts->names)
		r = settle_names(l);
	if (r == 0)
		r = settle_filter(l);
	if (r == 0)
		r = settle_place(l);
	return r < 0 ? r : settle_roots(l);
}

/* @time_ns, or the end of what --from and --to leave that is nearest to it. */
static uint64_t within(const struct sp_load_opts *o, uint64_t time_ns)
{
	if (o->to_ns && time_ns > o->to_ns)
		time_ns = o->to_ns;
	return time_ns < o->from_ns ? o->from_ns : time_ns;
}

/* How long it lasted: only what is looked at, as rates are by that. */
static void settle_times(struct sp_loading *l)
{
	uint64_t start = l->stats.start_ns, end = l->stats.end_ns;

	if (start) {
		start = within(l->opts, start);
		end = within(l->opts, end);
	}
	l->p->start_ns = start;
	l->p->duration_ns = end > start ? end - start : 0;
}

int sp_loading_finish(struct sp_loading *l)
{
	int r = 0;

	settle_times(l);
	r = drop_empty(l->p);
	settle_events(l);
	if (r == 0 && l->opts->event_count)
		r = keep_events(l);
	if (r == 0)
		r = drop_stackless(l);
	settle_lost(l);
	sp_others_note(&l->others, l->p);
	return r < 0 ? r : settle_tasks(l);
}

int sp_loading_leak(
	struct sp_loading *l, uint64_t time_ns, uint64_t address, const struct sp_sample *s)
{
	struct sp_sample leak = *s;
	int event;

	if (!sp_leaks_has(l->leaks, time_ns, address))
		return 0;
	event = sp_profile_event(l->p, "leak", SP_UNIT_BYTES, 0, true);
	if (event < 0)
		return event;
	leak.event = (uint32_t)event;
	return sp_profile_add_at(l->p, &leak, time_ns, 0);
}
