/* The rule about an executor that is unlike the others of its application. Its line is in the table
 * of finding_rules.c.
 *
 * Compared is what it and the others did in the same stages: how long tasks took, and what share of
 * their time each kind has. That the difference is not chance is asked of tasks, not of samples:
 * those of one task are all alike, and one task with more data than others makes no executor slow.
 * Were all executors equal, each task of a stage could as well have been on any of them. So the
 * tasks are put in order, as many as the executor ran are marked from the top, and the chance that
 * so many of its own are among them is a hypergeometric one, whatever the distribution. The bound
 * is the one of diff: chance names one executor in one of twenty recordings. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/finding_rules.h"
#include "out/number.h"
#include "prof/model/tasks.h"

#define FEW_TASKS 3    /* of the others in a stage: below, it is not compared */
#define DIFFERENT 20.0 /* percent of the tasks' time */
#define LONGER	  1.5  /* times as long */
#define MOST	  3    /* executors that are named */
#define CHANCE	  0.025

enum { LENGTH = SP_TIME_CLASS_KINDS, MEASURES };

/* A task, all of its threads. */
struct run {
	const struct sp_task_run *task;
	uint32_t executor; /* its number */
	uint64_t ns;	   /* 0: it is not known how long it took */
	uint64_t weight;   /* of its samples … */
	uint64_t samples;
	float spent[SP_TIME_CLASS_KINDS]; /* … by kind */
};

/* Tasks of one stage, or of one executor in it. */
struct cell {
	size_t from, to; /* in runs */
	uint64_t weight, samples, ns;
	uint32_t tasks, finished;
	double spent[SP_TIME_CLASS_KINDS];
};

struct compared {
	const struct sp_profile *p;
	struct run *runs; /* owned; by stage, then by executor */
	size_t count;
	const struct sp_task_run **executors; /* owned: one task of each, by number */
	uint32_t executor_count;
	struct cell *stages; /* owned */
	size_t stage_count;
};

/* An executor beside the others, in the stages that both ran. */
struct outlier {
	uint32_t executor;
	int kind;	   /* of which it has more; -1: of none beyond chance */
	double share[2];   /* of that kind: its own, the others'; percent */
	double longer;	   /* its tasks take so many times as long; 0: not beyond chance */
	uint32_t tasks[2]; /* its own, the others' */
	uint64_t cost_ns;
};

static int by_place(const void *a, const void *b)
{
	const struct sp_task_run *x = ((const struct run *)a)->task;
	const struct sp_task_run *y = ((const struct run *)b)->task;

	if (x->app != y->app)
		return x->app < y->app ? -1 : 1;
	if (x->name.stage != y->name.stage)
		return x->name.stage < y->name.stage ? -1 : 1;
	if (x->name.stage_attempt != y->name.stage_attempt)
		return x->name.stage_attempt < y->name.stage_attempt ? -1 : 1;
	if (x->executor != y->executor)
		return x->executor < y->executor ? -1 : 1;
	if (x->name.task_id != y->name.task_id)
		return x->name.task_id < y->name.task_id ? -1 : 1;
	return x->helper - y->helper; /* the task's own thread first */
}

static bool is_same_stage(const struct sp_task_run *x, const struct sp_task_run *y)
{
	return x->app == y->app && x->name.stage == y->name.stage &&
	       x->name.stage_attempt == y->name.stage_attempt;
}

static bool counts(const struct sp_task_run *t)
{
	return t->executor && !t->folded && t->name.stage >= 0 && t->name.task_id >= 0;
}

static uint64_t known_ns(const struct sp_task_run *t)
{
	struct sp_task_length length = sp_task_length(t);

	return length.least ? 0 : length.ns;
}

/* Threads that work for a task go into its run. @at: by task, its run + 1. */
static int make_runs(struct compared *c, uint32_t *at)
{
	const struct sp_profile *p = c->p;
	size_t n = 0;

	c->runs = calloc(p->task_count + 1, sizeof(*c->runs));
	if (!c->runs)
		return -ENOMEM;
	for (size_t i = 0; i < p->task_count; i++)
		if (counts(&p->tasks[i]))
			c->runs[n++].task = &p->tasks[i];
	qsort(c->runs, n, sizeof(*c->runs), by_place);
	for (size_t i = 0; i < n; i++) {
		const struct sp_task_run *t = c->runs[i].task;
		struct run *last = c->count ? &c->runs[c->count - 1] : NULL;

		if (!last || !is_same_stage(last->task, t) || last->task->executor != t->executor ||
			last->task->name.task_id != t->name.task_id) {
			last = &c->runs[c->count++];
			*last = (struct run){.task = t, .ns = t->helper ? 0 : known_ns(t)};
		}
		at[t - p->tasks] = (uint32_t)c->count;
	}
	return 0;
}

