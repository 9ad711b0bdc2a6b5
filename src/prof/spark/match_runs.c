/* Matching the stages of two runs: see match_runs.h. */
#include "prof/spark/match_runs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "prof/model/tasks.h"
#include "prof/spark/run_stages.h"

enum { FEW = 10 }; /* samples that say nothing */
enum { MOST_CANDIDATES = 1 << 20 };

/* Whether two stages may be partners by one of the rules. */
typedef bool rule_fn(const struct sp_run_stages s[SP_RUNS], const struct sp_run_row *a,
	const struct sp_run_row *b);

struct candidate {
	uint32_t of[SP_RUNS];
	double score;
};

static const char *text(const struct sp_run_stages *s, uint32_t id)
{
	return sp_dict_get_string(s->p->dict, id, NULL);
}

static bool same_text(const struct sp_run_stages s[SP_RUNS], uint32_t a, uint32_t b)
{
	return a && b && strcmp(text(&s[0], a), text(&s[1], b)) == 0;
}

static bool same_attempt(const struct sp_run_stages s[SP_RUNS], const struct sp_run_row *a,
	const struct sp_run_row *b)
{
	return a->stage == b->stage && a->attempt == b->attempt && same_text(s, a->app, b->app);
}

static bool same_operators(const struct sp_run_stages s[SP_RUNS], const struct sp_run_row *a,
	const struct sp_run_row *b)
{
	return a->about && b->about && same_text(s, a->about->operators, b->about->operators);
}

static bool same_plan(const struct sp_run_stages s[SP_RUNS], const struct sp_run_row *a,
	const struct sp_run_row *b)
{
	return same_operators(s, a, b) && strcmp(a->loose, b->loose) == 0 &&
	       same_text(s, a->about->plan, b->about->plan);
}

static bool same_shape(const struct sp_run_stages s[SP_RUNS], const struct sp_run_row *a,
	const struct sp_run_row *b)
{
	return same_operators(s, a, b) && strcmp(a->loose, b->loose) == 0;
}

static bool same_words(const struct sp_run_stages s[SP_RUNS], const struct sp_run_row *a,
	const struct sp_run_row *b)
{
	return a->title[0] && strcmp(a->title, b->title) == 0;
}

static bool same_loose_words(const struct sp_run_stages s[SP_RUNS], const struct sp_run_row *a,
	const struct sp_run_row *b)
{
	return a->loose[0] && strcmp(a->loose, b->loose) == 0;
}

static bool no_words(const struct sp_run_stages s[SP_RUNS], const struct sp_run_row *a,
	const struct sp_run_row *b)
{
	return !a->title[0] || !b->title[0];
}

/* In this order. A pair with samples less alike than @alike is none. */
static const struct {
	rule_fn *may;
	double alike;
} rules[] = {
	{same_attempt, -1},
	{same_plan, -1},
	{same_shape, -1},
	{same_words, 0.2},
	{same_loose_words, 0.3},
	{no_words, 0.55},
};

static double alike_samples(const struct sp_run_row *a, const struct sp_run_row *b)
{
	if (a->samples < FEW || b->samples < FEW)
		return 0.5;
	return sp_run_alike(a->did, b->did, SP_RUN_DIMS);
}

/* Words of sorted lists, "Exchange, Sort, Sort", that both have: 0 to 1. */
static double shared_words(const char *a, const char *b)
{
	double both = 0, all = 0;

	while (*a || *b) {
		size_t n = strcspn(a, ","), k = strcspn(b, ",");
		int order = strncmp(a, b, n < k ? n : k);

		order = order ? order : (n > k) - (n < k);
		order = !*a ? 1 : !*b ? -1 : order;
		both += order == 0;
		all++;
		a += order <= 0 ? n : 0;
		b += order >= 0 ? k : 0;
		a += strspn(a, order <= 0 ? ", " : "");
		b += strspn(b, order >= 0 ? ", " : "");
	}
	return all > 0 ? both / all : 0;
}

