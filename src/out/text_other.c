/* What "other" is made of, where it is much, in the text report: see text_internal.h. */
#include "out/text_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/elide.h"
#include "out/number.h"
#include "prof/spark/area.h"
#include "prof/spark/time_class.h"

enum { PARTS = 3 };
static const double least = 3; /* percent */

static void free_areas(struct sp_areas **a)
{
	sp_areas_free(*a);
}

static void free_spent(struct sp_time_class_of **s)
{
	sp_time_class_free(*s);
}

/* The method that represents a stack: its first one of Java, else its leaf. */
static uint32_t method_of(const struct sp_dict *d, const struct sp_stack *st)
{
	for (uint32_t i = 0; st && i < st->count; i++) {
		const struct sp_method *m = sp_dict_get_method(d, st->frames[i].method);

		if (m && !m->native && m->name_id)
			return st->frames[i].method;
	}
	return st && st->count ? st->frames[0].method : 0;
}

/* Whether a row counts as "other": of wall by its time class, else by area. */
static bool is_other(const struct sp_profile *p, const struct sp_sample *x, struct sp_areas *areas,
	struct sp_time_class_of *spent)
{
	const struct sp_stack *st;
	unsigned area;

	if (spent)
		return sp_time_class_of_row(spent, x) == SP_TIME_CLASS_OTHER;
	st = sp_dict_get_stack(p->dict, x->stack);
	area = sp_area_of_stack(areas, p->dict, st ? st->frames : NULL, st ? st->count : 0);
	return strcmp(sp_areas_get(areas, area)->name, "other") == 0;
}

/* "Other, 5.2 %: a.B.c 3.1 %, a.B.d 1.0 %" */
static void write_parts(const struct sp_text *t, uint64_t *sums, size_t methods, uint64_t all)
{
	static const struct sp_style dotted = {.dotted = true};
	SP_AUTO_BUF struct sp_buf words = {0}, lines = {0};
	uint64_t other = 0;

	for (size_t i = 0; i < methods; i++)
		other += sums[i];
	if (sp_percent(other, all) < least)
		return;
	sp_buf_addf(&words, "Other, %.1f %%:", sp_percent(other, all));
	for (unsigned n = 0; n < PARTS; n++) {
		struct sp_frame_ref f = {.type = SP_FRAME_C2};

		for (uint32_t i = 0; i < methods; i++)
			f.method = sums[i] > sums[f.method] ? i : f.method;
		if (!sums[f.method])
			break;
		sp_buf_adds(&words, n ? ", " : " ");
		sp_frame_name(t->p->dict, &f, &dotted, &words);
		sp_buf_addf(&words, " %.1f %%", sp_percent(sums[f.method], all));
		sums[f.method] = 0;
	}
	sp_elide_wrap(sp_buf_str(&words), 2, 4, t->width, &lines);
	sp_sink_printf(t->sink, "\n  %s\n", sp_buf_str(&lines));
}

int sp_text_other(const struct sp_text *t, const struct sp_view *v)
{
	const struct sp_profile *p = t->p;
	const char *event = v->event ? sp_dict_get_string(p->dict, v->event->name_id, NULL) : "";
	__attribute__((cleanup(free_areas))) struct sp_areas *own = NULL;
	__attribute__((cleanup(free_spent))) struct sp_time_class_of *spent = NULL;
	struct sp_areas *areas = t->o->view.areas;
	size_t methods = sp_dict_methods(p->dict) + 1ul;
	SP_AUTO_FREE uint64_t *sums = calloc(methods, sizeof(*sums));
	int r = sums ? 0 : -ENOMEM;

	if (r < 0 || !v->event || v->event->unit != SP_UNIT_NS || p->task_count == 0)
		return r;
	if (r == 0 && strcmp(event, "wall") == 0)
		r = sp_time_class_new(&spent, p);
	else if (r == 0 && !areas)
		r = sp_areas_new(&own, NULL, NULL);
	for (size_t i = 0; i < p->row_count && r == 0; i++) {
		const struct sp_sample *x = &p->rows[i];

		if (&p->events[x->event] == v->event && v->row_stacks[i] &&
			is_other(p, x, areas ? areas : own, spent))
			sums[method_of(p->dict, sp_dict_get_stack(p->dict, x->stack))] += x->weight;
	}
	if (r == 0)
		write_parts(t, sums, methods, v->weight);
	return r;
}
