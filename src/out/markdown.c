/* The report in Markdown, for tickets and for programs that read text: the findings, the stages,
 * operators, hot methods and the stacks as a tree, in at most 200 lines whatever the recording's
 * size. */
#include "out/out.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/safe_text.h"
#include "out/findings.h"
#include "out/hot_methods.h"
#include "out/number.h"
#include "out/phases.h"
#include "out/stage_groups.h"
#include "out/text_internal.h"

enum { STAGES = 25, METHODS = 15, EVENTS = 2, NOTES = 10, WORK = 4 };
enum { STAGES_BESIDE = 10 };		     /* of a driver, and of another event */
enum { PHASES = 12, GAPS = 3, QUERIES = 5 }; /* of a driver */
enum { WIDTH = 110 };			     /* columns of what is text */

#define LEAST 0.05 /* percent of the recording: phases below are not listed */

struct page {
	const struct sp_profile *p;
	const struct sp_out_opts *o;
	struct sp_sink *sink;
};

/* A name as code, which Markdown leaves alone; what would end it becomes an apostrophe. */
static void put_code(const struct page *g, const char *name)
{
	SP_AUTO_BUF struct sp_buf b = {0};

	sp_safe_people(name, strlen(name), &b);
	for (size_t i = 0; i < b.len; i++)
		if (b.data[i] == '`' || b.data[i] == '|')
			b.data[i] = '\'';
	sp_sink_printf(g->sink, "`%s`", sp_buf_str(&b));
}

/* Words of the target: nothing in them is markup. */
static void put_words(const struct page *g, const char *words)
{
	SP_AUTO_BUF struct sp_buf b = {0};

	sp_safe_people(words, strlen(words), &b);
	for (size_t i = 0; i < b.len; i++) {
		if (strchr("\\`*_[]<>|#&", b.data[i]))
			sp_sink_puts(g->sink, "\\");
		sp_sink_write(g->sink, &b.data[i], 1);
	}
	if (b.failed && g->sink->error == 0)
		g->sink->error = -ENOMEM;
}

static const char *string(const struct page *g, uint32_t id)
{
	return sp_dict_get_string(g->p->dict, id, NULL);
}

static void put_head(const struct page *g)
{
	SP_AUTO_BUF struct sp_buf b = {0};
	char n[SP_NUMBER_SIZE];

	sp_sink_puts(g->sink, "# ");
	put_words(g, g->p->title_id    ? string(g, g->p->title_id)
		     : g->p->target_id ? string(g, g->p->target_id)
				       : "sparkprof");
	sp_out_summary(g->p, &b);
	sp_sink_printf(g->sink, "\n\n%s", sp_buf_str(&b));
	if (g->p->duration_ns)
		sp_sink_printf(
			g->sink, " in %s", sp_duration_format(g->p->duration_ns, n, sizeof(n)));
	sp_sink_puts(g->sink, ".\n");
}

static int put_findings(const struct page *g)
{
	__attribute__((cleanup(sp_findings_done))) struct sp_findings f = {0};
	int r = sp_findings_init(&f, g->p, g->o->view.areas);

	if (r < 0 || (!g->p->task_count && !sp_phases_is_driver(g->p)))
		return r;
	sp_sink_puts(g->sink, "\n## What stands out\n\n");
	for (unsigned i = 0; i < f.count; i++) {
		struct sp_finding *x = &f.list[i];

		sp_sink_printf(g->sink, "%u. **", i + 1);
		put_words(g, sp_buf_str(&x->says));
		sp_sink_printf(g->sink, ".** Try: %s.", x->advice);
		if (x->next.len)
			sp_sink_printf(g->sink, " See `sparkprof %s`.", sp_buf_str(&x->next));
		sp_sink_puts(g->sink, "\n");
	}
	if (f.count == 0)
		sp_sink_puts(g->sink, "Nothing: no rule applies to this recording.\n");
	return 0;
}

static void put_stage(const struct page *g, const struct sp_stage_groups *groups,
	const struct sp_stage_group *x, uint64_t all)
{
	const struct sp_stage_row *r = &x->row;
	SP_AUTO_BUF struct sp_buf title = {0}, work = {0};
	char n[SP_NUMBER_SIZE];

	sp_stage_groups_title(groups, x, g->p, true, &title);
	sp_stage_table_work(groups->stages, r, WORK, &work);
	if (x->count > 1)
		sp_sink_printf(g->sink, "| ×%u", x->count);
	else
		sp_sink_printf(g->sink, "| %d.%d", r->stage, r->attempt);
	sp_sink_printf(g->sink, " | %.1f %% | %u | %s | ", sp_percent(r->weight, all), r->tasks,
		r->run_ns ? sp_duration_format(sp_stage_table_run_ns(r), n, sizeof(n)) : "–");
	put_words(g, sp_buf_str(&title));
	sp_sink_printf(g->sink, " | %s", sp_buf_str(&work));
	if (sp_stage_table_lags(r))
		sp_sink_printf(g->sink, "; TID %lld %s %s%s", (long long)r->max_task,
			r->max.running ? "runs since" : "took", r->max.least ? "≥ " : "",
			sp_duration_format(r->max.ns, n, sizeof(n)));
	sp_sink_puts(g->sink, " |\n");
}

