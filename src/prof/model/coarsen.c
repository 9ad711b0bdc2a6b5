/* See coarsen.h. */
#include "prof/model/coarsen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "prof/model/tasks.h"
#include "prof/model/timeline.h"

#define FEW_BUCKETS 250	  /* executors are kept apart rather than finer times */
#define MOST_POINTS 20000 /* of a series */

static int add_past(struct sp_profile *p, const struct sp_task_run *t)
{
	struct sp_task_length took = sp_task_length(t);
	struct sp_past past = {.app = t->app,
		.stage = t->name.stage,
		.attempt = t->name.stage_attempt,
		.running = took.running,
		.least = took.least,
		.task_id = t->name.task_id,
		.took_ns = t->end_ns - t->start_ns,
		.length_ns = took.ns,
		.gc_ns = t->gc_ns};

	return t->folded || t->helper || t->name.stage < 0 ? 0 : sp_profile_add_past(p, &past);
}

/* What tasks of the same stage have in common. */
static struct sp_task_run group_of(const struct sp_task_run *t, enum sp_fold to)
{
	struct sp_task_run g = *t;

	g.name = (struct sp_task_name){-1, t->name.stage, t->name.stage_attempt, -1, -1};
	g.tid = 0;
	g.begun = g.ended = g.helper = g.measured = false;
	g.folded = true;
	if (to == SP_FOLD_EXECUTORS)
		g.executor = 0;
	return g;
}

static void grow_span(struct sp_task_run *g, const struct sp_task_run *t)
{
	if (!t->start_ns)
		return;
	g->start_ns = g->start_ns && g->start_ns < t->start_ns ? g->start_ns : t->start_ns;
	g->end_ns = g->end_ns > t->end_ns ? g->end_ns : t->end_ns;
}

int sp_profile_add_group(struct sp_profile *p, const struct sp_task_run *g, uint32_t *ret)
{
	for (size_t i = p->task_count; i-- > 0;) {
		struct sp_task_run *x = &p->tasks[i];

		if (x->folded && x->name.stage == g->name.stage && x->executor == g->executor &&
			x->name.stage_attempt == g->name.stage_attempt && x->app == g->app &&
			x->label == g->label && x->stage_label == g->stage_label) {
			grow_span(x, g);
			*ret = (uint32_t)i + 1;
			return 0;
		}
	}
	*ret = (uint32_t)p->task_count + 1;
	return sp_profile_add_task(p, g);
}

static void fold_row(void *ctx, struct sp_sample *row)
{
	const uint32_t *map = ctx;

	row->thread = 0;
	row->task = map[row->task];
}

/* The same with points: neighbours become one, of GC pauses the longer. */
static int by_time(const void *a, const void *b)
{
	const struct sp_point *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void fold_series(struct sp_series *s, enum sp_series_kind kind)
{
	if (s->count <= MOST_POINTS)
		return;
	qsort(s->points, s->count, sizeof(*s->points), by_time);
	while (s->count > MOST_POINTS) {
		for (size_t i = 0; i < s->count / 2; i++) {
			struct sp_point x = s->points[2 * i], y = s->points[2 * i + 1];

			if (kind == SP_SERIES_GC)
				s->points[i] = x.value > y.value ? x : y;
			else
				s->points[i] =
					(struct sp_point){x.time_ns, x.value / 2 + y.value / 2};
		}
		s->count /= 2;
	}
}

int sp_profile_coarsen(struct sp_profile *p, enum sp_fold to)
{
	SP_AUTO_FREE struct sp_task_run *old = p->tasks;
	SP_AUTO_FREE uint32_t *map = calloc(p->task_count + 1, sizeof(*map));
	size_t n = p->task_count;
	int r = map ? 0 : -ENOMEM;

	if (p->fold >= to) {
		old = NULL;
		return 0;
	}
	p->tasks = NULL;
	p->task_count = p->task_cap = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		struct sp_task_run g = group_of(&old[i], to);

		r = add_past(p, &old[i]);
		if (r == 0 && (g.name.stage >= 0 || g.label || g.executor))
			r = sp_profile_add_group(p, &g, &map[i + 1]);
	}
	if (r < 0)
		return r;
	sp_profile_rekey(p, fold_row, map);
	for (int k = 0; k < SP_SERIES_KINDS; k++)
		fold_series(&p->series[k], (enum sp_series_kind)k);
	p->fold = to;
	return 0;
}

static bool has_executors(const struct sp_profile *p)
{
	for (size_t i = 1; i < p->task_count; i++)
		if (p->tasks[i].executor != p->tasks[0].executor)
			return true;
	return false;
}

/* How often buckets are to be doubled until there are no more than that. */
static unsigned doublings(const struct sp_profile *p, uint64_t buckets)
{
	uint64_t is = p->bucket_ns ? p->duration_ns / p->bucket_ns : 0;
	unsigned n = 0;

	for (; is > buckets; is /= 2)
		n++;
	return n;
}

int sp_profile_bound(struct sp_profile *p, size_t rows)
{
	size_t aim = rows / 4 * 3; /* room for what is to come */
	int r = 0;

	if (p->row_count <= rows)
		return 0;
	if (p->fold < SP_FOLD_STAGES)
		r = sp_profile_coarsen(p, SP_FOLD_STAGES);
	if (p->row_count > aim && r == 0)
		sp_profile_widen(p, doublings(p, FEW_BUCKETS));
	if (p->row_count > aim && r == 0 && has_executors(p))
		r = sp_profile_coarsen(p, SP_FOLD_EXECUTORS);
	while (p->row_count > aim && r == 0 && doublings(p, 0))
		sp_profile_widen(p, 1);
	return r;
}

void sp_profile_describe_coarsened(const struct sp_profile *p, char *buf, size_t size)
{
	int n = 0;

	buf[0] = 0;
	if (!p->fold)
		return;
	n = snprintf(buf, size,
		"too much data for one report: threads, tasks of each stage%s are summed",
		p->fold == SP_FOLD_EXECUTORS ? " and executors" : "");
	if (p->bucket_ns && n > 0 && (size_t)n < size)
		n += snprintf(buf + n, size - (size_t)n, ", times in steps of %.3g s",
			(double)p->bucket_ns / 1e9);
	if (n > 0 && (size_t)n < size)
		snprintf(buf + n, size - (size_t)n,
			"; to see them, use fewer recordings, --stage, or --from and --to");
}
