/* The summary that fits a terminal: what was sampled and how well, then states, threads, hot
 * methods and hot stacks of each event. Percentages are of weight (time, bytes), not of samples. */
#include "out/out.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/fit.h"
#include "out/hot.h"
#include "out/number.h"
#include "out/stages.h"

#define LABEL	  11 /* columns of "Truncated  " */
#define BAR	  10
#define THREADS	  10
#define STAGES	  20
#define WORK	  40 /* columns before the work of a stage */
#define MIN_WIDTH 50

struct text {
	const struct sp_profile *p;
	const struct sp_out_opts *o;
	struct sp_sink *sink;
	size_t width;
};

static const char *string(const struct text *t, uint32_t id)
{
	return sp_dict_get_string(t->p->dict, id, NULL);
}

/* The words in @b. Where memory ran out the report fails, rather than lack them. */
static const char *words(const struct text *t, struct sp_buf *b)
{
	const char *s = sp_buf_str(b);

	if (b->failed && t->sink->error == 0)
		t->sink->error = -ENOMEM;
	return s;
}

static void paint(const struct text *t, const char *code, const char *s)
{
	if (t->o->colour)
		sp_sink_printf(t->sink, "\033[%sm%s\033[0m", code, s);
	else
		sp_sink_puts(t->sink, s);
}

static void heading(const struct text *t, const char *s)
{
	sp_sink_puts(t->sink, "\n");
	paint(t, "1", s);
	sp_sink_puts(t->sink, "\n");
}

/* "Label      words that are broken to fit" */
static void labelled(const struct text *t, const char *label, const char *text)
{
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	sp_fit_wrap(text, LABEL, LABEL, t->width, &b);
	sp_sink_printf(t->sink, "%-*s%s\n", LABEL, label, words(t, &b));
}

/* "12.3 %" in seven columns, painted by how hot it is. */
static void percent(const struct text *t, double p)
{
	char s[16];

	snprintf(s, sizeof(s), "%5.1f %%", p);
	if (p >= 5)
		paint(t, p >= 20 ? "31" : "33", s);
	else
		sp_sink_puts(t->sink, s);
}

static void bar(const struct text *t, double p)
{
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	unsigned n = (unsigned)(p / 100 * BAR * 8 + 0.5), full = n / 8, columns = full;

	if (full > BAR)
		full = columns = BAR;
	for (unsigned i = 0; i < full; i++)
		sp_sink_puts(t->sink, t->o->utf8 ? "█" : "#");
	if (t->o->utf8 && full < BAR && n % 8) {
		sp_sink_puts(t->sink, eighths[n % 8]);
		columns++;
	}
	sp_sink_printf(t->sink, "%*s", (int)(BAR - columns), "");
}

/* A name in what is left of the line behind @used columns. */
static void name_to_end(const struct text *t, const char *name, size_t used)
{
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	sp_fit(name, t->width > used + 8 ? t->width - used : 8, &b);
	sp_sink_printf(t->sink, "%s\n", words(t, &b));
}

static void write_lost(const struct text *t)
{
	const struct sp_profile *p = t->p;
	SP_AUTO_BUF struct sp_buf b;
	char n[SP_NUMBER_SIZE];

	sp_buf_init(&b);
	sp_buf_addf(&b, "%s (%.2f %%)", sp_number(p->lost_total, n),
		sp_percent(p->lost_total, p->samples + p->lost_total));
	for (unsigned i = 0; i < p->lost_count; i++) {
		sp_buf_addf(&b, "%s%s", i == 0 ? ": " : ", ", string(t, p->lost[i].text_id));
		sp_buf_addf(&b, " %s", sp_number(p->lost[i].count, n));
	}
	labelled(t, "Lost", words(t, &b));
}

static void write_count(const struct text *t, const char *label, uint64_t count, const char *what)
{
	SP_AUTO_BUF struct sp_buf b;
	char n[SP_NUMBER_SIZE];

	sp_buf_init(&b);
	sp_buf_addf(&b, "%s (%.2f %%)", sp_number(count, n), sp_percent(count, t->p->samples));
	if (count > 0)
		sp_buf_addf(&b, ": %s", what);
	labelled(t, label, words(t, &b));
}

