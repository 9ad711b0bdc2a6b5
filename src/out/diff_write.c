/* Comparisons as collapsed text, tables and a page of text: see diff.h. */
#include "out/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/safe_text.h"
#include "out/collapsed.h"
#include "out/elide.h"
#include "out/json.h"
#include "out/number.h"

enum { ROWS = 25, WIDTH = 80, COLUMNS = 44 /* of numbers before the name */ };

static uint64_t scaled(const struct sp_diff *d, uint64_t base)
{
	return (uint64_t)llround((double)base * d->scale);
}

int sp_diff_collapsed(const struct sp_diff *d, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	const struct sp_tree *t = &d->tree;
	SP_AUTO_FREE uint32_t *path = calloc(SP_DICT_MAX_FRAMES + 8, sizeof(*path));
	SP_AUTO_BUF struct sp_buf name = {0};

	if (!path)
		return -ENOMEM;
	for (uint32_t i = 1; i < t->count; i++) {
		uint32_t depth = 0;

		if (!t->nodes[i].self[0] && !t->nodes[i].self[1])
			continue;
		for (uint32_t at = i; at; at = t->nodes[at].parent)
			path[depth++] = at;
		while (depth--) {
			sp_buf_clear(&name);
			sp_collapsed_name(sp_tree_name(t, &t->nodes[path[depth]]), &name);
			sp_sink_puts(sink, sp_buf_str(&name));
			sp_sink_puts(sink, depth ? ";" : "");
		}
		sp_sink_printf(sink, " %" PRIu64 " %" PRIu64 "\n",
			scaled(d, t->nodes[i].self[SP_DIFF_BASE]), t->nodes[i].self[SP_DIFF_NEW]);
	}
	return 0;
}

static void add_value(const struct sp_diff *d, double v, bool sign, struct sp_sink *sink)
{
	if (d->absolute)
		sp_sink_printf(sink, sign ? "%+11.0f" : "%10.0f", v);
	else
		sp_sink_printf(sink, sign ? "%+8.2f pt" : "%9.2f%%", 100 * v);
}

/* "    ±1.27 pt": points of a share, as the change is. */
static void add_noise(const struct sp_diff *d, double v, struct sp_sink *sink)
{
	char text[64];

	if (d->absolute)
		snprintf(text, sizeof(text), "±%.0f", v);
	else
		snprintf(text, sizeof(text), "±%.2f pt", 100 * v);
	sp_sink_printf(sink, "%12s", text); /* eleven columns: ± is two bytes */
}

/* As report spells it, and cut only where a terminal has no room for it. */
static void add_name(const struct sp_diff_method *m, size_t width, size_t used, struct sp_buf *out)
{
	SP_AUTO_BUF struct sp_buf name = {0};

	for (const char *s = m->name; *s; s++)
		sp_buf_addc(&name, m->java && *s == '/' ? '.' : *s);
	if (width)
		sp_elide(sp_buf_str(&name), width > used + 20 ? width - used : 20, out);
	else
		sp_safe_people(sp_buf_str(&name), name.len, out);
}

static void write_row(const struct sp_diff *d, const struct sp_diff_method *m, unsigned width,
	struct sp_sink *sink)
{
	const char *note = !m->samples[0] ? " (new)" : !m->samples[1] ? " (vanished)" : "";
	size_t used = COLUMNS + strlen(note);
	SP_AUTO_BUF struct sp_buf name = {0};

	add_value(d, m->share[0], false, sink);
	add_value(d, m->share[1], false, sink);
	add_value(d, m->change, true, sink);
	add_noise(d, m->noise, sink);
	add_name(m, width, used, &name);
	sp_sink_printf(sink, "  %s%s\n", sp_buf_str(&name), note);
}

