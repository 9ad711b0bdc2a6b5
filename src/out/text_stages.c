/* Stages in the text report: one line each where it is wide enough, with what the stage is called
 * and what it did; two in a narrow one. See text_internal.h. */
#include "out/text_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/elide.h"
#include "out/number.h"
#include "out/stage_groups.h"

#define STAGES 20
#define BEFORE 38 /* columns before a stage's name */
#define AREAS  4
#define WIDE   60 /* columns from which on name and work share a line, cut if need be */

/* How the columns are cut. */
struct layout {
	size_t room;	/* columns behind BEFORE */
	size_t name;	/* of the names */
	bool two_lines; /* work below the name */
};

static size_t columns(struct sp_buf *b)
{
	return sp_elide_columns(b->data ? b->data : "", b->len);
}

/* Shorter where it does not fit into @room columns: the number of the task must not be cut. */
static void add_lag(const struct sp_stage_row *r, size_t room, struct sp_buf *b)
{
	double times = (double)r->max.ns / (double)(r->median_ns ? r->median_ns : 1);
	const char *least = r->max.least ? "≥ " : "";
	char n[SP_NUMBER_SIZE], of[SP_NUMBER_SIZE];

	if (!sp_stage_table_lags(r))
		return;
	sp_duration_format(r->max.ns, n, sizeof(n));
	sp_buf_addf(b, "TID %lld %s %s%s, %s%.1f times the median", (long long)r->max_task,
		r->max.running ? "runs since" : "took", least, n, least, times);
	if (r->max.least)
		sp_buf_addf(b, " of %s finished", sp_number(r->finished, of));
	if (columns(b) <= room)
		return;
	sp_buf_clear(b);
	sp_buf_addf(b, "TID %lld%s: %s%s, %s%.1f x median", (long long)r->max_task,
		r->max.running ? " runs" : "", least, n, least, times);
}

/* How many have a line: the heaviest, and none without a sample unless all are. */
static size_t shown(const struct sp_stage_groups *g)
{
	size_t most = g->count < STAGES ? g->count : STAGES, n = 0;

	while (n < most && g->list[n].row.weight)
		n++;
	return n ? n : most;
}

static struct layout lay_out(const struct sp_text *t, const struct sp_stage_groups *g, size_t rows)
{
	struct layout l = {.room = t->width - BEFORE};
	size_t name = 4, work = 4;

	for (size_t i = 0; i < rows; i++) {
		SP_AUTO_BUF struct sp_buf a = {0}, b = {0};

		sp_stage_groups_title(g, &g->list[i], t->p, true, &a);
		sp_stage_table_work(g->stages, &g->list[i].row, AREAS, &b);
		name = columns(&a) > name ? columns(&a) : name;
		work = columns(&b) > work ? columns(&b) : work;
	}
	l.two_lines = name + 2 + work > l.room && l.room < WIDE;
	l.name = l.two_lines ? l.room : name + 2 + work <= l.room ? name : l.room / 2;
	l.name = l.name > name && !l.two_lines ? name : l.name;
	return l;
}

/* As many areas as fit into @room columns, one at least. */
static void add_work(
	const struct sp_stage_table *s, const struct sp_stage_row *r, size_t room, struct sp_buf *b)
{
	for (unsigned n = AREAS; n > 0; n--) {
		sp_buf_clear(b);
		sp_stage_table_work(s, r, n, b);
		if (columns(b) <= room)
			return;
	}
}

/* With the numbers of a group's stages where they fit into @room columns. */
static void add_title(const struct sp_text *t, const struct sp_stage_groups *g,
	const struct sp_stage_group *x, size_t room, struct sp_buf *b)
{
	sp_stage_groups_title(g, x, t->p, true, b);
	if (x->count < 2 || columns(b) <= room)
		return;
	sp_buf_clear(b);
	sp_stage_groups_title(g, x, t->p, false, b);
}