/* A stack may have more frames than are kept, or its memory had changed before it was read. */
static void write_truncated(const struct text *t)
{
	const struct sp_profile *p = t->p;
	uint64_t deep = p->too_deep < p->truncated ? p->too_deep : p->truncated;
	char what[160], n[SP_NUMBER_SIZE], m[SP_NUMBER_SIZE];

	if (!p->depth_told || deep == p->truncated)
		snprintf(what, sizeof(what), "the stack was deeper than could be kept");
	else if (deep == 0)
		snprintf(what, sizeof(what), "the stack moved on before all of it was read");
	else
		snprintf(what, sizeof(what),
			"%s deeper than could be kept, %s moved on before all was read",
			sp_number(deep, n), sp_number(p->truncated - deep, m));
	write_count(t, "Truncated", p->truncated, what);
}

/* What was sampled, where, for how long, and what is missing. */
static void write_head(const struct text *t)
{
	const struct sp_profile *p = t->p;
	char n[SP_NUMBER_SIZE];

	if (p->title_id) {
		paint(t, "1", string(t, p->title_id));
		sp_sink_puts(t->sink, "\n");
	}
	if (p->target_id)
		labelled(t, "Target", string(t, p->target_id));
	if (p->runtime_id)
		labelled(t, "Runtime", string(t, p->runtime_id));
	if (p->duration_ns)
		labelled(t, "Duration", sp_duration_format(p->duration_ns, n, sizeof(n)));
	labelled(t, "Samples", sp_number(p->samples, n));
	write_lost(t);
	write_truncated(t);
	write_count(t, "Unknown", p->unknown, "a frame could not be told");
	for (unsigned i = 0; i < p->note_count; i++)
		labelled(t, "Note", string(t, p->notes[i].text_id));
}

/* "12,345 samples, 123 s" */
static void amount(const struct sp_view *v, uint64_t samples, uint64_t weight, struct sp_buf *b)
{
	char n[SP_NUMBER_SIZE];

	sp_buf_addf(b, "%s sample%s", sp_number(samples, n), samples == 1 ? "" : "s");
	if (v->event->unit != SP_UNIT_COUNT || weight != samples)
		sp_buf_addf(b, ", %s", sp_number_unit(weight, v->event->unit, n));
}

/* "cpu, every 10 ms: 12,345 samples, 123 s (4.1 cores busy)" */
static void write_event(const struct text *t, const struct sp_view *v)
{
	const struct sp_event *e = v->event;
	SP_AUTO_BUF struct sp_buf b, wrapped;
	char n[SP_NUMBER_SIZE];

	sp_buf_init(&b);
	sp_buf_init(&wrapped);
	sp_buf_addf(&b, "%s", string(t, e->name_id));
	if (e->interval)
		sp_buf_addf(&b, ", every %s", sp_number_unit(e->interval, e->unit, n));
	sp_buf_adds(&b, ": ");
	amount(v, v->samples, v->weight, &b);
	if (e->unit == SP_UNIT_NS && t->p->duration_ns)
		sp_buf_addf(&b, e->measured ? " (%.1f threads at a time)" : " (%.1f cores busy)",
			(double)v->weight / (double)t->p->duration_ns);
	if (v->filtered)
		sp_buf_addf(&b, "; %s left out by filters", sp_number(v->filtered, n));
	sp_fit_wrap(words(t, &b), 0, 2, t->width, &wrapped);
	heading(t, words(t, &wrapped));
}

static void write_states(const struct text *t, const struct sp_view *v)
{
	char n[SP_NUMBER_SIZE];

	if (v->state_count < 2)
		return; /* running, or not told */
	heading(t, "Thread states");
	for (size_t i = 0; i < v->state_count; i++) {
		const struct sp_view_share *s = &v->states[i];
		double share = sp_percent(s->weight, v->weight);

		sp_sink_puts(t->sink, "  ");
		percent(t, share);
		sp_sink_puts(t->sink, "  ");
		bar(t, share);
		sp_sink_printf(t->sink, "  %12s  ", sp_number_unit(s->weight, v->event->unit, n));
		name_to_end(t, s->id ? string(t, s->id) : "not told", 37);
	}
}

