/* See stage_groups.h. */
#include "out/stage_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "prof/spark/loose_words.h"

/* What makes two stages the same work. */
struct key {
	uint32_t row;
	int32_t stage;
	const char
		*words;	  /* the id of a streaming query, or the stage's name; "": it stays alone */
	const char *site; /* where it was called: many calls may have one description */
	const char *plan; /* of its query, where nothing better is known of the call: "" else */
	bool streaming;
	int64_t run;	/* SQL execution or job in which it ran; the stage itself where neither is
			   known */
	uint32_t place; /* of equal ones in that run, from 0 on */
};

static struct key key_of(const struct sp_profile *p, const struct sp_stage_row *r, uint32_t row)
{
	const struct sp_stage *a = r->about;
	struct key k = {.row = row, .stage = r->stage, .words = sp_stage_table_name(p, r)};

	k.site = sp_stage_table_site(p, r);
	k.plan = "";
	if (a && sp_words_from_python(k.site))
		k.plan = sp_dict_get_string(p->dict, a->plan ? a->plan : a->pipelines, NULL);
	k.streaming = a && a->query;
	if (k.streaming)
		k.words = sp_dict_get_string(p->dict, a->query, NULL);
	/* executions, jobs and stages are numbered each for itself */
	k.run = (int64_t)r->stage * 4;
	if (a && a->sql >= 0)
		k.run = a->sql * 4 + 1;
	else if (a && a->job >= 0)
		k.run = a->job * 4 + 2;
	return k;
}

static int compare_number(int64_t x, int64_t y)
{
	return x < y ? -1 : x > y;
}

/* Calls from Python have the JDK's frames for sites, which change from the 16th call on. */
static int compare_site(const char *a, const char *b)
{
	const char *x = sp_words_from_python(a), *y = sp_words_from_python(b);
	size_t m = x ? (size_t)(x - a) : strlen(a), n = y ? (size_t)(y - b) : strlen(b);
	int c = strncmp(a, b, m < n ? m : n);

	return c ? c : m < n ? -1 : m > n;
}

/* Whether they are of one application, kind and name, and the same attempt. */
static int compare_words(const struct sp_stage_table *s, const struct key *x, const struct key *y)
{
	const struct sp_stage_row *a = &s->rows[x->row], *b = &s->rows[y->row];
	int c;

	if (x->streaming != y->streaming)
		return x->streaming ? -1 : 1;
	if (a->app != b->app)
		return a->app < b->app ? -1 : 1;
	if (a->attempt != b->attempt && !x->streaming)
		return a->attempt < b->attempt ? -1 : 1;
	if (x->streaming)
		return strcmp(x->words, y->words);
	c = compare_site(x->words, y->words);
	if (c == 0)
		c = compare_site(x->site, y->site);
	if (c != 0)
		return c;
	return strcmp(x->plan, y->plan);
}

static int by_run(const void *a, const void *b, void *stages)
{
	const struct key *x = a, *y = b;
	int c = compare_words(stages, x, y);

	if (c == 0)
		c = compare_number(x->run, y->run);
	return c ? c : compare_number(x->stage, y->stage);
}

static int by_group(const void *a, const void *b, void *stages)
{
	const struct key *x = a, *y = b;
	int c = compare_words(stages, x, y);

	if (c == 0)
		c = compare_number(x->place, y->place);
	return c ? c : compare_number(x->stage, y->stage);
}

/* Counts equal ones of a run; batches of a stream are all alike. */
static void place_keys(const struct sp_stage_table *s, struct key *keys, size_t count)
{
	qsort_r(keys, count, sizeof(*keys), by_run, (void *)s);
	for (size_t i = 1; i < count; i++) {
		struct key *k = &keys[i], *last = k - 1;

		if (!k->streaming && k->run == last->run && compare_words(s, k, last) == 0)
			k->place = last->place + 1;
	}
	qsort_r(keys, count, sizeof(*keys), by_group, (void *)s);
}

static bool together(const struct sp_stage_table *s, const struct key *x, const struct key *y)
{
	return x->words[0] && x->place == y->place && compare_words(s, x, y) == 0;
}

static void add_row(struct sp_stage_row *to, const struct sp_stage_row *r)
{
	to->tasks += r->tasks;
	to->run_ns += r->run_ns;
	to->launch_ns += r->launch_ns;
	to->own_ns += r->own_ns;
	to->cpu_ns += r->cpu_ns;
	to->launch_cpu_ns += r->launch_cpu_ns;
	to->spark_run_ns += r->spark_run_ns;
	to->spark_took_ns += r->spark_took_ns;
	to->spark_own_ns += r->spark_own_ns;
	to->spark_launch_ns += r->spark_launch_ns;
	to->spark_tasks += r->spark_tasks;
	to->core_ns += r->core_ns;
	to->gc_ns += r->gc_ns;
	to->fetch_ns += r->fetch_ns;
	to->write_ns += r->write_ns;
	to->samples += r->samples;
	to->weight += r->weight;
	for (size_t i = 0; i < SP_COUNT(to->areas); i++)
		to->areas[i] += r->areas[i];
	for (size_t i = 0; i < SP_COUNT(to->spent); i++)
		to->spent[i] += r->spent[i];
}

