/* How much both sides of a comparison have: in all, by stage, by time class. See
 * diff.h.
 *
 * Chance: a side of n samples of the weight w together has the standard error w / sqrt(n), as
 * counts have it (Poisson). That is what sampling does; two runs of one program differ by more. */
#include "out/diff.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/number.h"
#include "prof/model/tasks.h"
#include "prof/spark/time_class.h"

const char *sp_diff_format(const struct sp_diff *d, double v, bool sign, char *buf, size_t size)
{
	const struct sp_event *e = d->views[SP_DIFF_NEW]->event;
	const char *before = !sign ? "" : v < 0 ? "-" : "+";
	char n[SP_NUMBER_SIZE];

	if (e && e->unit == SP_UNIT_NS)
		snprintf(buf, size, "%s%.2f s", before, fabs(v) / 1e9);
	else
		snprintf(buf, size, "%s%s", before,
			sp_number_unit((uint64_t)llround(fabs(v)), e ? e->unit : SP_UNIT_COUNT, n));
	return buf;
}

/* Samples that a weight of a side is made of. */
static double samples_of(const struct sp_view *v, uint64_t weight)
{
	return v->weight ? (double)weight * (double)v->samples / (double)v->weight : 0;
}

static void judge_amount(const struct sp_diff *d, struct sp_diff_amount *a, size_t rows)
{
	double variance = 0;

	for (unsigned i = 0; i < 2; i++) {
		double n = samples_of(d->views[i], a->weight[i]), w = (double)a->weight[i];

		variance += n > 0 ? w / n * w : 0;
	}
	a->noise = sp_diff_bound(rows) * sqrt(variance);
}

static double change_of(const struct sp_diff_amount *a)
{
	return fabs((double)a->weight[1] - (double)a->weight[0]);
}

static int by_change(const void *a, const void *b)
{
	const struct sp_diff_amount *x = a, *y = b;

	if (change_of(x) != change_of(y))
		return change_of(x) > change_of(y) ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Leaves out what neither has, and sorts. */
static void finish(const struct sp_diff *d, struct sp_diff_amounts *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		if (t->list[i].weight[0] || t->list[i].weight[1])
			t->list[n++] = t->list[i];
	t->count = n;
	for (size_t i = 0; i < n; i++)
		judge_amount(d, &t->list[i], n);
	if (n)
		qsort(t->list, n, sizeof(*t->list), by_change);
}

/* The pair of each task + 1; 0: none. NULL when out of memory. */
static uint32_t *pairs_of(
	const struct sp_run_match *m, unsigned side, const struct sp_profile *p, struct sp_diff *d)
{
	uint32_t *of = calloc(p->task_count + 1, sizeof(*of));

	for (size_t i = 0; of && i < p->task_count; i++) {
		const struct sp_task_run *t = &p->tasks[i];
		const char *label = sp_dict_get_string(p->dict, t->stage_label, NULL);

		/* neighbours are of one stage for the most part */
		if (i && t->stage_label && t->stage_label == t[-1].stage_label)
			of[i] = of[i - 1];
		for (size_t k = 0; t->stage_label && !of[i] && k < m->count; k++)
			if (m->pairs[k].of[side].there && strcmp(m->pairs[k].label, label) == 0)
				of[i] = (uint32_t)k + 1;
		if (of[i] && !t->helper && !t->folded)
			d->stages.list[of[i] - 1].tasks[side]++;
	}
	return of;
}

static int count_side(struct sp_diff *d, const struct sp_run_match *m, unsigned side)
{
	const struct sp_view *v = d->views[side];
	const struct sp_profile *p = v->profile;
	SP_AUTO_FREE uint32_t *of = m ? pairs_of(m, side, p, d) : NULL;
	struct sp_time_class_of *spent = NULL;
	int r = m && !of ? -ENOMEM : d->waits.list ? sp_time_class_new(&spent, p) : 0;

	for (size_t i = 0; i < p->row_count && r == 0; i++) {
		const struct sp_sample *x = &p->rows[i];
		uint32_t pair = of && x->task ? of[x->task - 1] : 0;

		if (!v->row_stacks[i] || &p->events[x->event] != v->event)
			continue;
		if (pair)
			d->stages.list[pair - 1].weight[side] += x->weight;
		if (spent)
			d->waits.list[sp_time_class_of_row(spent, x)].weight[side] += x->weight;
	}
	sp_time_class_free(spent);
	return r;
}

static int prepare_stages(struct sp_diff *d, const struct sp_run_match *m)
{
	d->stages.list = calloc(m->count + 1, sizeof(*d->stages.list));
	if (!d->stages.list)
		return -ENOMEM;
	for (; d->stages.count < m->count; d->stages.count++) {
		const struct sp_stage_pair *p = &m->pairs[d->stages.count];
		const struct sp_run_stage *newest = &p->of[p->of[SP_RUN_NEW].there];

		d->stages.list[d->stages.count] = (struct sp_diff_amount){.name = p->label,
			.title = newest->title,
			.stage = p,
			.there = {p->of[0].there, p->of[1].there}};
	}
	return 0;
}

static int prepare_waits(struct sp_diff *d)
{
	d->waits.list = calloc(SP_TIME_CLASS_KINDS, sizeof(*d->waits.list));
	if (!d->waits.list)
		return -ENOMEM;
	for (; d->waits.count < SP_TIME_CLASS_KINDS; d->waits.count++)
		d->waits.list[d->waits.count] =
			(struct sp_diff_amount){.name = sp_time_class_name(d->waits.count),
				.title = "",
				.there = {true, true}};
	return 0;
}

int sp_diff_count(struct sp_diff *d, const struct sp_run_match *match)
{
	const char *event = sp_diff_event(d);
	bool timed = strcmp(event, "wall") == 0 || strcmp(event, "cpu") == 0;
	int r = match ? prepare_stages(d, match) : 0;

	if (r == 0 && timed)
		r = prepare_waits(d);
	d->total = (struct sp_diff_amount){.name = "total",
		.title = "",
		.there = {true, true},
		.weight = {d->views[0]->weight, d->views[1]->weight}};
	judge_amount(d, &d->total, 1);
	for (unsigned i = 0; i < 2 && r == 0; i++)
		r = d->views[i]->event ? count_side(d, match, i) : 0;
	finish(d, &d->stages);
	finish(d, &d->waits);
	return r;
}
