/* See stage_table.h. */
#include "out/stage_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "out/number.h"
#include "prof/model/tasks.h"

#define LAG_NS	1000000000ull /* what a straggler costs at least */
#define LONG_NS 2000000000ull /* of such a task it costs little that its end is seen 20 ms late */

static struct sp_stage_row *row_of(
	struct sp_stage_table *s, const struct sp_profile *p, const struct sp_task_run *t)
{
	struct sp_stage_row *r;

	for (size_t i = s->count; i-- > 0;) {
		r = &s->rows[i];
		if (r->stage == t->name.stage && r->attempt == t->name.stage_attempt &&
			r->app == t->app)
			return r;
	}
	if (sp_grow_one(&s->rows, s->count, sizeof(*s->rows)) < 0)
		return NULL;
	r = &s->rows[s->count++];
	*r = (struct sp_stage_row){.app = t->app,
		.stage = t->name.stage,
		.attempt = t->name.stage_attempt,
		.max_task = -1};
	r->about = sp_profile_find_stage(p, t->app, t->name.stage, t->name.stage_attempt);
	return r;
}

static int add_length(struct sp_stage_row *r, uint64_t took)
{
	uint64_t *to;

	if ((r->length_count & (r->length_count - 1)) == 0) { /* room for twice as many */
		to = reallocarray(
			r->lengths, r->length_count ? r->length_count * 2ul : 1, sizeof(*to));
		if (!to)
			return -ENOMEM;
		r->lengths = to;
	}
	r->lengths[r->length_count++] = took;
	return 0;
}

/* @label: number of the task, + 1; 0: folded. */
static int count_task(struct sp_stage_row *r, uint64_t took, const struct sp_task_length *length,
	int64_t task_id, uint32_t label, uint64_t gc_ns)
{
	r->tasks++;
	r->gc_ns += gc_ns;
	r->run_ns += took;
	if (!took)
		return 0; /* known by its thread's name alone */
	if (length->ns > r->max.ns || r->max_task < 0) {
		r->max = *length;
		r->max_task = task_id;
		r->max_label = label;
	}
	return length->least ? 0 : add_length(r, length->ns);
}

static void cover(struct sp_stage_row *r, uint64_t from, uint64_t to)
{
	if (!from)
		return;
	r->first_ns = r->first_ns && r->first_ns < from ? r->first_ns : from;
	r->last_ns = r->last_ns > to ? r->last_ns : to;
}

/* Those that were folded. */
static int count_pasts(struct sp_stage_table *s, const struct sp_profile *p)
{
	int n = 0;

	for (size_t i = 0; i < p->past_count && n == 0; i++) {
		const struct sp_past *past = &p->pasts[i];
		struct sp_task_run t = {.app = past->app,
			.name = {past->task_id, past->stage, past->attempt, -1, -1}};
		struct sp_task_length length = {past->length_ns, 0, past->running, past->least};
		struct sp_stage_row *r = row_of(s, p, &t);

		n = r ? count_task(r, past->took_ns, &length, past->task_id, 0, past->gc_ns)
		      : -ENOMEM;
	}
	return n;
}

/* What Spark's clocks said takes the place of what was sampled. */
static void count_measured(
	const struct sp_stage_table *s, struct sp_stage_row *r, const struct sp_task_run *t)
{
	r->fetch_ns += t->spark.fetch_wait_ns;
	r->write_ns += t->spark.shuffle_write_ns;
	if (!s->waiting)
		return;
	r->spark_tasks++;
	r->spark_run_ns += t->spark.run_ns;
	r->spark_took_ns += t->end_ns - t->start_ns;
	r->cpu_ns += t->spark.cpu_ns + t->spark.read_cpu_ns;
	r->launch_cpu_ns += t->spark.read_cpu_ns;
}

/* Counts the tasks; @row_by_task is filled with row number + 1. */
static int count_tasks(struct sp_stage_table *s, const struct sp_profile *p, uint32_t *row_by_task)
{
	for (size_t i = 0; i < p->task_count; i++) {
		const struct sp_task_run *t = &p->tasks[i];
		struct sp_task_length length = sp_task_length(t);
		struct sp_stage_row *r;

		if (t->name.stage < 0)
			continue;
		r = row_of(s, p, t);
		if (!r)
			return -ENOMEM;
		row_by_task[i] = (uint32_t)(r - s->rows) + 1;
		if (t->helper)
			continue;
		cover(r, length.begun_ns, t->end_ns);
		if (!t->folded &&
			count_task(r, t->end_ns - t->start_ns, &length, t->name.task_id,
				(uint32_t)i + 1, t->measured ? t->spark.gc_ns : t->gc_ns) < 0)
			return -ENOMEM;
		if (t->measured && !t->folded)
			count_measured(s, r, t);
	}
	return count_pasts(s, p);
}