/* Methods that changed beyond noise, in one direction. Returns how many there are. */
static size_t write_changes(const struct sp_diff *d, const char *title, int direction,
	const struct sp_out_opts *opts, struct sp_sink *sink)
{
	size_t n = 0;

	for (size_t i = 0; i < d->count; i++) {
		const struct sp_diff_method *m = &d->methods[i];

		if (fabs(m->change) <= m->noise || (m->change > 0) != (direction > 0))
			continue;
		if (n == 0)
			sp_sink_printf(sink,
				"\n%s\n      base       new     change      noise  method\n",
				title);
		if (n++ < ROWS)
			write_row(d, m, opts->width, sink);
	}
	if (n > ROWS)
		sp_sink_printf(sink, "  … and %zu more\n", n - ROWS);
	return n;
}

int sp_diff_text(const struct sp_diff *d, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	char a[SP_NUMBER_SIZE], b[SP_NUMBER_SIZE];
	SP_AUTO_BUF struct sp_buf words = {0}, lines = {0};
	size_t width = opts->width ? opts->width : WIDTH, changed, vanished = 0, new = 0;

	for (size_t i = 0; i < d->count; i++) {
		vanished += d->methods[i].samples[1] == 0;
		new += d->methods[i].samples[0] == 0;
	}
	sp_buf_addf(&words, "%s: %s samples in the base, %s in the new one", sp_diff_event(d),
		sp_number(d->views[0]->samples, a), sp_number(d->views[1]->samples, b));
	sp_elide_wrap(sp_buf_str(&words), 0, 2, width, &lines);
	sp_sink_printf(sink, "%s\n", sp_buf_str(&lines));
	sp_diff_text_amounts(d, opts, sink);
	sp_sink_puts(sink, d->absolute ? "\nMethods\n" : "\nMethods, as shares of each side\n");
	sp_buf_clear(&words);
	sp_buf_clear(&lines);
	changed = write_changes(d, "Grew", 1, opts, sink);
	changed += write_changes(d, "Shrank", -1, opts, sink);
	sp_buf_addf(&words,
		"%zu of %zu methods changed by more than chance makes of equal programs (%.1f "
		"standard errors: one method in twenty such tables would pass by chance; samples "
		"of one stack come in bursts, so take small changes with care). %zu vanished, %zu "
		"are new, whatever their size.",
		changed, d->count, d->sigmas, vanished, new);
	sp_elide_wrap(sp_buf_str(&words), 0, 0, width, &lines);
	sp_sink_printf(sink, "\n%s\n", sp_buf_str(&lines));
	return 0;
}

int sp_diff_csv(const struct sp_diff *d, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	sp_sink_puts(sink,
		"method,base samples,new samples,base self,new self,base,new,change,noise,"
		"beyond noise\r\n");
	for (size_t i = 0; i < d->count; i++) {
		const struct sp_diff_method *m = &d->methods[i];

		sp_csv_field(sink, m->name);
		sp_sink_printf(sink,
			",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
			",%.8g,%.8g,%.8g,%.8g,%s\r\n",
			m->samples[0], m->samples[1], m->self[0], m->self[1], m->share[0],
			m->share[1], m->change, m->noise,
			fabs(m->change) > m->noise ? "yes" : "no");
	}
	return 0;
}

int sp_diff_json(const struct sp_diff *d, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	sp_sink_puts(sink, "{");
	sp_diff_json_amounts(d, sink);
	sp_sink_printf(sink,
		"\"absolute\":%s,\"samples\":[%" PRIu64 ",%" PRIu64 "],\"sigmas\":%.4f,"
		"\"methods\":[",
		d->absolute ? "true" : "false", d->views[0]->samples, d->views[1]->samples,
		d->sigmas);
	for (size_t i = 0; i < d->count; i++) {
		const struct sp_diff_method *m = &d->methods[i];

		sp_sink_puts(sink, i ? ",\n{\"name\":" : "\n{\"name\":");
		sp_json_string(sink, m->name);
		sp_sink_printf(sink,
			",\"samples\":[%" PRIu64 ",%" PRIu64 "],\"self\":[%" PRIu64 ",%" PRIu64
			"],\"change\":%.8g,\"noise\":%.8g}",
			m->samples[0], m->samples[1], m->self[0], m->self[1], m->change, m->noise);
	}
	sp_sink_puts(sink, "]}\n");
	return 0;
}
