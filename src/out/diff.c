/* Comparing two profiles: see diff.h.
 *
 * Noise: samples are taken as independent. Of N0 and N1 samples, k0 and k1 hold the method; the
 * difference of shares has the standard error sqrt(p(1-p)(1/N0 + 1/N1)) with the pooled share p
 * (absolute: sqrt(k0 + k1), Poisson). A table of m methods shows the largest of m differences, so
 * the bound is set where chance alone puts one method in twenty such tables beyond it (Bonferroni).
 */
#include "out/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static bool is_plain(const struct sp_profile *p)
{
	return p->event_count == 1 && strcmp(sp_profile_event_name(p, 0), "samples") == 0;
}

/* The first event that both have, the base's order. */
static bool common_event(const struct sp_profile *a, const struct sp_profile *b, const char **ret_a,
	const char **ret_b)
{
	for (unsigned i = 0; i < a->event_count; i++) {
		for (unsigned k = 0; k < b->event_count; k++) {
			if (!a->events[i].samples || !b->events[k].samples ||
				strcmp(sp_profile_event_name(a, i), sp_profile_event_name(b, k)) !=
					0)
				continue;
			*ret_a = *ret_b = sp_profile_event_name(a, i);
			return true;
		}
	}
	/* text does not say what it counts: then it is whatever the other one is */
	*ret_a = *ret_b = NULL;
	return is_plain(a) || is_plain(b);
}

/* The bound in standard errors for @tests comparisons: the normal quantile of 1 - 0.025 / tests,
 * by bisection on erfc. */
double sp_diff_bound(size_t tests)
{
	double tail = 0.025 / (double)(tests ? tests : 1), low = 0, high = 12;

	for (int i = 0; i < 60; i++) {
		double mid = (low + high) / 2;

		if (erfc(mid / M_SQRT2) / 2 > tail)
			low = mid;
		else
			high = mid;
	}
	return high;
}

/* Samples of each method on one side; @rows is by string of the tree. */
static int count_side(struct sp_diff *d, unsigned side, uint32_t *rows)
{
	const struct sp_view *v = d->views[side];
	uint32_t frames = sp_view_frames(v);
	SP_AUTO_FREE uint32_t *by_frame = calloc(frames + 1ul, sizeof(*by_frame));
	SP_AUTO_FREE size_t *seen = calloc(sp_dict_strings(d->tree.names) + 1ul, sizeof(*seen));

	if (!by_frame || !seen)
		return -ENOMEM;
	for (uint32_t i = 1; i <= frames; i++) {
		struct sp_view_frame f = sp_view_get_frame(v, i);
		const char *name = f.name;
		uint32_t id = sp_dict_string(d->tree.names, name, strlen(name));

		if (!rows[id]) {
			d->methods[d->count].name = sp_dict_get_string(d->tree.names, id, NULL);
			d->methods[d->count].java = f.java;
			rows[id] = (uint32_t)++d->count;
		}
		by_frame[i] = rows[id];
	}
	for (size_t i = 0; i < v->stack_count; i++) {
		const struct sp_view_stack *s = &v->stacks[i];

		for (uint32_t f = 0; f < s->count; f++) {
			uint32_t row = by_frame[s->frames[f]];

			if (seen[row] != i + 1)
				d->methods[row - 1].samples[side] += s->samples;
			seen[row] = i + 1;
			if (f == s->count - 1)
				d->methods[row - 1].self[side] += s->samples;
		}
	}
	return 0;
}

static void judge_method(struct sp_diff *d, struct sp_diff_method *m)
{
	double n0 = (double)d->views[0]->samples, n1 = (double)d->views[1]->samples;
	double k0 = (double)m->samples[0], k1 = (double)m->samples[1], p;

	if (d->absolute) {
		m->share[0] = k0;
		m->share[1] = k1;
		m->noise = d->sigmas * sqrt(k0 + k1);
	} else {
		p = (k0 + k1) / (n0 + n1);
		m->share[0] = n0 > 0 ? k0 / n0 : 0;
		m->share[1] = n1 > 0 ? k1 / n1 : 0;
		m->noise = n0 > 0 && n1 > 0 ? d->sigmas * sqrt(p * (1 - p) * (1 / n0 + 1 / n1)) : 1;
	}
	m->change = m->share[1] - m->share[0];
}