/* What a task's own thread did of what Spark has clocks for. */
static void count_own(struct sp_stage_table *s, const struct sp_profile *p, struct sp_stage_row *r,
	const struct sp_sample *x, struct sp_time_class_of *spent)
{
	const struct sp_task_run *t = &p->tasks[x->task - 1];
	const char *state = sp_dict_get_string(p->dict, x->state, NULL);
	bool runs = !s->waiting || strcmp(state, "running") == 0;
	bool launches = sp_time_class_launches(spent, x->stack);

	bool measured = s->waiting && t->measured;

	if (s->waiting && !t->folded && (!t->helper || t->fills)) {
		r->own_ns += x->weight;
		r->spark_own_ns += measured ? x->weight : 0;
	}
	if (t->helper || t->folded)
		return;
	r->cpu_ns += runs && !measured ? x->weight : 0;
	r->launch_cpu_ns += runs && launches && !measured ? x->weight : 0;
	if (strcmp(state, "runnable") == 0)
		r->core_ns += x->weight;
	r->launch_ns += s->waiting && launches ? x->weight : 0;
	r->spark_launch_ns += launches && measured ? x->weight : 0;
}

static void count_clocks(const struct sp_profile *p, struct sp_stage_row *r,
	const struct sp_sample *x, struct sp_time_class_of *spent)
{
	enum sp_time_class clock = sp_time_class_clock(spent, x);

	if (p->tasks[x->task - 1].measured)
		return;
	r->fetch_ns += clock == SP_TIME_CLASS_SHUFFLE_READ ? x->weight : 0;
	r->write_ns += clock == SP_TIME_CLASS_SHUFFLE_WRITE ? x->weight : 0;
}

/* Areas are looked up once for each stack. */
static int count_samples(struct sp_stage_table *s, const struct sp_profile *p, unsigned event,
	const uint32_t *row_by_task)
{
	SP_AUTO_TIME_CLASS struct sp_time_class_of *spent = NULL;
	SP_AUTO_FREE uint8_t *known = calloc(sp_dict_stacks(p->dict) + 1ul, 1);

	if (!known || (s->timed && sp_time_class_new(&spent, p) < 0))
		return -ENOMEM;
	for (size_t i = 0; i < p->row_count; i++) {
		const struct sp_sample *x = &p->rows[i];
		struct sp_stage_row *r;

		if (x->event != event || !x->task || !row_by_task[x->task - 1])
			continue;
		r = &s->rows[row_by_task[x->task - 1] - 1];
		if (!known[x->stack]) {
			const struct sp_stack *st = sp_dict_get_stack(p->dict, x->stack);

			known[x->stack] =
				(uint8_t)(sp_area_of_stack(s->areas, p->dict,
						  st ? st->frames : NULL, st ? st->count : 0) +
					  1);
		}
		r->samples += x->count;
		r->weight += x->weight;
		r->areas[sp_area_in_state(s->areas, known[x->stack] - 1u,
			sp_dict_get_string(p->dict, x->state, NULL))] += x->weight;
		if (!spent)
			continue;
		r->spent[sp_time_class_of_row(spent, x)] += x->weight;
		count_clocks(p, r, x, spent);
		count_own(s, p, r, x, spent);
	}
	return 0;
}

