/* Executors in the text report, where recordings of several were read. See text_internal.h. */
#include "out/text_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/number.h"

#define EXECUTORS 10

struct line {
	uint32_t executor; /* string */
	uint64_t weight;
};

static int by_weight(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->executor < y->executor ? -1 : x->executor > y->executor;
}

/* The line of @executor: 0 is what has no executor. */
static struct line *line_of(struct line *lines, size_t *count, uint32_t executor)
{
	for (size_t i = 0; i < *count; i++)
		if (lines[i].executor == executor)
			return &lines[i];
	lines[*count].executor = executor;
	return &lines[(*count)++];
}

/* What each had of the view. @by_task: the line of each task. */
static void sum_up(const struct sp_profile *p, const struct sp_view *v, struct line *lines,
	const uint32_t *by_task)
{
	unsigned event = (unsigned)(v->event - p->events);

	for (size_t i = 0; i < p->row_count; i++) {
		const struct sp_sample *x = &p->rows[i];

		if (x->event == event && x->task && v->row_stacks[i])
			lines[by_task[x->task - 1]].weight += x->weight;
	}
}

static const char *host_of(const struct sp_text *t, uint32_t executor)
{
	for (size_t i = 0; i < t->p->placed_count; i++)
		if (t->p->placed[i].executor == executor)
			return sp_text_string(t, t->p->placed[i].host);
	return "-";
}

static void write_line(const struct sp_text *t, const struct sp_view *v, const struct line *x)
{
	char n[SP_NUMBER_SIZE];

	sp_sink_puts(t->sink, "  ");
	sp_text_percent(t, sp_percent(x->weight, v->weight));
	sp_sink_printf(t->sink, "  %12s  %-8s  ", sp_number_unit(x->weight, v->event->unit, n),
		sp_text_string(t, x->executor));
	sp_text_name(t, host_of(t, x->executor), 35);
}

static void write_table(
	const struct sp_text *t, const struct sp_view *v, const struct line *lines, size_t count)
{
	static const char *const units[] = {
		[SP_UNIT_NS] = "time", [SP_UNIT_BYTES] = "size", [SP_UNIT_COUNT] = "events"};
	char title[64], n[SP_NUMBER_SIZE];
	uint64_t rest = 0;

	snprintf(title, sizeof(title), "Executors (%s)", sp_number(count, n));
	sp_text_heading(t, title);
	sp_sink_printf(t->sink, "    share  %12s  executor  host\n", units[v->event->unit]);
	for (size_t i = 0; i < count; i++) {
		if (i < EXECUTORS)
			write_line(t, v, &lines[i]);
		else
			rest += lines[i].weight;
	}
	if (count <= EXECUTORS)
		return;
	sp_sink_puts(t->sink, "  ");
	sp_text_percent(t, sp_percent(rest, v->weight));
	sp_sink_printf(t->sink, "  %12s  %s others\n", sp_number_unit(rest, v->event->unit, n),
		sp_number(count - EXECUTORS, title));
}

int sp_text_executors(const struct sp_text *t, const struct sp_view *v)
{
	const struct sp_profile *p = t->p;
	SP_AUTO_FREE struct line *lines = calloc(p->task_count + 1, sizeof(*lines));
	SP_AUTO_FREE uint32_t *by_task = calloc(p->task_count + 1, sizeof(*by_task));
	size_t count = 0, count_shown;

	if (!lines || !by_task)
		return -ENOMEM;
	for (size_t i = 0; i < p->task_count; i++)
		by_task[i] = (uint32_t)(line_of(lines, &count, p->tasks[i].executor) - lines);
	sum_up(p, v, lines, by_task);
	qsort(lines, count, sizeof(*lines), by_weight);
	for (size_t i = count_shown = 0; i < count; i++)
		if (lines[i].executor && lines[i].weight)
			lines[count_shown++] = lines[i];
	if (count_shown > 1)
		write_table(t, v, lines, count_shown);
	return 0;
}
