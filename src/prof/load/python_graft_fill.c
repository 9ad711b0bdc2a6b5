/* A task's wall time is one: while its thread in the JVM waits for Python, what the worker did at
 * that time takes the place of the wait (python_graft.h). Both lie in buckets of time; in each the
 * wait is filled with those who worked first, then with those who were blocked. Where in its first
 * and last bucket a row lies is not known, and of an hour a bucket is two seconds: so what is left
 * of a wait is filled with what is left of work at any time of it. What a worker did while the
 * task's own thread did something else is left out. */
#include "prof/load/python_graft.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "prof/model/tasks.h"
#include "prof/spark/time_class.h"

enum part { WAIT, WORKS, BLOCKED, PARTS, NONE = PARTS };

struct piece {
	int64_t task_id;
	size_t row;
	enum part part;
};

struct fill {
	struct sp_profile *p;
	struct sp_time_class_of *spent;
	struct piece *pieces; /* owned */
	size_t count;
	uint32_t buckets;
	double *sums; /* owned: PARTS columns of buckets: weights, then the share that stays */
	double *left; /* borrowed: as many behind them: of that, what is not matched yet */
};

static bool is_python(const struct sp_profile *p, uint32_t stack)
{
	const struct sp_stack *s = sp_dict_get_stack(p->dict, stack);

	for (uint32_t i = 0; s && i < s->count; i++)
		if (s->frames[i].type == SP_FRAME_PYTHON)
			return true;
	return false;
}

static enum part part_of(struct fill *f, const struct sp_sample *s)
{
	const char *state = sp_dict_get_string(f->p->dict, s->state, NULL);

	if (!f->p->tasks[s->task - 1].helper)
		return sp_time_class_of_row(f->spent, s) == SP_TIME_CLASS_PYTHON ? WAIT : NONE;
	return !state[0] || strcmp(state, "running") == 0 || strcmp(state, "runnable") == 0
		       ? WORKS
		       : BLOCKED;
}

static int by_task(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->task_id < y->task_id ? -1 : x->task_id > y->task_id;
}

/* The rows of wall that are of a task, by task. Returns whether one is of Python. */
static bool collect(struct fill *f, uint32_t wall)
{
	struct sp_profile *p = f->p;
	bool python = false;

	for (size_t i = 0; i < p->row_count; i++) {
		const struct sp_sample *s = &p->rows[i];
		enum part part;

		if (s->event != wall || !s->task || p->tasks[s->task - 1].name.task_id < 0)
			continue;
		f->buckets =
			s->bucket + s->span >= f->buckets ? s->bucket + s->span + 1 : f->buckets;
		part = part_of(f, s);
		python = python || (part != WAIT && part != NONE && is_python(p, s->stack));
		if (part != NONE)
			f->pieces[f->count++] =
				(struct piece){p->tasks[s->task - 1].name.task_id, i, part};
	}
	qsort(f->pieces, f->count, sizeof(*f->pieces), by_task);
	return python;
}

static double *column(const struct fill *f, enum part part)
{
	return f->sums + (size_t)part * f->buckets;
}

static double *left(const struct fill *f, enum part part)
{
	return f->left + (size_t)part * f->buckets;
}

/* How much of a row lies in its @at-th bucket: those between the first and the last it covers. */
static double weight_in(const struct fill *f, const struct sp_sample *s, uint32_t at)
{
	double weight = (double)s->weight, inner, bucket = (double)f->p->bucket_ns;

	if (s->span < 2 || weight >= bucket * (s->span + 1.0))
		return weight / (s->span + 1.0);
	inner = weight / (s->span - 1.0);
	inner = inner < bucket ? inner : bucket;
	return at && at < s->span ? inner : (weight - inner * (s->span - 1.0)) / 2;
}

static void add_piece(struct fill *f, const struct piece *x)
{
	const struct sp_sample *s = &f->p->rows[x->row];
	double *to = column(f, x->part);

	for (uint32_t i = 0; i <= s->span; i++)
		to[s->bucket + i] += weight_in(f, s, i);
}

/* Fills what is left of the wait in buckets @from to @to with what is left of @part there, and at
 * most a bucket before and behind: each loses in proportion. */
static void match(struct fill *f, enum part part, uint32_t from, uint32_t to)
{
	double *wait = left(f, WAIT), *of = left(f, part), waited = 0, did = 0, n;
	uint32_t first = from ? from - 1 : 0, last = to + 1 < f->buckets ? to + 1 : to;

	if (from == to) /* of a bucket alone it is known */
		first = last = from;
	for (uint32_t b = from; b <= to; b++)
		waited += wait[b];
	for (uint32_t b = first; b <= last; b++)
		did += of[b];
	n = waited < did ? waited : did;
	for (uint32_t b = from; b <= to && n > 0; b++)
		wait[b] -= wait[b] * n / waited;
	for (uint32_t b = first; b <= last && n > 0; b++)
		of[b] -= of[b] * n / did;
}

