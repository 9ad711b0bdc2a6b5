/* The rule about the task that its stage waits for, and what that one does differently. Its line is
 * in the table of finding_rules.c. */
#include <errno.h>

#include "base/cleanup.h"
#include "out/finding_rules.h"
#include "out/number.h"
#include "prof/model/tasks.h"

#define FEW_SAMPLES 30	/* below this a task's own mix of time says nothing */
#define DIFFERENT   20	/* percent of a task's time */
#define MOST	    50	/* the same, where nothing is known of the others */
#define MORE_DATA   2.0 /* times as long on a core */

/* What two kinds of tasks of a stage spent their time on: the straggler, and all others. */
struct mix {
	uint64_t spent[2][SP_TIME_CLASS_KINDS], weight[2], samples[2];
};

static int mix_of(struct sp_facts *f, const struct sp_stage_row *r, struct mix *m)
{
	SP_AUTO_TIME_CLASS struct sp_time_class_of *spent = NULL;

	if (sp_time_class_new(&spent, f->p) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < f->p->row_count; i++) {
		const struct sp_sample *row = &f->p->rows[i];
		const struct sp_task_run *t = sp_profile_task(f->p, row);
		unsigned other;

		if (row->event != f->event || !t || t->app != r->app || t->name.stage != r->stage ||
			t->name.stage_attempt != r->attempt)
			continue;
		other = t->name.task_id != r->max_task;
		m->spent[other][sp_time_class_of_row(spent, row)] += row->weight;
		m->weight[other] += row->weight;
		m->samples[other] += row->count;
	}
	return 0;
}

/* Whether the shares of a kind differ by more than five times what chance makes of so many samples.
 */
static bool is_beyond_chance(const struct mix *m, unsigned kind)
{
	double variance = 0, p[2];

	for (unsigned i = 0; i < 2; i++) {
		p[i] = sp_percent(m->spent[i][kind], m->weight[i]) / 100;
		variance += p[i] * (1 - p[i]) / (double)m->samples[i];
	}
	return (p[0] - p[1]) * (p[0] - p[1]) >= 25 * variance;
}

static bool is_work(unsigned kind)
{
	return kind == SP_TIME_CLASS_CPU || kind == SP_TIME_CLASS_SERIALISATION ||
	       kind == SP_TIME_CLASS_WORKER || kind == SP_TIME_CLASS_WORKER_SERIAL;
}

/* How many times as long as the others, on average, it is on a core: the measure of what it has to
 * do, whatever it waits for. 0: they have too little of that. */
static double times_as_busy(const struct mix *m, uint32_t others)
{
	uint64_t work[2] = {0};

	for (unsigned i = 0; i < SP_TIME_CLASS_KINDS; i++)
		for (unsigned k = 0; k < 2 && is_work(i); k++)
			work[k] += m->spent[k][i];
	return work[1] && others ? (double)work[0] / ((double)work[1] / (double)others) : 0;
}

/* The kind of time of which it has more than the others, by 20 points and beyond chance; -1: none.
 */
static int different_kind(const struct mix *m)
{
	unsigned kind = 0;
	double most = 0;

	for (unsigned i = 0; i < SP_TIME_CLASS_KINDS; i++) {
		double d = sp_percent(m->spent[0][i], m->weight[0]) -
			   sp_percent(m->spent[1][i], m->weight[1]);

		if (d > most) {
			most = d;
			kind = i;
		}
	}
	return most >= DIFFERENT && is_beyond_chance(m, kind) ? (int)kind : -1;
}

/* Waits that do not grow with what a task reads and writes. */
static bool is_stuck(unsigned kind)
{
	return kind == SP_TIME_CLASS_LOCK || kind == SP_TIME_CLASS_INIT ||
	       kind == SP_TIME_CLASS_NETWORK || kind == SP_TIME_CLASS_CHILD ||
	       kind == SP_TIME_CLASS_WORKER_WAIT || kind == SP_TIME_CLASS_SLEEP;
}