static int number_executors(struct compared *c)
{
	c->executors = calloc(c->count + 1, sizeof(*c->executors));
	if (!c->executors)
		return -ENOMEM;
	for (size_t i = 0; i < c->count; i++) {
		struct run *r = &c->runs[i];
		uint32_t n = i && r[-1].task->executor == r->task->executor ? r[-1].executor : 0;

		while (n < c->executor_count && (c->executors[n]->executor != r->task->executor ||
							c->executors[n]->app != r->task->app))
			n++;
		if (n == c->executor_count)
			c->executors[c->executor_count++] = r->task;
		r->executor = n;
	}
	return 0;
}

static int add_samples(struct compared *c, const struct sp_facts *f, const uint32_t *at)
{
	SP_AUTO_TIME_CLASS struct sp_time_class_of *spent = NULL;

	if (sp_time_class_new(&spent, c->p) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < c->p->row_count; i++) {
		const struct sp_sample *row = &c->p->rows[i];
		struct run *r;

		if (row->event != f->event || !row->task || !at[row->task - 1])
			continue;
		r = &c->runs[at[row->task - 1] - 1];
		r->weight += row->weight;
		r->samples += row->count;
		r->spent[sp_time_class_of_row(spent, row)] += (float)row->weight;
	}
	return 0;
}

static void add_run(struct cell *to, const struct run *r)
{
	to->weight += r->weight;
	to->samples += r->samples;
	to->ns += r->ns;
	to->tasks++;
	to->finished += r->ns != 0;
	for (unsigned k = 0; k < SP_TIME_CLASS_KINDS; k++)
		to->spent[k] += (double)r->spent[k];
}

static int make_stages(struct compared *c)
{
	c->stages = calloc(c->count + 1, sizeof(*c->stages));
	if (!c->stages)
		return -ENOMEM;
	for (size_t i = 0; i < c->count; i++) {
		if (!i || !is_same_stage(c->runs[i - 1].task, c->runs[i].task))
			c->stages[c->stage_count++].from = i;
		c->stages[c->stage_count - 1].to = i + 1;
		add_run(&c->stages[c->stage_count - 1], &c->runs[i]);
	}
	return 0;
}

/* What @executor did in a stage. Returns false where there is nothing to compare it with. */
static bool cell_of(const struct compared *c, const struct cell *stage, uint32_t executor,
	struct cell *ret, struct cell *others)
{
	*ret = (struct cell){0};
	for (size_t i = stage->from; i < stage->to; i++)
		if (c->runs[i].executor == executor)
			add_run(ret, &c->runs[i]);
	*others = *stage;
	others->weight -= ret->weight;
	others->samples -= ret->samples;
	others->ns -= ret->ns;
	others->tasks -= ret->tasks;
	others->finished -= ret->finished;
	for (unsigned k = 0; k < SP_TIME_CLASS_KINDS; k++)
		others->spent[k] -= ret->spent[k];
	return ret->tasks && others->tasks >= FEW_TASKS && others->weight;
}

static bool is_work(unsigned kind)
{
	return kind == SP_TIME_CLASS_CPU || kind == SP_TIME_CLASS_SERIALISATION ||
	       kind == SP_TIME_CLASS_WORKER || kind == SP_TIME_CLASS_WORKER_SERIAL ||
	       kind == SP_TIME_CLASS_IDLE || kind == SP_TIME_CLASS_OTHER;
}

/* What a task is put in order by; below 0: it is left out. */
static double measure(const struct run *r, unsigned of)
{
	if (of == LENGTH)
		return r->ns ? (double)r->ns : -1;
	return r->weight ? (double)r->spent[of] / (double)r->weight : -1;
}

static int descending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x > y ? -1 : x < y;
}

/* Of @all tasks of a stage @own are the executor's; @marked of them are the highest, above the
 * first that is not, and @got of those are its own. Equal ones on both sides of that border are not
 * marked. */
struct draw {
	uint32_t all, own, marked, got;
};

