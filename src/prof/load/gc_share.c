/* See gc_share.h. */
#include "prof/load/gc_share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "prof/model/tasks.h"
#include "prof/spark/time_class.h"

#define SAME_NS 1000000ull /* times of one moment, rounded to what a recording counts in */

/* Up to that time so long was collected. */
struct knot {
	uint64_t time_ns, gc_ns;
};

struct clock {
	struct knot *knots; /* owned; by time, the first is the begin */
	size_t count;
};

/* A stage attempt: for how long its tasks were held, and for how long the JVM collected meanwhile.
 */
struct group {
	int32_t stage, attempt;
	uint64_t held_ns, gc_ns;
};

struct groups {
	struct group *list; /* owned */
	size_t count, at;   /* at: the one that was found last */
	uint32_t *of;	    /* owned: by task, its group + 1 */
};

static int by_time(const void *a, const void *b)
{
	const struct knot *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* The JVM's count is read together with the load of its CPUs, and written where it has grown. */
static int make_clock(const struct sp_profile *p, struct clock *c)
{
	const struct sp_series *looks = &p->series[SP_SERIES_CPU_JVM];
	const struct sp_series *gc = &p->series[SP_SERIES_GC];
	size_t n = 0;

	c->knots = calloc(looks->count + gc->count + 1, sizeof(*c->knots));
	if (!c->knots)
		return -ENOMEM;
	c->knots[n++].time_ns = p->start_ns;
	for (size_t i = 0; i < looks->count; i++)
		c->knots[n++].time_ns = looks->points[i].time_ns;
	for (size_t i = 0; i < gc->count; i++)
		c->knots[n++] = (struct knot){
			gc->points[i].time_ns + gc->points[i].value, gc->points[i].value};
	qsort(c->knots, n, sizeof(*c->knots), by_time);
	for (size_t i = 0; i < n; i++) {
		struct knot *last = c->count ? &c->knots[c->count - 1] : NULL;

		if (last && c->knots[i].time_ns - last->time_ns < SAME_NS)
			last->gc_ns += c->knots[i].gc_ns;
		else
			c->knots[c->count++] = c->knots[i];
	}
	for (size_t i = 1; i < c->count; i++)
		c->knots[i].gc_ns += c->knots[i - 1].gc_ns;
	return 0;
}

/* For how long it was collected until that time; in between evenly. */
static uint64_t collected(const struct clock *c, uint64_t time_ns)
{
	const struct knot *a, *b;
	size_t low = 0, high = c->count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (c->knots[mid].time_ns <= time_ns)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0)
		return 0;
	a = &c->knots[low - 1];
	if (low == c->count)
		return a->gc_ns;
	b = &c->knots[low];
	return a->gc_ns +
	       (uint64_t)((double)(b->gc_ns - a->gc_ns) * (double)(time_ns - a->time_ns) /
			  (double)(b->time_ns - a->time_ns));
}

static int number_of(struct groups *g, const struct sp_task_name *n, uint32_t *ret)
{
	/* Tasks are by thread and time: the next one's stage is this one, or soon behind it. */
	for (size_t k = 0; k < g->count; k++) {
		size_t i = (g->at + k) % g->count;

		if (g->list[i].stage == n->stage && g->list[i].attempt == n->stage_attempt) {
			g->at = i;
			*ret = (uint32_t)i + 1;
			return 0;
		}
	}
	if ((g->count & (g->count - 1)) == 0) { /* room for twice as many */
		void *to = reallocarray(g->list, g->count ? g->count * 2 : 1, sizeof(*g->list));

		if (!to)
			return -ENOMEM;
		g->list = to;
	}
	g->list[g->count++] = (struct group){n->stage, n->stage_attempt, 0, 0};
	*ret = (uint32_t)g->count;
	g->at = g->count - 1;
	return 0;
}