static double alike(const struct sp_run_stages s[SP_RUNS], const struct sp_run_row *a,
	const struct sp_run_row *b)
{
	double samples = alike_samples(a, b);

	if (!a->about || !b->about || !a->about->operators || !b->about->operators)
		return samples;
	return (samples + shared_words(text(&s[0], a->about->operators),
				  text(&s[1], b->about->operators))) /
	       2;
}

/* How much the numbers of tasks differ: 0 to 1, which is twice as many. */
static double other_tasks(const struct sp_run_row *a, const struct sp_run_row *b)
{
	return a->tasks && b->tasks ? fmin(fabs(log2((double)a->tasks / b->tasks)), 1) : 0;
}

/* What is about as alike is taken by the number of its tasks, and then in the order in which it
 * ran: two sides of a join begin as they come. */
static double score(double alike, const struct candidate *c, const struct sp_run_stages s[SP_RUNS])
{
	double place[SP_RUNS], is;

	for (unsigned i = 0; i < SP_RUNS; i++)
		place[i] = (double)c->of[i] / (double)s[i].count;
	is = round(alike * 8) / 8 - 0.05 * fabs(place[0] - place[1]) -
	     0.07 * other_tasks(&s[0].rows[c->of[0]], &s[1].rows[c->of[1]]);
	return round(is * 1e6); /* of equals the first one */
}

static int by_score(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	if (x->of[1] != y->of[1])
		return x->of[1] < y->of[1] ? -1 : 1;
	return x->of[0] < y->of[0] ? -1 : x->of[0] > y->of[0];
}

/* Those that a rule allows. Returns their number; *ret is owned. */
static ssize_t find_candidates(
	const struct sp_run_stages s[SP_RUNS], size_t rule, struct candidate **ret)
{
	SP_AUTO_FREE struct candidate *list = NULL;
	size_t n = 0;

	for (uint32_t i = 0; i < s[0].count; i++) {
		for (uint32_t k = 0; k < s[1].count && n < MOST_CANDIDATES; k++) {
			const struct sp_run_row *a = &s[0].rows[i], *b = &s[1].rows[k];
			struct candidate c = {.of = {i, k}};
			double is;

			if (a->partner || b->partner || !rules[rule].may(s, a, b))
				continue;
			is = alike(s, a, b);
			if (is < rules[rule].alike)
				continue;
			c.score = score(is, &c, s);
			if ((n & (n - 1)) == 0) {
				void *to = reallocarray(list, n ? n * 2 : 1, sizeof(*list));

				if (!to)
					return -ENOMEM;
				list = to;
			}
			list[n++] = c;
		}
	}
	*ret = sp_steal_ptr(list);
	return (ssize_t)n;
}

static int apply_rule(struct sp_run_stages s[SP_RUNS], size_t rule)
{
	SP_AUTO_FREE struct candidate *list = NULL;
	ssize_t n = find_candidates(s, rule, &list);

	if (n > 0)
		qsort(list, (size_t)n, sizeof(*list), by_score);
	for (ssize_t i = 0; i < n; i++) {
		struct sp_run_row *a = &s[0].rows[list[i].of[0]], *b = &s[1].rows[list[i].of[1]];

		if (a->partner || b->partner)
			continue;
		a->partner = list[i].of[1] + 1;
		b->partner = list[i].of[0] + 1;
	}
	return n < 0 ? (int)n : 0;
}

static int add_side(struct sp_stage_pair *pair, unsigned run, struct sp_run_stages *s,
	const struct sp_run_row *r)
{
	pair->of[run] = (struct sp_run_stage){.there = true,
		.app = r->app,
		.stage = r->stage,
		.attempt = r->attempt,
		.title = sp_run_title(s->p, r->about)};
	return pair->of[run].title ? 0 : -ENOMEM;
}

