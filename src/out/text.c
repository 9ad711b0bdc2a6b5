/* The summary that fits a terminal: the findings, what was sampled and how well, then states,
 * stages, threads, hot methods and the stacks as a tree of each event. Percentages are of weight
 * (time, bytes), not of samples. */
#include "out/out.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/elide.h"
#include "out/hot_methods.h"
#include "out/number.h"
#include "out/text_internal.h"
#include "prof/model/throttle.h"
#include "prof/spark/time_class.h"

#define LABEL	  11 /* columns of "Truncated  " */
#define BAR	  10
#define MIN_WIDTH 50
#define SMALL	  0.5 /* percent: kinds of time below it have no line of their own */

const char *sp_text_string(const struct sp_text *t, uint32_t id)
{
	return sp_dict_get_string(t->p->dict, id, NULL);
}

const char *sp_text_words(const struct sp_text *t, struct sp_buf *b)
{
	const char *s = sp_buf_str(b);

	if (b->failed && t->sink->error == 0)
		t->sink->error = -ENOMEM;
	return s;
}

void sp_text_paint(const struct sp_text *t, const char *code, const char *s)
{
	if (t->o->colour)
		sp_sink_printf(t->sink, "\033[%sm%s\033[0m", code, s);
	else
		sp_sink_puts(t->sink, s);
}

void sp_text_heading(const struct sp_text *t, const char *s)
{
	sp_sink_puts(t->sink, "\n");
	sp_text_paint(t, "1", s);
	sp_sink_puts(t->sink, "\n");
}

/* "Label      words that are broken to fit" */
static void labelled(const struct sp_text *t, const char *label, const char *text)
{
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	sp_elide_wrap(text, LABEL, LABEL, t->width, &b);
	sp_sink_printf(t->sink, "%-*s%s\n", LABEL, label, sp_text_words(t, &b));
}

void sp_text_percent(const struct sp_text *t, double p)
{
	char s[16];

	snprintf(s, sizeof(s), "%5.1f %%", p);
	if (p >= 5)
		sp_text_paint(t, p >= 20 ? "31" : "33", s);
	else
		sp_sink_puts(t->sink, s);
}

static void bar(const struct sp_text *t, double p)
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

void sp_text_name(const struct sp_text *t, const char *name, size_t used)
{
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	sp_elide(name, t->width > used + 8 ? t->width - used : 8, &b);
	sp_sink_printf(t->sink, "%s\n", sp_text_words(t, &b));
}

static void write_lost(const struct sp_text *t)
{
	const struct sp_profile *p = t->p;
	SP_AUTO_BUF struct sp_buf b;
	char n[SP_NUMBER_SIZE];

	sp_buf_init(&b);
	sp_buf_addf(&b, "%s (%.2f %%)", sp_number(p->lost_total, n),
		sp_percent(p->lost_total, p->samples + p->outside + p->lost_total));
	for (unsigned i = 0; i < p->lost_count; i++) {
		sp_buf_addf(
			&b, "%s%s", i == 0 ? ": " : ", ", sp_text_string(t, p->lost[i].text_id));
		sp_buf_addf(&b, " %s", sp_number(p->lost[i].count, n));
	}
	labelled(t, "Lost", sp_text_words(t, &b));
}

static void write_count(
	const struct sp_text *t, const char *label, uint64_t count, const char *what)
{
	SP_AUTO_BUF struct sp_buf b;
	char n[SP_NUMBER_SIZE];

	sp_buf_init(&b);
	sp_buf_addf(&b, "%s (%.2f %%)", sp_number(count, n), sp_percent(count, t->p->samples));
	if (count > 0)
		sp_buf_addf(&b, ": %s", what);
	labelled(t, label, sp_text_words(t, &b));
}