static double beyond(const struct sp_diff_method *m)
{
	return fabs(m->change) - m->noise;
}

static int by_change(const void *a, const void *b)
{
	const struct sp_diff_method *x = a, *y = b;
	double dx = beyond(x), dy = beyond(y);

	if (dx != dy)
		return dx > dy ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int count_methods(struct sp_diff *d)
{
	size_t strings = sp_dict_strings(d->tree.names) + 1ul;
	SP_AUTO_FREE uint32_t *rows = calloc(strings, sizeof(*rows));
	int r;

	d->methods = calloc(strings, sizeof(*d->methods));
	if (!rows || !d->methods)
		return -ENOMEM;
	r = count_side(d, SP_DIFF_BASE, rows);
	if (r == 0)
		r = count_side(d, SP_DIFF_NEW, rows);
	d->sigmas = sp_diff_bound(d->count);
	for (size_t i = 0; i < d->count; i++)
		judge_method(d, &d->methods[i]);
	if (d->count)
		qsort(d->methods, d->count, sizeof(*d->methods), by_change);
	return r;
}

int sp_diff_init(struct sp_diff *d, const struct sp_profile *base, const struct sp_profile *new,
	const struct sp_run_match *match, const struct sp_view_opts *opts, bool absolute)
{
	struct sp_view_opts o = *opts, o2;
	int r;

	memset(d, 0, sizeof(*d));
	d->absolute = absolute;
	r = sp_tree_init(&d->tree);
	o.style.annotate = false;
	o.split_types = true;
	o.style.stable = true; /* two JVMs number the same lambda differently */
	o2 = o;
	if (!common_event(base, new, &o.event, &o2.event))
		return -ENOENT;
	if (r == 0)
		r = sp_view_new(base, &o, &d->views[SP_DIFF_BASE]);
	if (r == 0)
		r = sp_view_new(new, &o2, &d->views[SP_DIFF_NEW]);
	for (unsigned i = 0; i < 2 && r == 0; i++)
		r = sp_tree_add(&d->tree, d->views[i], i);
	if (r == 0)
		r = count_methods(d);
	if (r == 0)
		r = sp_diff_count(d, match);
	if (r < 0)
		return r;
	d->scale = absolute || !d->views[0]->value
			   ? 1
			   : (double)d->views[1]->value / (double)d->views[0]->value;
	return 0;
}

void sp_diff_done(struct sp_diff *d)
{
	sp_tree_done(&d->tree);
	sp_view_free(d->views[0]);
	sp_view_free(d->views[1]);
	free(d->methods);
	free(d->stages.list);
	free(d->waits.list);
}

const char *sp_diff_name(const struct sp_diff *d, unsigned side)
{
	static const char *const plain[] = {"base", "new"};

	return d->names[side] ? d->names[side] : plain[side];
}

const char *sp_diff_event(const struct sp_diff *d)
{
	const struct sp_event *e = d->views[SP_DIFF_BASE]->event;

	return e ? sp_dict_get_string(d->views[SP_DIFF_BASE]->profile->dict, e->name_id, NULL)
		 : "samples";
}

sp_diff_fn *sp_diff_writer(const char *format)
{
	static const struct {
		const char *name;
		sp_diff_fn *write;
	} writers[] = {
		{"text", sp_diff_text},
		{"collapsed", sp_diff_collapsed},
		{"csv", sp_diff_csv},
		{"json", sp_diff_json},
		{"html", sp_diff_html},
		{"svg", sp_diff_svg},
	};

	for (size_t i = 0; i < SP_COUNT(writers); i++)
		if (strcmp(writers[i].name, format) == 0)
			return writers[i].write;
	return NULL;
}