/* Those that work for a task, or are of Python, run beside it. */
static int make_groups(struct sp_profile *p, const struct clock *c, struct groups *g)
{
	uint64_t end = p->start_ns + p->duration_ns;

	g->of = calloc(p->task_count + 1, sizeof(*g->of));
	if (!g->of)
		return -ENOMEM;
	for (size_t i = 0; i < p->task_count; i++) {
		struct sp_task_run *t = &p->tasks[i];
		uint64_t from = t->start_ns > p->start_ns ? t->start_ns : p->start_ns;
		uint64_t to = t->end_ns < end ? t->end_ns : end;

		if (t->name.stage < 0 || !t->start_ns || t->helper)
			continue;
		if (to > from)
			t->gc_ns = collected(c, to) - collected(c, from);
		if (number_of(g, &t->name, &g->of[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Whether a row is of a task's own thread, held at a safepoint. */
static bool is_held(const struct sp_profile *p, const struct groups *g, const struct sp_sample *row,
	int wall, struct sp_time_class_of *of)
{
	return row->event == (uint32_t)wall && row->task && g->of[row->task - 1] &&
	       sp_time_class_of_row(of, row) == SP_TIME_CLASS_GC &&
	       sp_time_class_stops(of, row->stack);
}

/* @has: tasks that have rows, where others are not to be counted; NULL: all are. */
static void sum(struct sp_profile *p, struct groups *g, const uint8_t *has, int wall,
	struct sp_time_class_of *of)
{
	for (size_t i = 0; i < p->task_count; i++)
		if (g->of[i] && (!has || has[i]))
			g->list[g->of[i] - 1].gc_ns += p->tasks[i].gc_ns;
	for (size_t i = 0; i < p->row_count; i++)
		if (is_held(p, g, &p->rows[i], wall, of))
			g->list[g->of[p->rows[i].task - 1] - 1].held_ns += p->rows[i].weight;
}

/* Puts what is left of the row into one of its own. Sums stay as they were. */
static int divide(struct sp_profile *p, size_t i, const struct group *g, uint32_t state)
{
	double rest = g->gc_ns < g->held_ns ? 1 - (double)g->gc_ns / (double)g->held_ns : 0;
	struct sp_sample x = p->rows[i];

	x.state = state;
	x.weight = (uint64_t)((double)x.weight * rest);
	x.count = (uint64_t)((double)x.count * rest);
	return x.weight ? sp_profile_split_row(p, i, &x) : 0;
}

static int divide_all(
	struct sp_profile *p, const struct groups *g, int wall, struct sp_time_class_of *of)
{
	uint32_t state = sp_dict_string(p->dict, SP_STATE_SAFEPOINT, strlen(SP_STATE_SAFEPOINT));
	int r = state ? sp_profile_hold_rows(p) : -ENOMEM;
	size_t n = p->row_count;

	for (size_t i = 0; i < n && r == 0; i++)
		if (is_held(p, g, &p->rows[i], wall, of))
			r = divide(p, i, &g->list[g->of[p->rows[i].task - 1] - 1], state);
	return r;
}

static uint8_t *mark_tasks(const struct sp_profile *p)
{
	uint8_t *has = calloc(p->task_count + 1, 1);

	for (size_t i = 0; has && i < p->row_count; i++)
		if (p->rows[i].task)
			has[p->rows[i].task - 1] = 1;
	return has;
}

int sp_gc_share_apply(struct sp_profile *p, bool part)
{
	SP_AUTO_TIME_CLASS struct sp_time_class_of *of = NULL;
	SP_AUTO_FREE uint8_t *has = NULL;
	struct groups g = {0};
	struct clock c = {0};
	int wall = -1, r = 0;

	for (unsigned i = 0; i < p->event_count; i++)
		wall = strcmp(sp_profile_event_name(p, i), "wall") == 0 ? (int)i : wall;
	if (!p->task_count || !p->series[SP_SERIES_CPU_JVM].count)
		return 0;
	r = make_clock(p, &c);
	r = r < 0 ? r : make_groups(p, &c, &g);
	if (r == 0 && part && !(has = mark_tasks(p)))
		r = -ENOMEM;
	if (r == 0 && wall >= 0)
		r = sp_time_class_new(&of, p);
	if (r == 0 && wall >= 0) {
		sum(p, &g, has, wall, of);
		r = divide_all(p, &g, wall, of);
	}
	free(c.knots);
	free(g.list);
	free(g.of);
	return r;
}
