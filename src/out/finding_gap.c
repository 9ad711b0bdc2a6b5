/* The rules about time in which no task ran, or, of a driver, no job while it worked on something
 * else; and about files that it lists. Their lines are in the table of finding_rules.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/finding_rules.h"
#include "out/number.h"
#include "out/phases.h"
#include "prof/model/tasks.h"

#define SHORTEST_NS 250000000ull /* a gap: between two jobs there is always a moment */
#define WORKS	    3

/* When an executor had a task. */
struct busy {
	uint64_t from_ns, to_ns; /* since 1970 */
	uint32_t query;		 /* streaming query; 0: none */
};

struct gaps {
	uint64_t sum_ns, longest_ns, longest_at_ns; /* since 1970 */
	unsigned count;
};

static int by_start(const void *a, const void *b)
{
	const struct busy *x = a, *y = b;

	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static size_t list_busy(const struct sp_profile *p, struct busy *list)
{
	size_t n = 0;

	for (size_t i = 0; i < p->task_count; i++) {
		const struct sp_task_run *t = &p->tasks[i];
		const struct sp_stage *s;

		if (t->name.stage < 0 || !t->start_ns || t->helper)
			continue;
		s = sp_profile_find_stage(p, t->app, t->name.stage, t->name.stage_attempt);
		list[n++] = (struct busy){t->start_ns, t->end_ns, s ? s->query : 0};
	}
	return n;
}

/* Between the batches of a stream nothing has to run: it may wait for its trigger, or for data. */
static void add_gap(struct gaps *g, const struct busy *last, uint64_t end_ns, const struct busy *x)
{
	uint64_t ns = x->from_ns > end_ns ? x->from_ns - end_ns : 0;

	if (ns < SHORTEST_NS || last->query || x->query)
		return;
	g->sum_ns += ns;
	g->count++;
	if (ns > g->longest_ns) {
		g->longest_ns = ns;
		g->longest_at_ns = end_ns;
	}
}

/* Between the first and the last task of all executors together. */
static void find_gaps(struct busy *list, size_t n, struct gaps *g, uint64_t *ret_whole_ns)
{
	const struct busy *last = &list[0];
	uint64_t end_ns = list[0].to_ns;

	qsort(list, n, sizeof(*list), by_start);
	for (size_t i = 1; i < n; i++) {
		add_gap(g, last, end_ns, &list[i]);
		if (list[i].to_ns > end_ns) {
			end_ns = list[i].to_ns;
			last = &list[i];
		}
	}
	*ret_whole_ns = end_ns - list[0].from_ns;
}

static void look_executors(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	SP_AUTO_FREE struct busy *list = calloc(f->p->task_count + 1, sizeof(*list));
	char sum[SP_NUMBER_SIZE], of[SP_NUMBER_SIZE], longest[SP_NUMBER_SIZE], at[SP_NUMBER_SIZE];
	struct gaps g = {0};
	uint64_t whole = 0, from;
	struct sp_finding *x;
	size_t n;

	if (!list) {
		f->error = -ENOMEM;
		return;
	}
	n = list_busy(f->p, list);
	if (n < 2)
		return;
	find_gaps(list, n, &g, &whole);
	if (g.sum_ns < SP_FINDING_NS || (double)g.sum_ns < rule->share * (double)whole)
		return;
	x = sp_finding_add(f, rule, g.sum_ns);
	if (!x)
		return;
	from = g.longest_at_ns > f->p->start_ns ? g.longest_at_ns - f->p->start_ns : 0;
	sp_buf_addf(&x->says,
		"No task ran here for %s of the %s between the first and the last one",
		sp_duration_format(g.sum_ns, sum, sizeof(sum)),
		sp_duration_format(whole, of, sizeof(of)));
	if (g.count > 1)
		sp_buf_addf(&x->says, ", in %u gaps, the longest %s", g.count,
			sp_duration_format(g.longest_ns, longest, sizeof(longest)));
	if (from)
		sp_buf_addf(&x->says, ", from %s on", sp_duration_format(from, at, sizeof(at)));
	sp_buf_adds(&x->says, ": the driver had no job for it, or other executors ran the tasks");
	sp_buf_adds(&x->next, rule->next);
}

/* Work that a query or the application waits for; the longest of several threads at a time. */
static uint64_t work_of(const struct sp_phases *f)
{
	uint64_t sum = 0;

	for (unsigned k = SP_DRIVER_WORK_NONE + 1; k < SP_WORKS; k++)
		if (k != SP_DRIVER_WORK_IDLE && !sp_driver_work_is_job(k))
			sum += f->jobless_work[k];
	return sum < f->jobless_ns ? sum : f->jobless_ns;
}

#define NO_CORE 25 /* percent: from then on it is said */

/* Of the driver's threads that work, the share of their time in which they had no core. */
static double coreless(const struct sp_facts *f)
{
	uint64_t all = 0, without = 0;

	for (size_t i = 0; i < f->p->row_count; i++) {
		const struct sp_sample *row = &f->p->rows[i];
		const char *state = sp_dict_get_string(f->p->dict, row->state, NULL);

		if (row->event != f->event || sp_profile_task(f->p, row))
			continue;
		all += row->weight;
		without += strcmp(state, "runnable") == 0 ? row->weight : 0;
	}
	return sp_percent(without, all);
}

static const struct {
	enum sp_driver_work work[4];
	const char *advice;
} advices[] = {
	{{SP_DRIVER_WORK_COLLECT, SP_DRIVER_WORK_PYTHON_DECODE},
		"take fewer rows to the driver: aggregate, sample or write them instead of "
		"collecting; toPandas is faster with spark.sql.execution.arrow.pyspark.enabled"},
	{{SP_DRIVER_WORK_PYTHON, SP_DRIVER_WORK_APPLICATION, SP_DRIVER_WORK_PYTHON_WAIT},
		"let tasks do what the driver's own Python or Java does, or do it while a job "
		"runs"},
	{{SP_DRIVER_WORK_LISTING}, "list fewer files: fewer and larger ones, a table whose catalog "
				   "has its partitions, one read of a path instead of many"},
	{{SP_DRIVER_WORK_BROADCAST}, "broadcast less: fewer columns and rows, or a lower "
				     "spark.sql.autoBroadcastJoinThreshold"},
};

/* What helps against that which took most of the time. */
static const char *advice_of(const struct sp_phases *f)
{
	size_t best = SP_COUNT(advices);
	uint64_t most = 0, all = 0;

	for (unsigned k = SP_DRIVER_WORK_NONE + 1; k < SP_WORKS; k++)
		if (k != SP_DRIVER_WORK_IDLE && !sp_driver_work_is_job(k))
			all += f->jobless_work[k];
	for (size_t i = 0; i < SP_COUNT(advices); i++) {
		uint64_t sum = 0;

		for (size_t k = 0; k < SP_COUNT(advices[i].work) && advices[i].work[k]; k++)
			sum += f->jobless_work[advices[i].work[k]];
		if (sum > most) {
			most = sum;
			best = i;
		}
	}
	return best < SP_COUNT(advices) && most * 2 > all
		       ? advices[best].advice
		       : "build a plan once rather than in a loop, and in fewer steps (one select "
			 "of many columns); list fewer files, take fewer rows to the driver, and "
			 "let tasks do what its own Python or Java does";
}

static void look_driver(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	__attribute__((cleanup(sp_phases_done))) struct sp_phases phases = {0};
	char none[SP_NUMBER_SIZE], of[SP_NUMBER_SIZE];
	struct sp_finding *x;
	uint64_t work;

	if (sp_phases_init(&phases, f->p, f->event) < 0) {
		f->error = -ENOMEM;
		return;
	}
	work = work_of(&phases);
	if (!phases.timed || work < SP_FINDING_NS ||
		(double)work < rule->share * (double)phases.covered_ns)
		return;
	x = sp_finding_add(f, rule, work);
	if (!x)
		return;
	sp_buf_addf(&x->says, "No job ran for %s of %s, and the driver worked meanwhile: ",
		sp_duration_format(phases.jobless_ns, none, sizeof(none)),
		sp_duration_format(phases.covered_ns, of, sizeof(of)));
	sp_phases_list(phases.jobless_work, WORKS, &x->says);
	if (coreless(f) >= NO_CORE)
		sp_buf_addf(&x->says, ". Its threads had no core for %.0f %% of their time",
			coreless(f));
	x->advice = advice_of(&phases);
}

void sp_finding_listing(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	__attribute__((cleanup(sp_phases_done))) struct sp_phases phases = {0};
	char sum[SP_NUMBER_SIZE], jobs[SP_NUMBER_SIZE];
	struct sp_finding *x;
	uint64_t by_jobs, all;

	if (!sp_phases_is_driver(f->p))
		return;
	if (sp_phases_init(&phases, f->p, f->event) < 0) {
		f->error = -ENOMEM;
		return;
	}
	by_jobs = phases.query[SP_DRIVER_WORK_LIST_JOB];
	all = phases.query[SP_DRIVER_WORK_LISTING] + by_jobs;
	if (!phases.timed || all < SP_FINDING_NS ||
		(double)all < rule->share * (double)phases.covered_ns)
		return;
	x = sp_finding_add(f, rule, all);
	if (!x)
		return;
	sp_buf_addf(&x->says, "Files are listed before queries run for %s, %.0f %% of the time",
		sp_duration_format(all, sum, sizeof(sum)), sp_percent(all, phases.covered_ns));
	if (by_jobs)
		sp_buf_addf(&x->says, "; for %s of it by jobs of one task for each directory",
			sp_duration_format(by_jobs, jobs, sizeof(jobs)));
}

/* Where tasks are folded, their times are no longer known. */
void sp_finding_gap(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	if (sp_phases_is_driver(f->p))
		look_driver(f, rule);
	else if (f->p->fold == SP_FOLD_NOTHING && !f->p->past_count)
		look_executors(f, rule);
}