static void write_thread(const struct text *t, const struct sp_view *v, uint32_t id, double share)
{
	const struct sp_thread *th = sp_dict_get_thread(t->p->dict, id);
	const char *name = th ? string(t, th->name_id) : "";

	sp_sink_puts(t->sink, "  ");
	percent(t, share);
	sp_sink_printf(t->sink, "  %8u  ", th ? th->tid : 0);
	name_to_end(t, name[0] ? name : "(no name)", 21);
}

static void write_threads(const struct text *t, const struct sp_view *v)
{
	char title[64], n[SP_NUMBER_SIZE];
	uint64_t rest = v->weight;

	snprintf(title, sizeof(title), "Threads (%s)", sp_number(v->thread_count, n));
	heading(t, title);
	sp_sink_puts(t->sink, "    share       tid  name\n");
	for (size_t i = 0; i < v->thread_count && i < THREADS; i++) {
		write_thread(t, v, v->threads[i].id, sp_percent(v->threads[i].weight, v->weight));
		rest -= v->threads[i].weight;
	}
	if (v->thread_count > THREADS) {
		sp_sink_puts(t->sink, "  ");
		percent(t, sp_percent(rest, v->weight));
		sp_sink_printf(t->sink, "            %s others\n",
			sp_number(v->thread_count - THREADS, n));
	}
}

/* Words that are broken to fit behind @used columns. */
static void to_end(const struct text *t, const char *text, size_t used)
{
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	sp_fit_wrap(text, used, used, t->width, &b);
	sp_sink_printf(t->sink, "%s\n", words(t, &b));
}

/* "  45.2 %      8     12.3 s  5.0  shuffle 61 %, GC 12 %", and under it what it is called. */
static void write_stage(const struct text *t, const struct sp_view *v, const struct sp_stages *s,
	const struct sp_stage_row *r)
{
	SP_AUTO_BUF struct sp_buf b;
	char n[SP_NUMBER_SIZE], id[32];

	sp_buf_init(&b);
	sp_stages_areas(s, r, 4, &b);
	snprintf(id, sizeof(id), "%d.%d", r->stage, r->attempt);
	sp_sink_puts(t->sink, "  ");
	percent(t, sp_percent(r->weight, v->weight));
	sp_sink_printf(t->sink, "  %6u  %10s  %-7s  ", r->tasks,
		sp_duration_format(r->run_ns, n, sizeof(n)), id);
	to_end(t, words(t, &b), WORK);
	sp_buf_clear(&b);
	sp_buf_adds(&b, sp_stages_name(t->p, r));
	if (r->about && r->about->sql >= 0)
		sp_buf_addf(&b, "%sSQL %lld", b.len ? "; " : "", (long long)r->about->sql);
	if (sp_stages_lags(r))
		sp_buf_addf(&b, "%sTID %lld took %s, %.1f times the median", b.len ? "; " : "",
			(long long)r->max_task, sp_duration_format(r->max_ns, n, sizeof(n)),
			(double)r->max_ns / (double)(r->median_ns ? r->median_ns : 1));
	if (b.len) {
		sp_sink_printf(t->sink, "%*s", WORK, "");
		to_end(t, words(t, &b), WORK);
	}
}

static int write_stages(const struct text *t, const struct sp_view *v)
{
	__attribute__((cleanup(sp_stages_done))) struct sp_stages s = {0};
	char title[64], n[SP_NUMBER_SIZE];
	int r;

	if (t->p->task_count == 0)
		return 0;
	r = sp_stages_init(&s, t->p, (unsigned)(v->event - t->p->events), t->o->view.areas);
	if (r < 0 || s.count == 0)
		return r;
	snprintf(title, sizeof(title), "Stages (%s)", sp_number(s.count, n));
	heading(t, title);
	sp_sink_puts(t->sink, "    share   tasks    run time  stage    work\n");
	for (size_t i = 0; i < s.count && i < STAGES; i++)
		write_stage(t, v, &s, &s.rows[i]);
	if (s.count > STAGES)
		sp_sink_printf(t->sink, "%*s%s more\n", WORK, "", sp_number(s.count - STAGES, n));
	return 0;
}