/* Stretches in which the JVM waits, however little. */
static void match_stretches(struct fill *f)
{
	const double *wait = column(f, WAIT);

	for (uint32_t b = 0, end; b < f->buckets; b = end + 1) {
		for (end = b; end < f->buckets && wait[end] > 0;)
			end++;
		if (end == b)
			continue;
		match(f, WORKS, b, end - 1);
		match(f, BLOCKED, b, end - 1);
	}
}

/* From weights to the shares that stay. */
static void divide(struct fill *f)
{
	memcpy(f->left, f->sums, sizeof(*f->sums) * PARTS * f->buckets);
	for (uint32_t b = 0; b < f->buckets; b++) {
		match(f, WORKS, b, b);
		match(f, BLOCKED, b, b);
	}
	match_stretches(f);
	for (unsigned part = 0; part < PARTS; part++) {
		double *sum = column(f, part);

		for (uint32_t b = 0; b < f->buckets; b++) {
			double rest = left(f, part)[b];

			sum[b] = sum[b] > 0 ? (part == WAIT ? rest : sum[b] - rest) / sum[b] : 0;
		}
	}
}

static void scale(struct fill *f, const struct piece *x)
{
	struct sp_sample *s = &f->p->rows[x->row];
	struct sp_task_run *t = &f->p->tasks[s->task - 1];
	const double *share = column(f, x->part);
	double stays = 0;

	for (uint32_t i = 0; i <= s->span; i++)
		stays += share[s->bucket + i] * weight_in(f, s, i);
	t->fills = t->helper;
	s->count = s->weight ? (uint64_t)((double)s->count * stays / (double)s->weight + 0.5) : 0;
	s->weight = (uint64_t)(stays + 0.5);
	if (s->weight && !s->count)
		s->count = 1;
}

/* Of one task after the other: only those that have a worker of Python. */
static void fill_tasks(struct fill *f)
{
	for (size_t i = 0, end; i < f->count; i = end) {
		bool python = false;

		memset(f->sums, 0, sizeof(*f->sums) * PARTS * f->buckets);
		for (end = i; end < f->count && f->pieces[end].task_id == f->pieces[i].task_id;
			end++) {
			add_piece(f, &f->pieces[end]);
			python = python ||
				 (f->pieces[end].part != WAIT &&
					 is_python(f->p, f->p->rows[f->pieces[end].row].stack));
		}
		if (!python)
			continue;
		divide(f);
		for (size_t k = i; k < end; k++)
			scale(f, &f->pieces[k]);
	}
}

/* Counts all anew, without what has nothing left. */
static int add_again(struct sp_profile *p, uint32_t wall)
{
	size_t n = p->row_count;
	int r = 0;

	sp_profile_restart(p);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct sp_sample s = p->rows[i]; /* those read are behind us */

		if (s.weight || s.event != wall)
			r = sp_profile_add(p, &s);
	}
	return r;
}

static void forget_time(void *ctx, struct sp_sample *row)
{
	(void)ctx;
	row->bucket = row->span = 0;
}

static void forget_times(struct sp_profile *p)
{
	sp_profile_rekey(p, forget_time, NULL);
	p->origin_ns = p->bucket_ns = 0;
}

static int fill(struct sp_profile *p)
{
	int32_t wall = sp_profile_wall(p);
	SP_AUTO_FREE struct piece *pieces = calloc(p->row_count + 1, sizeof(*pieces));
	SP_AUTO_TIME_CLASS struct sp_time_class_of *spent = NULL;
	SP_AUTO_FREE double *sums = NULL;
	struct fill f = {.p = p, .pieces = pieces};

	if (wall < 0)
		return 0;
	if (!pieces || sp_time_class_new(&spent, p) < 0)
		return -ENOMEM;
	f.spent = spent;
	if (!collect(&f, (uint32_t)wall))
		return 0;
	f.sums = sums = calloc((size_t)f.buckets * PARTS, 2 * sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	f.left = sums + (size_t)f.buckets * PARTS;
	fill_tasks(&f);
	return add_again(p, (uint32_t)wall);
}

int sp_python_graft_fill(struct sp_profile *p, bool keep_times)
{
	int r = fill(p);

	if (!keep_times && p->bucket_ns)
		forget_times(p);
	return r;
}
