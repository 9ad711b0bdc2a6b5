/* A driver's phases in the text report, and the gaps in which no job ran. See text_internal.h. */
#include "out/text_internal.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "out/elide.h"
#include "out/number.h"
#include "out/phases.h"

#define INDENT	4
#define JOBS	5
#define QUERIES 8
#define AT	29   /* column of what was done in a gap */
#define LEAST	0.05 /* percent of the recording; phases below are summed */

static const char *time_or_dash(uint64_t ns, char n[SP_NUMBER_SIZE])
{
	return ns ? sp_duration_format(ns, n, SP_NUMBER_SIZE) : "-";
}

/* "  28.3 %      12.3 s           -  analysis" */
static void write_phase(const struct sp_text *t, uint64_t query, uint64_t beside, const char *name)
{
	char n[SP_NUMBER_SIZE], m[SP_NUMBER_SIZE];

	sp_sink_puts(t->sink, "  ");
	sp_text_percent(t, sp_percent(query, t->p->duration_ns));
	sp_sink_printf(t->sink, "  %10s  %10s  ", time_or_dash(query, n), time_or_dash(beside, m));
	sp_text_name(t, name, 35);
}

static void write_gap(const struct sp_text *t, const struct sp_gap *g)
{
	SP_AUTO_BUF struct sp_buf work = {0}, wrapped = {0};
	char n[SP_NUMBER_SIZE], m[SP_NUMBER_SIZE];

	sp_phases_list(g->work, 3, &work);
	sp_sink_printf(t->sink, "%*s%10s at %-10s ", INDENT, "",
		sp_duration_format(g->took_ns, n, sizeof(n)),
		g->from_ns ? sp_duration_format(g->from_ns, m, sizeof(m)) : "0 s");
	sp_elide_wrap(work.len ? sp_text_words(t, &work) : "no query was at work", AT, AT, t->width,
		&wrapped);
	sp_sink_printf(t->sink, "%s\n", sp_text_words(t, &wrapped));
}

static void write_gaps(const struct sp_text *t, const struct sp_phases *f)
{
	SP_AUTO_BUF struct sp_buf b = {0}, wrapped = {0};
	char n[SP_NUMBER_SIZE], m[SP_NUMBER_SIZE];

	if (!f->timed)
		return;
	if (!f->jobless_ns) {
		sp_sink_puts(t->sink, "  There was no time without a job.\n");
		return;
	}
	sp_buf_addf(&b, "No job ran for %s of %s%s",
		sp_duration_format(f->jobless_ns, n, sizeof(n)),
		sp_duration_format(f->covered_ns, m, sizeof(m)),
		f->gap_count ? "; the longest gaps, and what the driver did in them:" : ".");
	sp_elide_wrap(sp_text_words(t, &b), 2, 2, t->width, &wrapped);
	sp_sink_printf(t->sink, "  %s\n", sp_text_words(t, &wrapped));
	for (size_t i = 0; i < f->gap_count; i++)
		write_gap(t, &f->gaps[i]);
}

/* Which jobs were waited for. */
static void write_jobs(const struct sp_text *t, const struct sp_phases *f)
{
	SP_AUTO_BUF struct sp_buf b = {0}, wrapped = {0};
	char n[SP_NUMBER_SIZE];
	size_t jobs = 0;

	for (size_t i = 0; i < f->query_count; i++) {
		const struct sp_phase_query *q = &f->queries[i];

		if (!q->about->job || ++jobs > JOBS)
			continue;
		sp_buf_addf(&b, "%s%lld (%s)", jobs == 1 ? "Longest jobs: " : ", ",
			(long long)q->about->id, sp_duration_format(q->took_ns, n, sizeof(n)));
	}
	if (!jobs)
		return;
	if (jobs > JOBS)
		sp_buf_addf(&b, ", and %zu others", jobs - JOBS);
	sp_elide_wrap(sp_text_words(t, &b), 2, 2, t->width, &wrapped);
	sp_sink_printf(t->sink, "  %s\n", sp_text_words(t, &wrapped));
}

/* "    3.21 s  SQL 4   analysis 1.1 s, waiting for jobs 2 s; collect at x.py:12" */
static void write_query(const struct sp_text *t, const struct sp_phase_query *q)
{
	SP_AUTO_BUF struct sp_buf b = {0}, wrapped = {0};
	char n[SP_NUMBER_SIZE], id[32];

	snprintf(id, sizeof(id), "SQL %lld", (long long)q->about->id);
	sp_phases_list(q->work, 3, &b);
	if (q->about->name)
		sp_buf_addf(&b, "%s%s", b.len ? "; " : "", sp_text_string(t, q->about->name));
	sp_sink_printf(t->sink, "%*s%10s  %-11s  ", INDENT, "",
		sp_duration_format(q->took_ns, n, sizeof(n)), id);
	sp_elide_wrap(sp_text_words(t, &b), AT, AT, t->width, &wrapped);
	sp_sink_printf(t->sink, "%s\n", sp_text_words(t, &wrapped));
}

static void write_queries(const struct sp_text *t, const struct sp_phases *f)
{
	size_t shown = 0;

	for (size_t i = 0; i < f->query_count; i++) {
		if (f->queries[i].about->job || shown == QUERIES)
			continue;
		if (!shown++)
			sp_sink_puts(t->sink, "  The longest SQL executions, and what the driver "
					      "did meanwhile:\n");
		write_query(t, &f->queries[i]);
	}
}

int sp_text_phases(const struct sp_text *t, const struct sp_view *v)
{
	__attribute__((cleanup(sp_phases_done))) struct sp_phases f = {0};
	int r = sp_phases_init(&f, t->p, (unsigned)(v->event - t->p->events));
	SP_AUTO_BUF struct sp_buf name = {0};
	uint64_t query = 0, beside = 0;

	if (r < 0 || f.count == 0)
		return r;
	sp_text_heading(t, "What the driver worked on");
	sp_sink_puts(t->sink, "    share     queries      beside  phase\n");
	for (size_t i = 0; i < f.count; i++) {
		enum sp_driver_work k = f.order[i];
		uint64_t both = f.query[k] + f.beside[k];

		if (sp_percent(both, t->p->duration_ns) < LEAST) {
			query += f.query[k];
			beside += f.beside[k];
			continue;
		}
		sp_buf_clear(&name);
		sp_phases_name(&f, k, &name);
		write_phase(t, f.query[k], f.beside[k], sp_text_words(t, &name));
	}
	if (query + beside)
		write_phase(t, query, beside, "less than 0.05 % each");
	write_jobs(t, &f);
	write_gaps(t, &f);
	write_queries(t, &f);
	return 0;
}