static void write_methods(const struct text *t, const struct sp_view *v, const struct sp_hot *hot)
{
	size_t n = t->o->methods ? t->o->methods : 20;

	heading(t, "Hot methods");
	sp_sink_puts(t->sink, "     self                total   method\n");
	for (size_t i = 0; i < hot->count && i < n && hot->methods[i].self > 0; i++) {
		const struct sp_hot_method *m = &hot->methods[i];
		double self = sp_percent(m->self, v->weight);

		sp_sink_puts(t->sink, "  ");
		percent(t, self);
		sp_sink_puts(t->sink, "  ");
		bar(t, self);
		sp_sink_puts(t->sink, "  ");
		percent(t, sp_percent(m->total, v->weight));
		sp_sink_puts(t->sink, "  ");
		name_to_end(t, sp_view_get_frame(v, m->frame).name, 32);
	}
}

static void write_stack(
	const struct text *t, const struct sp_view *v, const struct sp_view_stack *s)
{
	uint32_t max = t->o->frames ? t->o->frames : 12;
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	amount(v, s->samples, s->weight, &b);
	sp_sink_puts(t->sink, "  ");
	percent(t, sp_percent(s->weight, v->weight));
	sp_sink_printf(t->sink, "  %s%s\n", words(t, &b), s->truncated ? ", truncated" : "");
	for (uint32_t i = 0; i < s->count && i < max; i++) {
		sp_sink_printf(t->sink, "    [%2u] ", i);
		name_to_end(t, sp_view_get_frame(v, s->frames[s->count - 1 - i]).name, 9);
	}
	if (s->count > max)
		sp_sink_printf(t->sink, "    %s %u more, down to ", t->o->utf8 ? "…" : "...",
			s->count - max);
	if (s->count > max)
		name_to_end(t, sp_view_get_frame(v, s->frames[0]).name, 28);
}

static void write_stacks(const struct text *t, const struct sp_view *v, const struct sp_hot *hot)
{
	size_t n = t->o->stacks ? t->o->stacks : 5;

	heading(t, "Hot stacks (leaf first)");
	for (size_t i = 0; i < v->stack_count && i < n; i++)
		write_stack(t, v, &v->stacks[hot->stacks[i]]);
}

static int write_view(const struct text *t, const struct sp_view *v)
{
	__attribute__((cleanup(sp_hot_done))) struct sp_hot hot = {0};
	int r = sp_hot_init(&hot, v);

	if (r < 0)
		return r;
	write_event(t, v);
	if (v->weight == 0) {
		sp_sink_puts(t->sink, "  Nothing was sampled.\n");
		return 0;
	}
	write_states(t, v);
	r = write_stages(t, v);
	if (r < 0)
		return r;
	write_threads(t, v);
	write_methods(t, v, &hot);
	write_stacks(t, v, &hot);
	return 0;
}

static int write_one(const struct text *t, const struct sp_view_opts *opts)
{
	struct sp_view *v;
	int r = sp_view_new(t->p, opts, &v);

	if (r < 0)
		return r;
	if (v->event)
		r = write_view(t, v);
	sp_view_free(v);
	return r;
}

int sp_out_text(const struct sp_profile *p, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	struct text t = {p, opts, sink, opts->width ? opts->width : 80};
	struct sp_view_opts o = opts->view;
	int r = 0;

	if (t.width < MIN_WIDTH)
		t.width = MIN_WIDTH;
	o.style.dotted = true;
	write_head(&t);
	if (o.event)
		return write_one(&t, &o);
	for (unsigned i = 0; r == 0 && i < p->event_count; i++) {
		o.event = string(&t, p->events[i].name_id);
		r = write_one(&t, &o);
	}
	if (p->event_count == 0)
		sp_sink_puts(sink, "\nNothing was sampled.\n");
	return r;
}