static int name_pair(struct sp_stage_pair *p)
{
	const struct sp_run_stage *b = &p->of[SP_RUN_BASE], *n = &p->of[SP_RUN_NEW];
	int r;

	if (!b->there || !n->there)
		r = asprintf(&p->label, "stage %d.%d (only %s)", b->there ? b->stage : n->stage,
			b->there ? b->attempt : n->attempt, b->there ? "base" : "new");
	else if (b->stage == n->stage && b->attempt == n->attempt)
		r = asprintf(&p->label, "stage %d.%d", n->stage, n->attempt);
	else
		r = asprintf(&p->label, "stage %d.%d → %d.%d", b->stage, b->attempt, n->stage,
			n->attempt);
	if (r < 0)
		p->label = NULL;
	return r < 0 ? -ENOMEM : 0;
}

static int list_pairs(struct sp_run_match *m, struct sp_run_stages s[SP_RUNS])
{
	int r = 0;

	m->pairs = calloc((size_t)s[0].count + s[1].count + 1, sizeof(*m->pairs));
	if (!m->pairs)
		return -ENOMEM;
	for (uint32_t i = 0; i < s[1].count && r == 0; i++) {
		struct sp_stage_pair *p = &m->pairs[m->count++];
		const struct sp_run_row *row = &s[1].rows[i];

		r = add_side(p, SP_RUN_NEW, &s[1], row);
		if (r == 0 && row->partner)
			r = add_side(p, SP_RUN_BASE, &s[0], &s[0].rows[row->partner - 1]);
	}
	for (uint32_t i = 0; i < s[0].count && r == 0; i++)
		if (!s[0].rows[i].partner)
			r = add_side(&m->pairs[m->count++], SP_RUN_BASE, &s[0], &s[0].rows[i]);
	for (size_t i = 0; i < m->count && r == 0; i++)
		r = name_pair(&m->pairs[i]);
	return r;
}

static int label_tasks(const struct sp_run_match *m, unsigned run, struct sp_profile *p)
{
	for (size_t i = 0; i < p->task_count; i++) {
		struct sp_task_run *t = &p->tasks[i];

		for (size_t k = 0; t->name.stage >= 0 && k < m->count; k++) {
			const struct sp_run_stage *s = &m->pairs[k].of[run];

			if (!s->there || s->stage != t->name.stage ||
				s->attempt != t->name.stage_attempt || s->app != t->app)
				continue;
			t->stage_label = sp_dict_string(
				p->dict, m->pairs[k].label, strlen(m->pairs[k].label));
			if (!t->stage_label)
				return -ENOMEM;
			break;
		}
	}
	return 0;
}

int sp_run_match_init(struct sp_run_match *m, struct sp_profile *base, struct sp_profile *new)
{
	struct sp_run_stages s[SP_RUNS] = {{0}};
	int r = sp_run_stages_init(&s[0], base);

	*m = (struct sp_run_match){0};
	if (r == 0)
		r = sp_run_stages_init(&s[1], new);
	for (size_t i = 0; i < SP_COUNT(rules) && r == 0; i++)
		r = apply_rule(s, i);
	if (r == 0)
		r = sp_run_rename_generated(&s[0], &s[1]);
	if (r == 0)
		r = list_pairs(m, s);
	if (r == 0)
		r = label_tasks(m, SP_RUN_BASE, base);
	if (r == 0)
		r = label_tasks(m, SP_RUN_NEW, new);
	sp_run_stages_done(&s[0]);
	sp_run_stages_done(&s[1]);
	return r;
}

void sp_run_match_done(struct sp_run_match *m)
{
	for (size_t i = 0; i < m->count; i++) {
		free((char *)m->pairs[i].of[0].title);
		free((char *)m->pairs[i].of[1].title);
		free(m->pairs[i].label);
	}
	free(m->pairs);
}

const struct sp_stage_pair *sp_run_match_find(
	const struct sp_run_match *m, unsigned run, int64_t stage, int64_t attempt)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct sp_run_stage *s = &m->pairs[i].of[run];

		if (s->there && s->stage == stage && (attempt < 0 || s->attempt == attempt))
			return &m->pairs[i];
	}
	return NULL;
}
