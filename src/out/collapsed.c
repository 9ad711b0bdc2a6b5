/* "frame;frame;frame N", one line per stack, sorted: what flamegraph.pl, speedscope and most
 * viewers read. Lost samples are lines of their own ("[lost: reason] N"), so that the sum is all
 * that was taken; a stack that was cut starts with "[truncated]". */
#include "out/out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "out/collapsed.h"
#include "base/cleanup.h"
#include "base/safe_text.h"
#include "base/saturate.h"
#include "out/tree.h"
#include "prof/model/frame_name.h"

struct lines {
	struct sp_buf text; /* lines, each with its newline and a NUL */
	size_t *at;	    /* where each starts */
	size_t count;
};

static void lines_done(struct lines *l)
{
	sp_buf_done(&l->text);
	free(l->at);
}

void sp_collapsed_name(const char *name, struct sp_buf *out)
{
	size_t start = out->len;

	sp_safe_people(name, strlen(name), out);
	for (size_t i = start; i < out->len; i++)
		if (out->data[i] == ';')
			out->data[i] = '|';
}

static void add_name(struct sp_buf *b, const char *name)
{
	sp_collapsed_name(name, b);
}

static void end_line(struct lines *l, uint64_t value)
{
	sp_buf_addf(&l->text, " %" PRIu64 "\n", value);
	sp_buf_addc(&l->text, 0);
}

static void add_stack(struct lines *l, const struct sp_view *v, const struct sp_view_stack *s)
{
	if (s->value == 0)
		return;
	l->at[l->count++] = l->text.len;
	for (uint32_t i = 0; i < s->count; i++) {
		if (i > 0)
			sp_buf_addc(&l->text, ';');
		add_name(&l->text, sp_view_get_frame(v, s->frames[i]).name);
	}
	end_line(l, s->value);
}

static void add_lost(struct lines *l, const struct sp_view *v, const struct sp_view_opts *o)
{
	const struct sp_profile *p = v->profile;

	for (unsigned i = 0; i < p->lost_count; i++) {
		uint64_t n = p->lost[i].count;

		l->at[l->count++] = l->text.len;
		sp_buf_adds(&l->text, "[lost: ");
		add_name(&l->text, sp_dict_get_string(p->dict, p->lost[i].text_id, NULL));
		sp_buf_addc(&l->text, ']');
		end_line(l, o->total && v->event && v->event->interval
				    ? sp_saturate_mul(n, v->event->interval)
				    : n);
	}
}

static int compare(const void *a, const void *b, void *text)
{
	return strcmp((char *)text + *(const size_t *)a, (char *)text + *(const size_t *)b);
}

/* With -a a method that ran in several ways on one path is one frame, marked by what it was for the
 * most part: a tree decides that, and each node with samples of its own is a line. */
static void add_node(struct lines *l, const struct sp_tree *t, uint32_t node, uint32_t *path)
{
	uint32_t depth = 0;

	for (uint32_t at = node; at; at = t->nodes[at].parent)
		path[depth++] = at;
	l->at[l->count++] = l->text.len;
	while (depth--) {
		const struct sp_tree_node *n = &t->nodes[path[depth]];

		add_name(&l->text, sp_tree_name(t, n));
		sp_buf_adds(&l->text, sp_frame_name_suffix(sp_tree_type(n)));
		if (depth)
			sp_buf_addc(&l->text, ';');
	}
	end_line(l, t->nodes[node].self[0]);
}

static int add_annotated(struct lines *l, const struct sp_view *v, unsigned lost)
{
	__attribute__((cleanup(sp_tree_done))) struct sp_tree t;
	SP_AUTO_FREE uint32_t *path = calloc(SP_DICT_MAX_FRAMES + 4, sizeof(*path));
	int r = sp_tree_init(&t);

	if (r == 0)
		r = sp_tree_add(&t, v, 0);
	l->at = calloc(t.count + lost + 1, sizeof(*l->at));
	if (!l->at || !path)
		r = -ENOMEM;
	for (uint32_t i = 1; r == 0 && i < t.count; i++)
		if (t.nodes[i].self[0])
			add_node(l, &t, i, path);
	return r;
}

static int add_plain(struct lines *l, const struct sp_view *v, unsigned lost)
{
	l->at = calloc(v->stack_count + lost + 1, sizeof(*l->at));
	if (!l->at)
		return -ENOMEM;
	for (size_t i = 0; i < v->stack_count; i++)
		add_stack(l, v, &v->stacks[i]);
	return 0;
}

int sp_out_collapsed(
	const struct sp_profile *p, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	__attribute__((cleanup(lines_done))) struct lines l = {.count = 0};
	struct sp_view_opts o = opts->view;
	struct sp_view *v;
	int r;

	o.mark_truncated = true;
	o.split_types = o.style.annotate;
	o.style.annotate = false;
	r = sp_view_new(p, &o, &v);
	if (r < 0)
		return r;
	r = o.split_types ? add_annotated(&l, v, p->lost_count) : add_plain(&l, v, p->lost_count);
	/* what was lost belongs to the whole: it has no frame that a filter could look at */
	if (r == 0 && o.include_count + o.exclude_count == 0 && !o.state)
		add_lost(&l, v, &o);
	sp_view_free(v);
	if (r < 0 || l.text.failed)
		return -ENOMEM;
	qsort_r(l.at, l.count, sizeof(*l.at), compare, l.text.data);
	for (size_t i = 0; i < l.count; i++)
		sp_sink_puts(sink, l.text.data + l.at[i]);
	return 0;
}