static struct draw draw_of(const struct compared *c, const struct cell *stage, uint32_t executor,
	unsigned of, double *room)
{
	struct draw d = {0};
	double border;

	for (size_t i = stage->from; i < stage->to; i++) {
		double v = measure(&c->runs[i], of);

		if (v < 0)
			continue;
		room[d.all++] = v;
		d.own += c->runs[i].executor == executor;
	}
	if (!d.own || d.own == d.all)
		return (struct draw){0};
	qsort(room, d.all, sizeof(*room), descending);
	border = room[d.own];
	for (size_t i = stage->from; i < stage->to; i++) {
		bool above = measure(&c->runs[i], of) > border;

		d.marked += above;
		d.got += above && c->runs[i].executor == executor;
	}
	return d;
}

static double log_choose(uint32_t n, uint32_t k)
{
	return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0);
}

static double chance_of(const struct draw *d, uint32_t got)
{
	if (got > d->own || got > d->marked || d->own - got > d->all - d->marked)
		return 0;
	return exp(log_choose(d->marked, got) + log_choose(d->all - d->marked, d->own - got) -
		   log_choose(d->all, d->own));
}

/* @sums[0 to @most] are chances of sums so far: those of one more stage are added to them. */
static void convolve(double *sums, uint32_t most, const struct draw *d, double *room)
{
	memcpy(room, sums, (most + 1ul) * sizeof(*room));
	memset(sums, 0, (most + d->marked + 1ul) * sizeof(*sums));
	for (uint32_t got = 0; got <= d->marked; got++) {
		double p = chance_of(d, got);

		for (uint32_t i = 0; p > 0 && i <= most; i++)
			sums[i + got] += room[i] * p;
	}
}

/* The chance that so many of its tasks, or more, are among the highest. Returns 2 when out of
 * memory. */
static double chance(const struct compared *c, uint32_t executor, unsigned of)
{
	SP_AUTO_FREE double *order = calloc(c->count + 1, sizeof(double));
	SP_AUTO_FREE double *sums = calloc(c->count + 1, sizeof(double));
	SP_AUTO_FREE double *room = calloc(c->count + 1, sizeof(double));
	uint32_t most = 0, got = 0;
	double tail = 0;

	if (!order || !sums || !room)
		return 2;
	sums[0] = 1;
	for (size_t i = 0; i < c->stage_count; i++) {
		struct draw d = draw_of(c, &c->stages[i], executor, of, order);

		if (!d.marked || d.all - d.own < FEW_TASKS)
			continue;
		convolve(sums, most, &d, room);
		most += d.marked;
		got += d.got;
	}
	for (uint32_t i = got; i <= most; i++)
		tail += sums[i];
	return tail;
}

/* What an executor and others did of the stages that both ran; the others' shares as they would be
 * had they done as much of each stage as it. */
struct beside {
	double own[SP_TIME_CLASS_KINDS], others[SP_TIME_CLASS_KINDS]; /* weight */
	double weight, ns, others_ns;
	uint64_t samples;
	uint32_t tasks[2];
};

static void put_beside(const struct compared *c, uint32_t executor, struct beside *ret)
{
	*ret = (struct beside){0};
	for (size_t i = 0; i < c->stage_count; i++) {
		struct cell own, others;

		if (!cell_of(c, &c->stages[i], executor, &own, &others))
			continue;
		for (unsigned k = 0; k < SP_TIME_CLASS_KINDS; k++) {
			ret->own[k] += own.spent[k];
			ret->others[k] +=
				others.spent[k] / (double)others.weight * (double)own.weight;
		}
		ret->weight += (double)own.weight;
		ret->samples += own.samples;
		ret->tasks[0] += own.tasks;
		ret->tasks[1] += others.tasks;
		if (others.finished < FEW_TASKS)
			continue;
		ret->ns += (double)own.ns;
		ret->others_ns += (double)own.finished * (double)others.ns / others.finished;
	}
}

/* The kind of which it has most more than the others, if that is enough; -1: none. */
static int different_kind(const struct beside *b)
{
	double most = 0;
	int found = -1;

	for (unsigned k = 0; k < SP_TIME_CLASS_KINDS; k++) {
		double more = b->own[k] - b->others[k];

		if (is_work(k) || more <= most)
			continue;
		most = more;
		found = (int)k;
	}
	return found >= 0 && most * 100 >= DIFFERENT * b->weight ? found : -1;
}