/* A line of its own below the name. */
static void write_below(const struct sp_text *t, struct sp_buf *b)
{
	if (!b->len)
		return;
	sp_sink_printf(t->sink, "%*s", BEFORE, "");
	sp_text_name(t, sp_text_words(t, b), BEFORE);
}

/* "  38.8 %      6     3.14 s  9.0    SQL 4: the words of the test  your code 23 %, Spark 14 %";
 * of a group "x10" instead of the stage's number. */
static void write_stage(const struct sp_text *t, const struct sp_view *v,
	const struct sp_stage_groups *g, const struct sp_stage_group *x, const struct layout *l)
{
	const struct sp_stage_row *r = &x->row;
	SP_AUTO_BUF struct sp_buf name = {0}, fit = {0}, work = {0}, lag = {0};
	size_t room = l->two_lines ? l->room : l->room - l->name - 2;
	char n[SP_NUMBER_SIZE], id[32];
	bool joined;

	add_title(t, g, x, l->name, &name);
	add_work(g->stages, r, room, &work);
	add_lag(r, l->room, &lag);
	sp_elide_middle(sp_text_words(t, &name), l->name, &fit);
	if (x->count > 1)
		snprintf(id, sizeof(id), "x%u", x->count);
	else
		snprintf(id, sizeof(id), "%d.%d", r->stage, r->attempt);
	sp_sink_puts(t->sink, "  ");
	sp_text_percent(t, sp_percent(r->weight, v->weight));
	sp_sink_printf(t->sink, "  %5u  %10s  %-6s  ", r->tasks,
		r->run_ns ? sp_duration_format(sp_stage_table_run_ns(r), n, sizeof(n)) : "-", id);
	sp_sink_puts(t->sink, sp_text_words(t, &fit));
	/* who lagged goes on where there is room */
	joined = lag.len && columns(&work) + 2 + columns(&lag) <= room;
	if (joined)
		sp_buf_addf(&work, "; %s", sp_buf_str(&lag));
	if (l->two_lines) {
		sp_sink_puts(t->sink, "\n");
		write_below(t, &work);
	} else {
		sp_sink_printf(t->sink, "%*s%s\n",
			work.len ? (int)(l->name - columns(&fit)) + 2 : 0, "",
			sp_text_words(t, &work));
	}
	if (!joined)
		write_below(t, &lag);
}

static void write_table(
	const struct sp_text *t, const struct sp_view *v, const struct sp_stage_groups *g)
{
	size_t rows = shown(g), others = 0;
	struct layout l = lay_out(t, g, rows);
	char title[64], n[SP_NUMBER_SIZE];

	snprintf(title, sizeof(title), "Stages (%s)", sp_number(g->stages->count, n));
	sp_text_heading(t, title);
	sp_sink_printf(t->sink, "    share  tasks    run time  stage   %s%*swork\n",
		l.two_lines ? "name, " : "name", l.two_lines ? 0 : (int)l.name - 2, "");
	for (size_t i = 0; i < g->count; i++) {
		if (i < rows)
			write_stage(t, v, g, &g->list[i], &l);
		else
			others += g->list[i].count;
	}
	if (others)
		sp_sink_printf(t->sink, "%*s%s other%s%s\n", BEFORE, "", sp_number(others, n),
			others == 1 ? "" : "s", rows < STAGES ? " without samples" : "");
}

int sp_text_stages(const struct sp_text *t, const struct sp_view *v)
{
	__attribute__((cleanup(sp_stage_table_done))) struct sp_stage_table s = {0};
	__attribute__((cleanup(sp_stage_groups_done))) struct sp_stage_groups g = {0};
	int r;

	if (t->p->task_count == 0)
		return 0;
	r = sp_stage_table_init(&s, t->p, (unsigned)(v->event - t->p->events), t->o->view.areas);
	if (r < 0 || s.count == 0)
		return r;
	r = sp_stage_groups_init(&g, &s, t->p);
	if (r == 0)
		write_table(t, v, &g);
	return r;
}
