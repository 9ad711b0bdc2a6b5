/* "frame;frame;frame N", one line per stack, sorted: what flamegraph.pl, speedscope and most
 * viewers read. Lost samples are lines of their own ("[lost: reason] N"), so that the sum is all
 * that was taken; a stack that was cut starts with "[truncated]". */
#include "out/out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

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

/* ';' separates frames and a newline ends a stack: neither may stand in a name. The format has no
 * escape; async-profiler writes '|' for the first, and so do we. */
static void add_name(struct sp_buf *b, const char *name)
{
	for (; *name; name++) {
		unsigned char c = (unsigned char)*name;

		sp_buf_addc(b, c == ';' ? '|' : c < 0x20 || c == 0x7f ? ' ' : (char)c);
	}
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
		end_line(
			l, o->total && v->event && v->event->interval ? n * v->event->interval : n);
	}
}

static int compare(const void *a, const void *b, void *text)
{
	return strcmp((char *)text + *(const size_t *)a, (char *)text + *(const size_t *)b);
}

int sp_out_collapsed(
	const struct sp_profile *p, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	__attribute__((cleanup(lines_done))) struct lines l = {.count = 0};
	struct sp_view_opts o = opts->view;
	struct sp_view *v;
	int r;

	o.mark_truncated = true;
	r = sp_view_new(p, &o, &v);
	if (r < 0)
		return r;
	l.at = calloc(v->stack_count + p->lost_count + 1, sizeof(*l.at));
	for (size_t i = 0; l.at && i < v->stack_count; i++)
		add_stack(&l, v, &v->stacks[i]);
	/* what was lost belongs to the whole: it has no frame that a filter could look at */
	if (l.at && o.include_count + o.exclude_count == 0 && !o.state)
		add_lost(&l, v, &o);
	sp_view_free(v);
	if (!l.at || l.text.failed)
		return -ENOMEM;
	qsort_r(l.at, l.count, sizeof(*l.at), compare, l.text.data);
	for (size_t i = 0; i < l.count; i++)
		sp_sink_puts(sink, l.text.data + l.at[i]);
	return 0;
}