/* Whether a group is rather like @r than like @lead: rows are heaviest first. */
static bool leads(const struct sp_stage_table *s, uint32_t row, uint32_t lead)
{
	bool lags = sp_stage_table_lags(&s->rows[row]),
	     lead_lags = sp_stage_table_lags(&s->rows[lead]);

	return lags != lead_lags ? lags : row < lead;
}

static int fill_group(
	struct sp_stage_group *x, const struct sp_stage_table *s, const struct key *keys)
{
	uint32_t lead = keys[0].row;

	x->members = calloc(x->count, sizeof(*x->members));
	if (!x->members)
		return -ENOMEM;
	x->streaming = keys[0].streaming;
	for (uint32_t i = 0; i < x->count; i++) {
		x->members[i] = keys[i].row;
		lead = leads(s, keys[i].row, lead) ? keys[i].row : lead;
	}
	x->row = s->rows[lead];
	for (uint32_t i = 0; i < x->count; i++)
		if (keys[i].row != lead)
			add_row(&x->row, &s->rows[keys[i].row]);
	return 0;
}

static int by_weight(const void *a, const void *b)
{
	const struct sp_stage_row *x = &((const struct sp_stage_group *)a)->row;
	const struct sp_stage_row *y = &((const struct sp_stage_group *)b)->row;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	if (x->run_ns != y->run_ns)
		return x->run_ns > y->run_ns ? -1 : 1;
	return compare_number(x->stage, y->stage);
}

int sp_stage_groups_init(
	struct sp_stage_groups *g, const struct sp_stage_table *s, const struct sp_profile *p)
{
	SP_AUTO_FREE struct key *keys = calloc(s->count + 1, sizeof(*keys));
	int r = 0;

	*g = (struct sp_stage_groups){.stages = s};
	g->list = calloc(s->count + 1, sizeof(*g->list));
	if (!keys || !g->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->count; i++)
		keys[i] = key_of(p, &s->rows[i], i);
	place_keys(s, keys, s->count);
	for (size_t i = 0, n; i < s->count && r == 0; i += n) {
		for (n = 1; i + n < s->count && together(s, &keys[i], &keys[i + n]);)
			n++;
		g->list[g->count].count = (uint32_t)n;
		r = fill_group(&g->list[g->count++], s, &keys[i]);
	}
	if (g->count)
		qsort(g->list, g->count, sizeof(*g->list), by_weight);
	return r;
}

void sp_stage_groups_done(struct sp_stage_groups *g)
{
	for (size_t i = 0; i < g->count; i++)
		free(g->list[i].members);
	free(g->list);
}

/* Numbers of batches are text: Spark has them as a property. */
static void add_batches(const struct sp_stage_groups *g, const struct sp_stage_group *x,
	const struct sp_profile *p, struct sp_buf *out)
{
	long long least = -1, most = -1;

	for (uint32_t i = 0; i < x->count; i++) {
		const struct sp_stage *a = g->stages->rows[x->members[i]].about;
		long long n = a->batch ? atoll(sp_dict_get_string(p->dict, a->batch, NULL)) : -1;

		if (n < 0)
			continue;
		least = least < 0 || n < least ? n : least;
		most = n > most ? n : most;
	}
	if (most > least)
		sp_buf_addf(out, ", batches %lld to %lld", least, most);
	else if (most >= 0)
		sp_buf_addf(out, ", batch %lld", most);
}

void sp_stage_groups_title(const struct sp_stage_groups *g, const struct sp_stage_group *x,
	const struct sp_profile *p, bool numbers, struct sp_buf *out)
{
	const struct sp_stage_row *rows = g->stages->rows, *first = &rows[x->members[0]],
				  *last = &rows[x->members[x->count - 1]];

	if (x->count == 1) {
		sp_stage_table_title(p, first, out);
		return;
	}
	if (x->streaming) {
		sp_stage_table_query(p, first, out);
		add_batches(g, x, p, out);
	} else {
		sp_stage_table_group(p, first, out);
		sp_stage_table_words(p, first, out);
	}
	if (numbers)
		sp_buf_addf(out, " (stages %d.%d %s %d.%d)", first->stage, first->attempt,
			x->count > 2 ? "to" : "and", last->stage, last->attempt);
}
