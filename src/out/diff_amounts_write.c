/* Tables of amounts in text and JSON: see diff.h. */
#include "out/diff.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/elide.h"
#include "out/json.h"

enum { ROWS = 20, WIDTH = 80, COLUMNS = 46 /* of numbers before the name */ };

static void write_value(
	const struct sp_diff *d, double v, bool there, bool sign, struct sp_sink *sink)
{
	char text[48];

	sp_sink_printf(sink, "%11s", there ? sp_diff_format(d, v, sign, text, sizeof(text)) : "-");
}

/* "stage 9.0 → 21.0  collect at again.py:41; tasks 2 → 3" */
static void add_words(const struct sp_diff_amount *a, struct sp_buf *out)
{
	sp_buf_adds(out, a->name);
	if (a->title[0])
		sp_buf_addf(out, "  %s", a->title);
	if (a->there[0] && a->there[1] && a->tasks[0] != a->tasks[1])
		sp_buf_addf(out, "; tasks %u → %u", a->tasks[0], a->tasks[1]);
}

static void write_amount(const struct sp_diff *d, const struct sp_diff_amount *a, unsigned width,
	struct sp_sink *sink)
{
	double change = (double)a->weight[1] - (double)a->weight[0];
	SP_AUTO_BUF struct sp_buf words = {0}, fit = {0};
	char text[48], noise[56];

	write_value(d, (double)a->weight[0], a->there[0], false, sink);
	write_value(d, (double)a->weight[1], a->there[1], false, sink);
	write_value(d, change, true, true, sink);
	snprintf(noise, sizeof(noise), "±%s",
		sp_diff_format(d, a->noise, false, text, sizeof(text)));
	sp_sink_printf(sink, "%12s", noise); /* eleven columns: ± is two bytes */
	add_words(a, &words);
	if (width)
		sp_elide_middle(
			sp_buf_str(&words), width > COLUMNS + 20 ? width - COLUMNS : 20, &fit);
	else
		sp_buf_adds(&fit, sp_buf_str(&words));
	sp_sink_printf(sink, "  %s\n", sp_buf_str(&fit));
}

static void write_table(const struct sp_diff *d, const char *title, const char *what,
	const struct sp_diff_amounts *t, unsigned width, struct sp_sink *sink)
{
	double base = 0, new = 0;
	char a[48], b[48];

	if (!t->count)
		return;
	sp_sink_printf(sink, "\n%s\n", title);
	for (size_t i = 0; i < t->count; i++) {
		if (i < ROWS)
			write_amount(d, &t->list[i], width, sink);
		base += i < ROWS ? 0 : (double)t->list[i].weight[0];
		new += i < ROWS ? 0 : (double)t->list[i].weight[1];
	}
	if (t->count > ROWS)
		sp_sink_printf(sink, "  … and %zu more %s, together %s → %s\n", t->count - ROWS,
			what, sp_diff_format(d, base, false, a, sizeof(a)),
			sp_diff_format(d, new, false, b, sizeof(b)));
}

void sp_diff_text_amounts(
	const struct sp_diff *d, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	SP_AUTO_BUF struct sp_buf lines = {0};

	sp_elide_wrap("chance: the difference that sampling alone shows between identical runs. "
		      "Real runs of one program differ by more, above all in wall time on a busy "
		      "machine: compare two runs of the base first to see by how much.",
		0, 0, opts->width ? opts->width : WIDTH, &lines);
	sp_sink_printf(sink, "\n%s\n", sp_buf_str(&lines));
	sp_sink_printf(sink, "\n%11s%11s%11s%11s\n", "base", "new", "change", "chance");
	write_amount(d, &d->total, opts->width, sink);
	write_table(d, "By stage", "stages", &d->stages, opts->width, sink);
	write_table(d, "By what time was spent on", "kinds", &d->waits, opts->width, sink);
}

static void json_side(const struct sp_diff_amount *a, unsigned side, struct sp_sink *sink)
{
	const struct sp_run_stage *s = &a->stage->of[side];

	if (!s->there) {
		sp_sink_puts(sink, "null");
		return;
	}
	sp_sink_printf(sink, "{\"stage\":%d,\"attempt\":%d,\"tasks\":%u,\"name\":", s->stage,
		s->attempt, a->tasks[side]);
	sp_json_string(sink, s->title);
	sp_sink_puts(sink, "}");
}

static void json_amount(const struct sp_diff_amount *a, struct sp_sink *sink)
{
	sp_sink_puts(sink, "{\"name\":");
	sp_json_string(sink, a->name);
	sp_sink_printf(sink,
		",\"weight\":[%" PRIu64 ",%" PRIu64 "],\"change\":%" PRId64 ",\"noise\":%.8g",
		a->weight[0], a->weight[1], (int64_t)(a->weight[1] - a->weight[0]), a->noise);
	if (a->stage) {
		sp_sink_puts(sink, ",\"stages\":[");
		json_side(a, SP_DIFF_BASE, sink);
		sp_sink_puts(sink, ",");
		json_side(a, SP_DIFF_NEW, sink);
		sp_sink_puts(sink, "]");
	}
	sp_sink_puts(sink, "}");
}

static void json_table(const char *key, const struct sp_diff_amounts *t, struct sp_sink *sink)
{
	sp_sink_printf(sink, ",\"%s\":[", key);
	for (size_t i = 0; i < t->count; i++) {
		sp_sink_puts(sink, i ? ",\n" : "\n");
		json_amount(&t->list[i], sink);
	}
	sp_sink_puts(sink, "]");
}

void sp_diff_json_amounts(const struct sp_diff *d, struct sp_sink *sink)
{
	static const char *const units[] = {"ns", "bytes", "count"};
	const struct sp_event *e = d->views[SP_DIFF_NEW]->event;

	sp_sink_puts(sink, "\"event\":");
	sp_json_string(sink, sp_diff_event(d));
	sp_sink_printf(sink, ",\"unit\":\"%s\",\"total\":",
		units[e && e->unit < SP_COUNT(units) ? e->unit : SP_UNIT_COUNT]);
	json_amount(&d->total, sink);
	json_table("stages", &d->stages, sink);
	json_table("waits", &d->waits, sink);
	sp_sink_puts(sink, ",\n");
}
