/* Operators of the queries' plans in the text report: which of them the time went to. See
 * text_internal.h and prof/spark/operators.h. */
#include "out/text_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "prof/spark/operators.h"

#define OPERATORS 8
#define LEAST	  1.0 /* percent of all that is shown */

struct line {
	char *name; /* owned */
	uint64_t weight;
};

struct lines {
	struct line *list; /* owned */
	size_t count;
};

static void lines_done(struct lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->list[i].name);
	free(l->list);
}

static void free_operators(struct sp_operators **o)
{
	sp_operators_free(*o);
}

static int add_weight(struct lines *l, const char *name, uint64_t weight)
{
	for (size_t i = 0; i < l->count; i++) {
		if (strcmp(l->list[i].name, name) != 0)
			continue;
		l->list[i].weight += weight;
		return 0;
	}
	if (sp_grow_one(&l->list, l->count, sizeof(*l->list)) < 0)
		return -ENOMEM;
	l->list[l->count] = (struct line){strdup(name), weight};
	return l->list[l->count++].name ? 0 : -ENOMEM;
}

static int by_weight(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int gather(const struct sp_text *t, const struct sp_view *v, struct lines *l)
{
	__attribute__((cleanup(free_operators))) struct sp_operators *o = NULL;
	unsigned event = (unsigned)(v->event - t->p->events);
	int r = sp_operators_new(&o, t->p);

	for (size_t i = 0; r == 0 && i < t->p->row_count; i++) {
		SP_AUTO_BUF struct sp_buf name = {0};

		if (t->p->rows[i].event == event && v->row_stacks[i] &&
			sp_operators_name(o, &t->p->rows[i], &name))
			r = add_weight(l, sp_buf_str(&name), t->p->rows[i].weight);
	}
	return r;
}

int sp_text_operators(const struct sp_text *t, const struct sp_view *v)
{
	__attribute__((cleanup(lines_done))) struct lines l = {0};
	int r = t->p->task_count ? gather(t, v, &l) : 0;

	if (r < 0 || l.count == 0)
		return r;
	qsort(l.list, l.count, sizeof(*l.list), by_weight);
	for (size_t i = 0; i < l.count && i < OPERATORS; i++) {
		double share = 100.0 * (double)l.list[i].weight / (double)v->weight;

		if (share < LEAST)
			break;
		if (i == 0) {
			sp_text_heading(t, "Operators");
			sp_sink_puts(t->sink, "    share  operators of the query's plan\n");
		}
		sp_sink_puts(t->sink, "  ");
		sp_text_percent(t, share);
		sp_sink_puts(t->sink, "  ");
		sp_text_name(t, l.list[i].name, 11);
	}
	return 0;
}