/* Nothing is known of the others, which ended before: one that hardly computes need not have more
 * data. */
static void say_wait(const struct mix *m, struct sp_finding *x)
{
	unsigned most = 0;

	for (unsigned i = 1; i < SP_TIME_CLASS_KINDS; i++)
		most = m->spent[0][i] > m->spent[0][most] ? i : most;
	if (!is_stuck(most) || sp_percent(m->spent[0][most], m->weight[0]) < MOST)
		return;
	sp_buf_addf(&x->says, ". %.0f %% of its time is %s",
		sp_percent(m->spent[0][most], m->weight[0]), sp_time_class_name(most));
	x->advice = "look at what it waits for (sparkprof stack shows where it is now): more "
		    "data need not be the reason";
}

/* ". 61 % of its time is GC, of the other tasks' 4 %". Who has more data is busy for longer. */
static void say_difference(struct sp_facts *f, const struct sp_stage_row *r, struct sp_finding *x)
{
	struct mix m = {0};
	double busy;
	int kind;

	if (mix_of(f, r, &m) < 0)
		f->error = -ENOMEM;
	if (m.samples[0] >= FEW_SAMPLES && m.samples[1] < FEW_SAMPLES && f->stages.waiting)
		say_wait(&m, x);
	if (m.samples[0] < FEW_SAMPLES || m.samples[1] < FEW_SAMPLES)
		return;
	kind = different_kind(&m);
	busy = times_as_busy(&m, r->tasks - 1);
	if (kind >= 0)
		sp_buf_addf(&x->says, ". %.0f %% of its time %s %s, of the other tasks' %.0f %%",
			sp_percent(m.spent[0][kind], m.weight[0]),
			kind == SP_TIME_CLASS_CORE ? "it" : "is", sp_time_class_name(kind),
			sp_percent(m.spent[1][kind], m.weight[1]));
	else
		sp_buf_adds(
			&x->says, ". It spends its time on the same kinds of work as the others");
	if (busy >= MORE_DATA)
		sp_buf_addf(&x->says,
			"%s computes %.*f times as long as they do on average: it may have more "
			"data",
			kind < 0 ? ", and" : "; it", busy < 10, busy);
}

void sp_finding_straggler(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	for (size_t i = 0; i < f->stages.count; i++) {
		const struct sp_stage_row *r = &f->stages.rows[i];
		char took[SP_NUMBER_SIZE], median[SP_NUMBER_SIZE];
		const char *least = r->max.least ? "≥ " : "";
		SP_AUTO_BUF struct sp_buf title = {0};
		struct sp_finding *x;

		if (!sp_stage_table_lags(r))
			continue;
		x = sp_finding_add(f, rule, r->max.ns - r->median_ns);
		if (!x)
			continue;
		sp_stage_table_title(f->p, r, &title);
		x->stage = r->stage;
		x->attempt = r->attempt;
		x->task = r->max_task;
		sp_buf_addf(&x->says, "Stage %d.%d%s%s%s waits for ", r->stage, r->attempt,
			title.len ? " (" : "", sp_buf_str(&title), title.len ? ")" : "");
		if (r->long_tasks > 1)
			sp_buf_addf(&x->says, "%u of its tasks. The longest: ", r->long_tasks);
		else
			sp_buf_adds(&x->says, "one task: ");
		sp_buf_addf(&x->says, "TID %lld %s %s%s, ", (long long)r->max_task,
			r->max.running ? "runs since" : "took", least,
			sp_duration_format(r->max.ns, took, sizeof(took)));
		sp_buf_addf(&x->says, "%s%.1f times the median of %u that finished (%s)", least,
			(double)r->max.ns / (double)(r->median_ns ? r->median_ns : 1), r->finished,
			sp_duration_format(r->median_ns, median, sizeof(median)));
		say_difference(f, r, x);
		sp_buf_addf(&x->next, "report --task %lld", (long long)r->max_task);
	}
}