/* A stack may have more frames than are kept, or its memory had changed before it was read. */
static void write_truncated(const struct sp_text *t)
{
	const struct sp_profile *p = t->p;
	uint64_t deep = p->too_deep < p->truncated ? p->too_deep : p->truncated;
	char what[160], n[SP_NUMBER_SIZE], m[SP_NUMBER_SIZE];

	if (!p->depth_known && p->unread)
		snprintf(what, sizeof(what),
			"deeper than could be kept, or moved on before all was read");
	else if (!p->depth_known || deep == p->truncated)
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
static void write_head(const struct sp_text *t)
{
	const struct sp_profile *p = t->p;
	char n[SP_NUMBER_SIZE], text[256];

	if (p->target_id)
		labelled(t, "Target", sp_text_string(t, p->target_id));
	if (p->runtime_id)
		labelled(t, "Runtime", sp_text_string(t, p->runtime_id));
	if (p->duration_ns)
		labelled(t, "Duration", sp_duration_format(p->duration_ns, n, sizeof(n)));
	labelled(t, "Samples", sp_number(p->samples, n));
	write_lost(t);
	write_truncated(t);
	write_count(t, "Unknown", p->unknown, "a frame could not be resolved");
	sp_throttle_describe(p, text, sizeof(text));
	if (text[0])
		labelled(t, "CPU limit", text);
	for (unsigned i = 0; i < p->note_count; i++)
		labelled(t, "Note", sp_text_string(t, p->notes[i].text_id));
}

/* "12,345 samples, 123 s" */
static void amount(const struct sp_view *v, uint64_t samples, uint64_t weight, struct sp_buf *b)
{
	char n[SP_NUMBER_SIZE];

	sp_buf_addf(b, "%s sample%s", sp_number(samples, n), samples == 1 ? "" : "s");
	if (v->event->unit != SP_UNIT_COUNT || weight != samples)
		sp_buf_addf(b, ", %s", sp_number_unit(weight, v->event->unit, n));
}

/* Others' wall does not say how much time a sample is: see load_foreign.c. */
static bool has_rate(const struct sp_text *t, const struct sp_event *e)
{
	return e->measured || strcmp(sp_text_string(t, e->name_id), "wall") != 0;
}

/* "cpu, every 10 ms: 12,345 samples, 123 s (4.1 cores busy)" */
static void write_event(const struct sp_text *t, const struct sp_view *v)
{
	const struct sp_event *e = v->event;
	SP_AUTO_BUF struct sp_buf b, wrapped;
	char n[SP_NUMBER_SIZE];

	sp_buf_init(&b);
	sp_buf_init(&wrapped);
	sp_buf_addf(&b, "%s", sp_text_string(t, e->name_id));
	if (e->interval)
		sp_buf_addf(&b, ", every %s", sp_number_unit(e->interval, e->unit, n));
	sp_buf_adds(&b, ": ");
	amount(v, v->samples, v->weight, &b);
	if (e->unit == SP_UNIT_NS && t->p->duration_ns && has_rate(t, e))
		sp_buf_addf(&b, e->measured ? " (%.1f threads at a time)" : " (%.1f cores busy)",
			(double)v->weight / (double)t->p->duration_ns);
	if (v->filtered)
		sp_buf_addf(&b, "; %s left out by filters", sp_number(v->filtered, n));
	sp_elide_wrap(sp_text_words(t, &b), 0, 2, t->width, &wrapped);
	sp_text_heading(t, sp_text_words(t, &wrapped));
}

/* "  71.3 %  #######       1 min 51 s  runnable" */
static void write_share(
	const struct sp_text *t, const struct sp_view *v, uint64_t weight, const char *name)
{
	double share = sp_percent(weight, v->weight);
	char n[SP_NUMBER_SIZE];

	sp_sink_puts(t->sink, "  ");
	sp_text_percent(t, share);
	sp_sink_puts(t->sink, "  ");
	bar(t, share);
	sp_sink_printf(t->sink, "  %12s  ", sp_number_unit(weight, v->event->unit, n));
	sp_text_name(t, name, 37);
}

static void write_states(const struct sp_text *t, const struct sp_view *v)
{
	if (v->state_count < 2)
		return; /* running, or not known */
	sp_text_heading(t, "Thread states");
	for (size_t i = 0; i < v->state_count; i++) {
		const struct sp_view_share *s = &v->states[i];

		write_share(t, v, s->weight, s->id ? sp_text_string(t, s->id) : "unknown");
	}
}

static void free_spent(struct sp_time_class_of **s)
{
	sp_time_class_free(*s);
}

/* Of Spark's tasks the kernel's states say too little: who waits for the collector or for another
 * thread's job is in the same system call as who waits for a lock. */
static int write_spent(const struct sp_text *t, const struct sp_view *v)
{
	__attribute__((cleanup(free_spent))) struct sp_time_class_of *spent = NULL;
	uint64_t sums[SP_TIME_CLASS_KINDS] = {0}, left = v->weight;
	int r = sp_time_class_new(&spent, t->p);

	for (size_t i = 0; r == 0 && i < t->p->row_count; i++)
		if (&t->p->events[t->p->rows[i].event] == v->event && v->row_stacks[i])
			sums[sp_time_class_of_row(spent, &t->p->rows[i])] += t->p->rows[i].weight;
	if (r < 0)
		return r;
	sp_text_heading(t, "Time spent on");
	for (;;) {
		unsigned most = 0;

		for (unsigned i = 1; i < SP_TIME_CLASS_KINDS; i++)
			most = sums[i] > sums[most] ? i : most;
		if (!sums[most] || sp_percent(sums[most], v->weight) < SMALL)
			break;
		write_share(t, v, sums[most], sp_time_class_name(most));
		left -= sums[most] < left ? sums[most] : left;
		sums[most] = 0;
	}
	if (left)
		write_share(t, v, left, "everything else");
	return 0;
}

static int write_times(const struct sp_text *t, const struct sp_view *v)
{
	if (t->p->task_count && strcmp(sp_text_string(t, v->event->name_id), "wall") == 0)
		return write_spent(t, v);
	write_states(t, v);
	return 0;
}

static void write_frames(const struct sp_text *t, const struct sp_view *v,
	const struct sp_hot_methods *hot, const char *heading, const char *what)
{
	size_t n = t->o->methods ? t->o->methods : 20;

	sp_text_heading(t, heading);
	sp_sink_printf(t->sink, "     self                total   %s\n", what);
	for (size_t i = 0; i < hot->count && i < n && hot->methods[i].self > 0; i++) {
		const struct sp_hot_method *m = &hot->methods[i];
		double self = sp_percent(m->self, v->weight);

		sp_sink_puts(t->sink, "  ");
		sp_text_percent(t, self);
		sp_sink_puts(t->sink, "  ");
		bar(t, self);
		sp_sink_puts(t->sink, "  ");
		sp_text_percent(t, sp_percent(m->total, v->weight));
		sp_sink_puts(t->sink, "  ");
		sp_text_name(t, sp_view_get_frame(v, m->frame).name, 32);
	}
}

/* Whether the class of an object is on top of the stacks. */
static bool has_classes(const struct sp_text *t, const struct sp_view *v)
{
	const char *name = sp_text_string(t, v->event->name_id);

	return strcmp(name, "alloc") == 0 || strcmp(name, "live") == 0 ||
	       strcmp(name, "lock") == 0 || strcmp(name, "nativelock") == 0;
}

/* Who allocates or waits is what people look for, besides of what or for what. */
static int write_methods(
	const struct sp_text *t, const struct sp_view *v, const struct sp_hot_methods *hot)
{
	__attribute__((cleanup(sp_hot_methods_done))) struct sp_hot_methods below = {0};
	bool classes = has_classes(t, v);
	int r = classes ? sp_hot_methods_init(&below, v, 1) : 0;

	if (r < 0)
		return r;
	if (classes)
		write_frames(t, v, hot, "Hot classes", "class");
	write_frames(t, v, classes ? &below : hot, "Hot methods", "method");
	return 0;
}

/* -o flat and traces. */
static int write_parts(
	const struct sp_text *t, const struct sp_view *v, const struct sp_hot_methods *hot)
{
	int r = t->o->methods ? write_methods(t, v, hot) : 0;

	if (r == 0 && t->o->traces)
		sp_text_traces(t, v, hot);
	return r;
}

static int write_view(const struct sp_text *t, const struct sp_view *v)
{
	__attribute__((cleanup(sp_hot_methods_done))) struct sp_hot_methods hot = {0};
	int r = sp_hot_methods_init(&hot, v, 0);

	if (r < 0)
		return r;
	write_event(t, v);
	if (v->weight == 0) {
		sp_sink_puts(t->sink, "  Nothing was sampled.\n");
		return 0;
	}
	if (t->o->parts)
		return write_parts(t, v, &hot);
	r = sp_text_phases(t, v);
	if (r < 0)
		return r;
	r = write_times(t, v);
	if (r == 0)
		r = sp_text_stages(t, v);
	if (r == 0)
		r = sp_text_other(t, v);
	if (r < 0)
		return r;
	r = sp_text_operators(t, v);
	if (r < 0)
		return r;
	r = sp_text_executors(t, v);
	if (r < 0)
		return r;
	r = sp_text_threads(t, v);
	if (r < 0)
		return r;
	sp_text_holders(t, v);
	r = write_methods(t, v, &hot);
	if (r == 0)
		r = sp_text_lines(t, v);
	if (r < 0)
		return r;
	return sp_text_tree(t, v);
}

static int write_one(const struct sp_text *t, const struct sp_view_opts *opts)
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
	struct sp_text t = {p, opts, sink, opts->width ? opts->width : 80};
	struct sp_view_opts o = opts->view;
	int r = 0;

	if (t.width < MIN_WIDTH)
		t.width = MIN_WIDTH;
	o.style.dotted = true;
	if (p->title_id) {
		sp_text_paint(&t, "1", sp_text_string(&t, p->title_id));
		sp_sink_puts(sink, "\n");
	}
	r = opts->parts ? 0 : sp_text_findings(&t);
	if (r < 0)
		return r;
	write_head(&t);
	if (o.event)
		return write_one(&t, &o);
	for (unsigned i = 0; r == 0 && i < p->event_count; i++) {
		o.event = sp_text_string(&t, p->events[i].name_id);
		r = write_one(&t, &o);
	}
	if (p->event_count == 0)
		sp_sink_puts(sink, "\nNothing was sampled.\n");
	return r;
}
