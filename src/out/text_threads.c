/* Threads in the text report. Spark renames a worker with each task, and a recording keeps each
 * name as a thread of its own: here they are one again. See text_in.h. */
#include "out/text_in.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/number.h"
#include "prof/taskname.h"

#define THREADS 10

struct line {
	uint32_t tid;
	const char *name;
	bool worker;	/* of Spark's tasks */
	uint32_t tasks; /* whose names it had */
	uint64_t weight;
};

static int by_weight(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static struct line line_of(const struct sp_text *t, const struct sp_view_share *s)
{
	const struct sp_thread *th = sp_dict_get_thread(t->p->dict, s->id);
	const char *name = th ? sp_text_string(t, th->name_id) : "";
	struct sp_taskname task;
	bool runs = sp_taskname_parse(name, &task);

	return (struct line){.tid = th ? th->tid : 0,
		.name = name[0] ? name : "(no name)",
		.worker = runs || sp_taskname_idle(name),
		.tasks = runs,
		.weight = s->weight};
}

/* Adds to the line of the same worker, or as a new one. */
static void add_line(struct line *lines, size_t *count, const struct line *x)
{
	for (size_t i = 0; i < *count && x->worker; i++) {
		if (!lines[i].worker || lines[i].tid != x->tid)
			continue;
		lines[i].weight += x->weight;
		lines[i].tasks += x->tasks;
		return;
	}
	lines[(*count)++] = *x;
}

static void write_line(const struct sp_text *t, const struct sp_view *v, const struct line *x)
{
	char name[64];

	snprintf(name, sizeof(name), "Executor task launch worker (%u tasks)", x->tasks);
	sp_sink_puts(t->sink, "  ");
	sp_text_percent(t, sp_percent(x->weight, v->weight));
	sp_sink_printf(t->sink, "  %8u  ", x->tid);
	sp_text_name(t, x->tasks > 1 ? name : x->name, 21);
}

int sp_text_threads(const struct sp_text *t, const struct sp_view *v)
{
	SP_AUTO_FREE struct line *lines = calloc(v->thread_count + 1, sizeof(*lines));
	char title[64], n[SP_NUMBER_SIZE];
	uint64_t rest = v->weight;
	size_t count = 0;

	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < v->thread_count; i++) {
		struct line x = line_of(t, &v->threads[i]);

		add_line(lines, &count, &x);
	}
	qsort(lines, count, sizeof(*lines), by_weight);
	snprintf(title, sizeof(title), "Threads (%s)", sp_number(count, n));
	sp_text_heading(t, title);
	sp_sink_puts(t->sink, "    share       tid  name\n");
	for (size_t i = 0; i < count && i < THREADS; i++) {
		write_line(t, v, &lines[i]);
		rest -= lines[i].weight;
	}
	if (count > THREADS) {
		sp_sink_puts(t->sink, "  ");
		sp_text_percent(t, sp_percent(rest, v->weight));
		sp_sink_printf(t->sink, "            %s others\n", sp_number(count - THREADS, n));
	}
	return 0;
}

void sp_text_holders(const struct sp_text *t, const struct sp_view *v)
{
	char title[64], n[SP_NUMBER_SIZE];

	if (!v->holder_count)
		return;
	snprintf(title, sizeof(title), "Monitors held by (%s)", sp_number(v->holder_count, n));
	sp_text_heading(t, title);
	sp_sink_puts(t->sink, "    share          time  thread\n");
	for (size_t i = 0; i < v->holder_count && i < THREADS; i++) {
		const struct sp_view_share *s = &v->holders[i];

		sp_sink_puts(t->sink, "  ");
		sp_text_percent(t, sp_percent(s->weight, v->weight));
		sp_sink_printf(t->sink, "  %12s  ", sp_number_unit(s->weight, v->event->unit, n));
		sp_text_name(t, sp_text_string(t, s->id), 25);
	}
}