static int put_stages(const struct page *g, const struct sp_view *v, size_t most)
{
	__attribute__((cleanup(sp_stage_table_done))) struct sp_stage_table s = {0};
	__attribute__((cleanup(sp_stage_groups_done))) struct sp_stage_groups groups = {0};
	int r = sp_stage_table_init(
		&s, g->p, (unsigned)(v->event - g->p->events), g->o->view.areas);
	size_t others = 0;

	if (r < 0 || s.count == 0)
		return r;
	r = sp_stage_groups_init(&groups, &s, g->p);
	if (r < 0)
		return r;
	sp_sink_puts(g->sink, "\n| stage | share | tasks | run time | name | work |\n"
			      "|---|---:|---:|---:|---|---|\n");
	for (size_t i = 0; i < groups.count; i++) {
		if (i < most)
			put_stage(g, &groups, &groups.list[i], v->weight);
		else
			others += groups.list[i].count;
	}
	if (others)
		sp_sink_printf(g->sink, "\n%zu other stage%s.\n", others, others == 1 ? "" : "s");
	return 0;
}

static void put_phase(const struct page *g, const struct sp_phases *f, enum sp_driver_work k)
{
	SP_AUTO_BUF struct sp_buf name = {0};
	char n[SP_NUMBER_SIZE], m[SP_NUMBER_SIZE];

	if (sp_percent(f->query[k] + f->beside[k], g->p->duration_ns) < LEAST)
		return;
	sp_phases_name(f, k, &name);
	sp_sink_printf(g->sink, "| %s | %.1f %% | %s | %s |\n", sp_buf_str(&name),
		sp_percent(f->query[k], g->p->duration_ns),
		f->query[k] ? sp_duration_format(f->query[k], n, sizeof(n)) : "–",
		f->beside[k] ? sp_duration_format(f->beside[k], m, sizeof(m)) : "–");
}

static void put_gaps(const struct page *g, const struct sp_phases *f)
{
	char n[SP_NUMBER_SIZE], m[SP_NUMBER_SIZE];

	if (!f->timed)
		return;
	sp_sink_printf(g->sink, "\nNo job ran for %s of %s.\n",
		f->jobless_ns ? sp_duration_format(f->jobless_ns, n, sizeof(n)) : "0 s",
		sp_duration_format(f->covered_ns, m, sizeof(m)));
	for (size_t i = 0; i < f->gap_count && i < GAPS; i++) {
		SP_AUTO_BUF struct sp_buf work = {0};
		const struct sp_gap *x = &f->gaps[i];

		sp_phases_list(x->work, 3, &work);
		sp_sink_printf(g->sink, "%s- %s at %s: %s\n", i ? "" : "\n",
			sp_duration_format(x->took_ns, n, sizeof(n)),
			x->from_ns ? sp_duration_format(x->from_ns, m, sizeof(m)) : "0 s",
			work.len ? sp_buf_str(&work) : "no query was at work");
	}
}

static void put_queries(const struct page *g, const struct sp_phases *f)
{
	char n[SP_NUMBER_SIZE];
	unsigned shown = 0;

	for (size_t i = 0; i < f->query_count && shown < QUERIES; i++) {
		SP_AUTO_BUF struct sp_buf work = {0};
		const struct sp_phase_query *q = &f->queries[i];

		if (q->about->job)
			continue;
		if (!shown++)
			sp_sink_puts(g->sink, "\n| SQL | took | name | the driver meanwhile |\n"
					      "|---:|---:|---|---|\n");
		sp_phases_list(q->work, 3, &work);
		sp_sink_printf(g->sink, "| %lld | %s | ", (long long)q->about->id,
			sp_duration_format(q->took_ns, n, sizeof(n)));
		put_words(g, string(g, q->about->name));
		sp_sink_printf(g->sink, " | %s |\n", sp_buf_str(&work));
	}
}