static int by_length(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The driver knows tasks of other executors, and those that finished before the recording. */
static void settle_median(struct sp_stage_row *r)
{
	r->finished = r->length_count;
	if (r->length_count) {
		qsort(r->lengths, r->length_count, sizeof(*r->lengths), by_length);
		r->median_ns = r->lengths[r->length_count / 2];
	}
	if (r->about && r->about->finished > r->finished) {
		r->finished = r->about->finished;
		r->median_ns = r->about->median_ns;
	}
}

/* Whether the stage waits for a task as for its longest: it takes more than half as long, and ends
 * no sooner than a median task before that, or not yet. */
static bool is_waited_for(const struct sp_stage_row *r, const struct sp_task_length *t)
{
	uint64_t end = t->begun_ns + t->ns + r->median_ns, last = r->max.begun_ns + r->max.ns;

	return t->ns > r->max.ns / 2 && (r->max.running ? t->running : end >= last);
}

static void count_long(
	struct sp_stage_table *s, const struct sp_profile *p, const uint32_t *row_by_task)
{
	for (size_t i = 0; i < p->task_count; i++) {
		struct sp_stage_row *r = row_by_task[i] ? &s->rows[row_by_task[i] - 1] : NULL;
		struct sp_task_length length = sp_task_length(&p->tasks[i]);

		if (r && !p->tasks[i].helper && !p->tasks[i].folded)
			r->long_tasks += is_waited_for(r, &length);
	}
}

static int by_weight(const void *a, const void *b)
{
	const struct sp_stage_row *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	if (x->run_ns != y->run_ns)
		return x->run_ns > y->run_ns ? -1 : 1;
	return x->stage < y->stage ? -1 : x->stage > y->stage;
}

int sp_stage_table_init(struct sp_stage_table *s, const struct sp_profile *p, unsigned event,
	struct sp_areas *areas)
{
	SP_AUTO_FREE uint32_t *row_by_task = calloc(p->task_count + 1, sizeof(*row_by_task));
	struct sp_rounding round = sp_rounding_of(&p->events[event]);
	int r = row_by_task ? 0 : -ENOMEM;
	const char *name;

	*s = (struct sp_stage_table){.areas = areas};
	name = sp_profile_event_name(p, event);
	s->waiting = strcmp(name, "wall") == 0;
	s->timed = s->waiting || strcmp(name, "cpu") == 0;
	if (r == 0 && !areas) {
		r = sp_areas_new(&s->areas, NULL, NULL);
		s->own_areas = r == 0;
	}
	if (r == 0)
		r = count_tasks(s, p, row_by_task);
	if (r == 0)
		r = count_samples(s, p, event, row_by_task);
	if (r < 0)
		return r;
	for (size_t i = 0; i < s->count; i++)
		settle_median(&s->rows[i]);
	count_long(s, p, row_by_task);
	if (s->count)
		qsort(s->rows, s->count, sizeof(*s->rows), by_weight);
	for (size_t i = 0; i < s->count; i++)
		s->rows[i].samples = sp_round(&round, s->rows[i].samples, s->rows[i].weight);
	return 0;
}

void sp_stage_table_done(struct sp_stage_table *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->rows[i].lengths);
	free(s->rows);
	if (s->own_areas)
		sp_areas_free(s->areas);
}

/* How long the stage went on after its longest task: the first tasks of a cold JVM take long, and
 * nobody waits for them. */
static uint64_t left_after(const struct sp_stage_row *r)
{
	uint64_t end = r->max.begun_ns + r->max.ns;

	return r->max.begun_ns && !r->max.running && r->last_ns > end ? r->last_ns - end : 0;
}

bool sp_stage_table_lags(const struct sp_stage_row *r)
{
	uint64_t more = r->max.ns > r->median_ns ? r->max.ns - r->median_ns : 0;

	return r->finished >= 3 && r->median_ns && r->max.ns > 2 * r->median_ns && more >= LAG_NS &&
	       more >= (r->last_ns - r->first_ns) / 20 && left_after(r) <= r->median_ns;
}

/* Of tasks that took so long, and were seen for @own_ns, @launch_ns of it in launch and result. */
static uint64_t sampled_run_ns(uint32_t tasks, uint64_t took, uint64_t own, uint64_t launch)
{
	/* Ends of short tasks are seen late; what their threads did is more exact, where all of it
	 * is there. */
	bool short_ones = tasks && took / tasks < LONG_NS;
	bool whole = own > took / 5 * 4;

	if (!short_ones || !own || own >= took || launch > own)
		return took > launch ? took - launch : 0;
	/* else of what was seen of them the same share is launch as of the rest */
	return whole ? own - launch
		     : (uint64_t)((double)took * (double)(own - launch) / (double)own);
}

uint64_t sp_stage_table_run_ns(const struct sp_stage_row *r)
{
	return r->spark_run_ns + sampled_run_ns(r->tasks - r->spark_tasks,
					 r->run_ns - r->spark_took_ns, r->own_ns - r->spark_own_ns,
					 r->launch_ns - r->spark_launch_ns);
}

void sp_stage_table_work(const struct sp_stage_table *s, const struct sp_stage_row *r, unsigned max,
	struct sp_buf *out)
{
	const uint64_t *of = s->waiting ? r->spent : r->areas;
	bool named[SP_AREAS] = {false};
	unsigned n = s->waiting ? SP_TIME_CLASS_KINDS : sp_areas_count(s->areas);

	for (unsigned k = 0; k < max; k++) {
		unsigned best = n;

		for (unsigned i = 0; i < n; i++)
			if (!named[i] && of[i] && (best == n || of[i] > of[best]))
				best = i;
		if (best == n)
			return;
		named[best] = true;
		sp_buf_addf(out, "%s%s %.0f %%", k ? ", " : "",
			s->waiting ? sp_time_class_name(best) : sp_areas_get(s->areas, best)->name,
			sp_percent(of[best], r->weight));
	}
}
