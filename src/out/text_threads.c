/* Threads in the text report. Spark renames a worker with each task, and a recording keeps each
 * name as a thread of its own: here they are one again. Threads of a pool, which differ by numbers
 * in their names, are one line with a count. See text_internal.h. */
#include "out/text_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/number.h"
#include "prof/model/task_name.h"

#define THREADS 10

struct line {
	uint32_t tid;
	const char *name;
	bool worker;	 /* of Spark's tasks */
	uint32_t tasks;	 /* whose names it had */
	uint32_t count;	 /* threads of a pool */
	uint32_t differ; /* a bit for each number in their names that is not the same */
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
	struct sp_task_name task;
	bool runs = sp_task_name_parse(name, &task);

	return (struct line){.tid = th ? th->tid : 0,
		.name = name[0] ? name : "(no name)",
		.worker = runs || sp_task_name_idle(name),
		.tasks = runs,
		.count = 1,
		.weight = s->weight};
}

static size_t digits(const char *s)
{
	return strspn(s, "0123456789");
}

/* Whether two names differ by numbers alone; *ret_differ has a bit for each that does. */
static bool same_pool(const char *a, const char *b, uint32_t *ret_differ)
{
	uint32_t differ = 0;

	for (unsigned number = 0; *a && *b;) {
		size_t n = digits(a), m = digits(b);

		if (n == 0 || m == 0) {
			if (*a++ != *b++)
				return false;
			continue;
		}
		if (n != m || memcmp(a, b, n) != 0)
			differ |= 1u << (number < 31 ? number : 31);
		number++;
		a += n;
		b += m;
	}
	*ret_differ = differ;
	return *a == *b && differ;
}

/* Whether @x is the same worker, or of the same pool. */
static bool belongs(struct line *to, const struct line *x)
{
	uint32_t differ;

	if (to->worker || x->worker)
		return to->worker && x->worker && to->tid == x->tid;
	if (!same_pool(to->name, x->name, &differ))
		return false;
	to->differ |= differ;
	to->count += x->count;
	return true;
}

/* Adds to the line that it belongs to, or as a new one. */
static void add_line(struct line *lines, size_t *count, const struct line *x)
{
	for (size_t i = 0; i < *count; i++) {
		if (!belongs(&lines[i], x))
			continue;
		lines[i].weight += x->weight;
		lines[i].tasks += x->tasks;
		return;
	}
	lines[(*count)++] = *x;
}

/* "shuffle-client-4-# (8 threads)" */
static void add_pool(const struct line *x, struct sp_buf *b)
{
	unsigned number = 0;

	for (const char *s = x->name; *s;) {
		size_t n = digits(s);

		if (n == 0) {
			sp_buf_addc(b, *s++);
			continue;
		}
		if (x->differ >> (number < 31 ? number : 31) & 1)
			sp_buf_addc(b, '#');
		else
			sp_buf_add(b, s, n);
		number++;
		s += n;
	}
	sp_buf_addf(b, " (%u threads)", x->count);
}

static void write_line(const struct sp_text *t, const struct sp_view *v, const struct line *x)
{
	SP_AUTO_BUF struct sp_buf name = {0};

	if (x->tasks > 1)
		sp_buf_addf(&name, "Executor task launch worker (%u tasks)", x->tasks);
	else if (x->count > 1)
		add_pool(x, &name);
	else
		sp_buf_adds(&name, x->name);
	sp_sink_puts(t->sink, "  ");
	sp_text_percent(t, sp_percent(x->weight, v->weight));
	if (x->count > 1)
		sp_sink_printf(t->sink, "  %8s  ", "");
	else
		sp_sink_printf(t->sink, "  %8u  ", x->tid);
	sp_text_name(t, sp_text_words(t, &name), 21);
}

int sp_text_threads(const struct sp_text *t, const struct sp_view *v)
{
	SP_AUTO_FREE struct line *lines = calloc(v->thread_count + 1, sizeof(*lines));
	char title[64], n[SP_NUMBER_SIZE];
	uint64_t rest = v->weight;
	size_t count = 0, threads = 0;

	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < v->thread_count; i++) {
		struct line x = line_of(t, &v->threads[i]);

		add_line(lines, &count, &x);
	}
	for (size_t i = 0; i < count; i++)
		threads += lines[i].count;
	qsort(lines, count, sizeof(*lines), by_weight);
	snprintf(title, sizeof(title), "Threads (%s)", sp_number(threads, n));
	sp_text_heading(t, title);
	sp_sink_puts(t->sink, "    share       tid  name\n");
	for (size_t i = 0; i < count && i < THREADS; i++) {
		write_line(t, v, &lines[i]);
		rest -= lines[i].weight;
		threads -= lines[i].count;
	}
	if (count > THREADS) {
		sp_sink_puts(t->sink, "  ");
		sp_text_percent(t, sp_percent(rest, v->weight));
		sp_sink_printf(t->sink, "            %s others\n", sp_number(threads, n));
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