/* What a driver worked on, as in the text. */
static int put_phases(const struct page *g, const struct sp_view *v)
{
	__attribute__((cleanup(sp_phases_done))) struct sp_phases f = {0};
	int r = sp_phases_init(&f, g->p, (unsigned)(v->event - g->p->events));

	if (r < 0 || f.count == 0)
		return r;
	sp_sink_puts(g->sink, "\n| the driver's phase | share | queries | beside |\n"
			      "|---|---:|---:|---:|\n");
	for (size_t i = 0; i < f.count && i < PHASES; i++)
		put_phase(g, &f, f.order[i]);
	put_gaps(g, &f);
	put_queries(g, &f);
	return 0;
}

static void put_methods(
	const struct page *g, const struct sp_view *v, const struct sp_hot_methods *hot)
{
	sp_sink_puts(g->sink, "\n| self | total | method |\n|---:|---:|---|\n");
	for (size_t i = 0; i < hot->count && i < METHODS && hot->methods[i].self; i++) {
		const struct sp_hot_method *m = &hot->methods[i];

		sp_sink_printf(g->sink, "| %.1f %% | %.1f %% | ", sp_percent(m->self, v->weight),
			sp_percent(m->total, v->weight));
		put_code(g, m->name);
		sp_sink_puts(g->sink, " |\n");
	}
}

/* A part of the text report as it is. Nothing in a block of code is markup. */
static int put_block(const struct page *g, const struct sp_view *v,
	int (*part)(const struct sp_text *t, const struct sp_view *v))
{
	struct sp_out_opts o = *g->o;
	struct sp_sink text;
	struct sp_text t = {g->p, &o, &text, WIDTH};
	int r;

	o.colour = false;
	o.utf8 = true;
	sp_sink_init(&text, -1);
	r = part(&t, v);
	if (r == 0 && text.error == 0 && text.buf.len) {
		for (size_t i = 0; i < text.buf.len; i++)
			if (text.buf.data[i] == '`')
				text.buf.data[i] = '\'';
		sp_sink_printf(g->sink, "\n```\n%s```\n",
			sp_buf_str(&text.buf) + (text.buf.data[0] == '\n'));
	}
	r = r < 0 ? r : text.error;
	sp_sink_done(&text);
	return r;
}

static int put_view(const struct page *g, const struct sp_view *v, bool first)
{
	__attribute__((cleanup(sp_hot_methods_done))) struct sp_hot_methods hot = {0};
	int r = sp_hot_methods_init(&hot, v, 0);
	char n[SP_NUMBER_SIZE];

	if (r < 0)
		return r;
	sp_sink_puts(g->sink, "\n## ");
	put_words(g, string(g, v->event->name_id));
	sp_sink_printf(g->sink, ": %s samples", sp_number(v->samples, n));
	sp_sink_printf(g->sink, ", %s\n", sp_number_unit(v->weight, v->event->unit, n));
	r = first ? put_phases(g, v) : 0;
	if (r == 0 && g->p->task_count)
		r = put_stages(g, v, first && !sp_phases_is_driver(g->p) ? STAGES : STAGES_BESIDE);
	put_methods(g, v, &hot);
	if (r == 0 && first)
		r = put_block(g, v, sp_text_operators);
	if (r == 0 && first)
		r = put_block(g, v, sp_text_lines);
	return r == 0 && first ? put_block(g, v, sp_text_tree) : r;
}

static int put_event(const struct page *g, const char *event, bool first)
{
	struct sp_view_opts o = g->o->view;
	struct sp_view *v;
	int r;

	o.event = event;
	o.style.dotted = true;
	r = sp_view_new(g->p, &o, &v);
	if (r < 0)
		return r;
	if (v->event && v->weight)
		r = put_view(g, v, first);
	sp_view_free(v);
	return r;
}

static void put_notes(const struct page *g)
{
	if (g->p->note_count)
		sp_sink_puts(g->sink, "\n## Notes\n\n");
	for (unsigned i = 0; i < g->p->note_count && i < NOTES; i++) {
		sp_sink_puts(g->sink, "- ");
		put_words(g, string(g, g->p->notes[i].text_id));
		sp_sink_puts(g->sink, "\n");
	}
}

int sp_out_markdown(
	const struct sp_profile *p, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	struct page g = {p, opts, sink};
	unsigned shown = 0;
	int r;

	put_head(&g);
	r = put_findings(&g);
	if (r == 0 && opts->view.event)
		r = put_event(&g, opts->view.event, true);
	for (unsigned i = 0; r == 0 && !opts->view.event && i < p->event_count && shown < EVENTS;
		i++)
		if (p->events[i].samples)
			r = put_event(&g, sp_profile_event_name(p, i), shown++ == 0);
	put_notes(&g);
	return r;
}