/* Returns false where it is like the others, or chance may have made it unlike them. */
static bool judge(
	const struct sp_facts *f, const struct compared *c, uint32_t executor, struct outlier *ret)
{
	double bound = CHANCE / ((double)c->executor_count * MEASURES), longer;
	struct beside b;
	int kind;

	put_beside(c, executor, &b);
	*ret = (struct outlier){.executor = executor, .kind = -1};
	memcpy(ret->tasks, b.tasks, sizeof(b.tasks));
	if (b.weight <= 0)
		return false;
	kind = f->stages.waiting ? different_kind(&b) : -1;
	if (kind >= 0 && chance(c, executor, (unsigned)kind) <= bound) {
		ret->kind = kind;
		ret->share[0] = b.own[kind] * 100 / b.weight;
		ret->share[1] = b.others[kind] * 100 / b.weight;
		ret->cost_ns = (uint64_t)(b.own[kind] - b.others[kind]);
	}
	longer = b.others_ns > 0 ? b.ns / b.others_ns : 0;
	if (longer >= LONGER && chance(c, executor, LENGTH) <= bound) {
		ret->longer = longer;
		ret->cost_ns = (uint64_t)(b.ns - b.others_ns);
	}
	return ret->cost_ns >= SP_FINDING_NS;
}

static int by_cost(const void *a, const void *b)
{
	const struct outlier *x = a, *y = b;

	if (x->cost_ns != y->cost_ns)
		return x->cost_ns > y->cost_ns ? -1 : 1;
	return x->executor < y->executor ? -1 : x->executor > y->executor;
}

static void say(struct sp_facts *f, const struct sp_finding_rule *rule, const struct compared *c,
	const struct outlier *o)
{
	const struct sp_task_run *t = c->executors[o->executor];
	const char *id = sp_dict_get_string(f->p->dict, t->executor, NULL);
	struct sp_finding *x = sp_finding_add(f, rule, o->cost_ns);
	char n[SP_NUMBER_SIZE];

	if (!x)
		return;
	x->executor = id;
	sp_buf_addf(&x->says, "Executor %s", id);
	for (size_t i = 0; i < f->p->placed_count; i++)
		if (f->p->placed[i].executor == t->executor)
			sp_buf_addf(&x->says, " on %s",
				sp_dict_get_string(f->p->dict, f->p->placed[i].host, NULL));
	sp_buf_adds(&x->says, " is unlike the others in the same stages: ");
	if (o->kind >= 0)
		sp_buf_addf(&x->says, "%.0f %% of its tasks' time is %s, of the others' %.0f %%",
			o->share[0],
			o->kind == SP_TIME_CLASS_CORE
				? "waiting for a core"
				: sp_time_class_name((enum sp_time_class)o->kind),
			o->share[1]);
	if (o->longer > 0)
		sp_buf_addf(&x->says, "%sits tasks take %.1f times as long",
			o->kind >= 0 ? "; " : "", o->longer);
	if (o->kind < 0)
		sp_buf_adds(&x->says, ", at the same kinds of work");
	sp_buf_addf(&x->says, " (%s tasks", sp_number(o->tasks[0], n));
	sp_buf_addf(&x->says, " beside %s)", sp_number(o->tasks[1], n));
	sp_buf_addf(&x->next, "report --executor %s", id);
}

static int compare_all(struct sp_facts *f, const struct sp_finding_rule *rule, struct compared *c)
{
	SP_AUTO_FREE struct outlier *found = calloc(c->executor_count + 1ul, sizeof(*found));
	size_t n = 0;

	if (!found)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->executor_count; i++)
		n += judge(f, c, i, &found[n]);
	qsort(found, n, sizeof(*found), by_cost);
	for (size_t i = 0; i < n && i < MOST; i++)
		say(f, rule, c, &found[i]);
	return 0;
}

void sp_finding_executor(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	SP_AUTO_FREE uint32_t *at = calloc(f->p->task_count + 1, sizeof(*at));
	struct compared c = {.p = f->p};
	int r = at ? make_runs(&c, at) : -ENOMEM;

	r = r < 0 ? r : number_executors(&c);
	if (r == 0 && c.executor_count > 1) {
		r = add_samples(&c, f, at);
		r = r < 0 ? r : make_stages(&c);
		r = r < 0 ? r : compare_all(f, rule, &c);
	}
	if (r < 0)
		f->error = r;
	free(c.runs);
	free(c.executors);
	free(c.stages);
}
