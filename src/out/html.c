/* Writing the report page: see html.h. The page marks the places of what is put into it by
 * comments. */
#include "out/html.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "out/diff.h"
#include "out/escape.h"
#include "out/hot_methods.h"
#include "out/number.h"
#include "out/pagedata.h"
#include "page/page.h"
#include "prof/load/load.h"

/* What a page is made of. */
struct source {
	struct sp_buf data; /* owned: see pagedata.h */
	size_t rest;
	const struct sp_profile *p;
	const struct sp_diff *diff; /* NULL: one profile */
	const struct sp_out_opts *opts;
};

enum { TABLE_ROWS = 30, CHUNK = 48 << 10 /* a multiple of 3, as base64 wants it */ };

static void put_base64(struct sp_sink *sink, const unsigned char *p, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char out[CHUNK / 3 * 4 + 4];
	size_t len = 0;

	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) |
			     (i + 2 < n ? p[i + 2] : 0);

		out[len++] = digits[v >> 18];
		out[len++] = digits[v >> 12 & 63];
		out[len++] = i + 1 < n ? digits[v >> 6 & 63] : '=';
		out[len++] = i + 2 < n ? digits[v & 63] : '=';
	}
	sp_sink_write(sink, out, len);
}

static int put_deflated(struct sp_sink *sink, const char *data, size_t len)
{
	unsigned char out[CHUNK];
	z_stream z = {0};
	int r;

	if (deflateInit(&z, Z_DEFAULT_COMPRESSION) != Z_OK)
		return -ENOMEM;
	z.next_in = (unsigned char *)data;
	z.avail_in = (uInt)len;
	do {
		z.next_out = out;
		z.avail_out = CHUNK;
		r = deflate(&z, Z_FINISH);
		put_base64(sink, out, CHUNK - z.avail_out);
	} while (r == Z_OK);
	deflateEnd(&z);
	return r == Z_STREAM_END ? 0 : -ENOMEM;
}

/* Bytes @at to @end - 1 of the data as an element. */
static int put_data(
	const struct source *from, const char *id, size_t at, size_t end, struct sp_sink *sink)
{
	int r;

	sp_sink_printf(sink, "<script type=\"text/plain\" id=\"%s\">", id);
	r = put_deflated(sink, from->data.data + at, end - at);
	sp_sink_puts(sink, "</script>");
	return r;
}

static void put_text(struct sp_sink *sink, const char *s)
{
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	sp_escape_markup(s, strlen(s), &b);
	sp_sink_write(sink, b.data, b.len);
	if (b.failed && sink->error == 0)
		sink->error = -ENOMEM;
}

static void put_title(const struct source *from, struct sp_sink *sink)
{
	const struct sp_profile *p = from->p;
	uint32_t id = p->title_id ? p->title_id : p->target_id;

	sp_sink_puts(sink, "<title>");
	if (from->diff) {
		put_text(sink, sp_diff_name(from->diff, SP_DIFF_BASE));
		sp_sink_puts(sink, " → ");
		put_text(sink, sp_diff_name(from->diff, SP_DIFF_NEW));
		sp_sink_puts(sink, " – ");
	} else if (id) {
		put_text(sink, sp_dict_get_string(p->dict, id, NULL));
		sp_sink_puts(sink, " – ");
	}
	sp_sink_puts(sink, "sparkprof</title>");
}

static void put_row(struct sp_sink *sink, const struct sp_view *v, const struct sp_hot_method *m)
{
	char self[SP_NUMBER_SIZE], total[SP_NUMBER_SIZE];

	sp_sink_printf(sink,
		"<tr><td>%.2f %%</td><td>%s</td><td>%.2f %%</td><td>%s</td><th scope=\"row\">",
		sp_percent(m->self, v->weight), sp_number_unit(m->self, v->event->unit, self),
		sp_percent(m->total, v->weight), sp_number_unit(m->total, v->event->unit, total));
	put_text(sink, m->name);
	sp_sink_puts(sink, "</th></tr>\n");
}

/* The hot methods as plain text of the page: what a browser without script or without inflating
 * shows, and what screen readers and searches find. */
static int put_table(
	const struct sp_profile *p, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	struct sp_view *v;
	struct sp_hot_methods hot = {0};
	int r = sp_view_new(p, &opts->view, &v);

	if (r < 0)
		return r;
	r = v->event ? sp_hot_methods_init(&hot, v, 0) : 0;
	if (r == 0) {
		sp_sink_puts(sink,
			"<table><caption>Hot methods</caption><thead><tr><th>Self</th><th></th>"
			"<th>Total</th><th></th><th>Method</th></tr></thead><tbody>\n");
		for (size_t i = 0; i < hot.count && i < TABLE_ROWS && hot.methods[i].total > 0; i++)
			put_row(sink, v, &hot.methods[i]);
		sp_sink_puts(sink, "</tbody></table>");
	}
	sp_hot_methods_done(&hot);
	sp_view_free(v);
	return r;
}

static void put_amount(
	const struct sp_diff *d, const struct sp_diff_amount *a, struct sp_sink *sink)
{
	const double values[] = {(double)a->weight[0], (double)a->weight[1],
		(double)a->weight[1] - (double)a->weight[0], a->noise};
	char text[48];

	sp_sink_puts(sink, "<tr>");
	for (size_t k = 0; k < SP_COUNT(values); k++)
		sp_sink_printf(sink, "<td>%s</td>",
			k < 2 && !a->there[k]
				? "–"
				: sp_diff_format(d, values[k], k == 2, text, sizeof(text)));
	sp_sink_puts(sink, "<th scope=\"row\">");
	put_text(sink, a->name);
	sp_sink_puts(sink, a->title[0] ? ": " : "");
	put_text(sink, a->title);
	sp_sink_puts(sink, "</th></tr>\n");
}

/* In all, by stage, by time class. */
static void put_amounts(const struct sp_diff *d, struct sp_sink *sink)
{
	sp_sink_puts(sink, "<table><caption>Time</caption><thead><tr><th>Base</th><th>New</th>"
			   "<th>Change</th><th>Chance</th><th></th></tr></thead><tbody>\n");
	put_amount(d, &d->total, sink);
	for (size_t i = 0; i < d->stages.count && i < TABLE_ROWS; i++)
		put_amount(d, &d->stages.list[i], sink);
	for (size_t i = 0; i < d->waits.count; i++)
		put_amount(d, &d->waits.list[i], sink);
	sp_sink_puts(sink, "</tbody></table>");
}

/* What changed most, beyond chance first. */
static void put_changes(const struct sp_diff *d, struct sp_sink *sink)
{
	const char *format = d->absolute ? "<td>%.0f</td>" : "<td>%.2f %%</td>";
	double scale = d->absolute ? 1 : 100;

	sp_sink_puts(sink, "<table><caption>Changes</caption><thead><tr><th>Base</th><th>New</th>"
			   "<th>Change</th><th>Chance</th><th>Method</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < d->count && i < TABLE_ROWS; i++) {
		const struct sp_diff_method *m = &d->methods[i];
		const double values[] = {m->share[0], m->share[1], m->change, m->noise};

		sp_sink_puts(sink, "<tr>");
		for (size_t k = 0; k < SP_COUNT(values); k++)
			sp_sink_printf(sink, format, scale * values[k]);
		sp_sink_puts(sink, "<th scope=\"row\">");
		put_text(sink, m->name);
		sp_sink_puts(sink, "</th></tr>\n");
	}
	sp_sink_puts(sink, "</tbody></table>");
}

static void put_summary(const struct source *from, struct sp_sink *sink)
{
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	sp_out_summary(from->p, &b);
	put_text(sink, sp_buf_str(&b));
}

static int put_mark(const struct source *from, const char *mark, struct sp_sink *sink)
{
	if (strncmp(mark, "data", 4) == 0)
		return put_data(from, "data", 0, from->rest, sink);
	if (strncmp(mark, "rest", 4) == 0)
		return put_data(from, "rest", from->rest, from->data.len, sink);
	if (strncmp(mark, "table", 5) == 0 && !from->diff)
		return put_table(from->p, from->opts, sink);
	if (strncmp(mark, "table", 5) == 0) {
		put_amounts(from->diff, sink);
		put_changes(from->diff, sink);
	} else if (strncmp(mark, "title", 5) == 0)
		put_title(from, sink);
	else if (strncmp(mark, "summary", 7) == 0)
		put_summary(from, sink);
	return 0;
}

static int put_page(const struct source *from, struct sp_sink *sink)
{
	static const char mark[] = "<!--sparkprof:";
	const char *at = sp_page_html, *end = sp_page_html_end, *next;
	int r = 0;

	while (r == 0 && (next = memmem(at, (size_t)(end - at), mark, strlen(mark)))) {
		sp_sink_write(sink, at, (size_t)(next - at));
		at = next + strlen(mark);
		r = put_mark(from, at, sink);
		at = strstr(at, "-->") + 3; /* src/page/pack.py has checked the marks */
	}
	sp_sink_write(sink, at, (size_t)(end - at));
	return r;
}

static int write_page(const struct sp_profile *p, const struct sp_diff *diff,
	const struct sp_out_opts *opts, struct sp_sink *sink)
{
	struct source from = {.p = p, .diff = diff, .opts = opts};
	int r;

	sp_buf_init(&from.data);
	r = sp_pagedata(p, diff, opts, &from.data, &from.rest);
	if (r == 0)
		r = from.data.len > UINT32_MAX ? -EFBIG : put_page(&from, sink);
	sp_buf_done(&from.data);
	return r;
}

int sp_out_html(const struct sp_profile *p, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	struct sp_out_opts o = *opts;

	o.view.style.stable =
		true; /* tasks of two executors have the same lambdas by other numbers */
	return write_page(p, NULL, &o, sink);
}

/* Adds one side to @p as an event of its own. */
static int add_side(struct sp_profile *p, const struct sp_view *v, const char *name)
{
	const struct sp_event *e = v->event;
	unsigned before = p->event_count;
	uint32_t id = sp_dict_string(p->dict, name, strlen(name)), mask = (1u << before) - 1;
	int r = id ? sp_profile_merge(p, v->profile) : -ENOMEM;

	if (r == 0 && e)
		r = sp_profile_keep_events(p, mask | 1u << (before + (e - v->profile->events)));
	if (r == 0 && p->event_count > before)
		p->events[before].name_id = id;
	return r;
}

int sp_diff_html(const struct sp_diff *d, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	struct sp_out_opts o = *opts;
	struct sp_profile *p;
	int r = sp_profile_new(&p, SP_LOAD_DICT_CAP);

	if (r < 0)
		return r;
	o.view.event = NULL;
	o.view.style.annotate = false; /* as the comparison's own views */
	o.view.style.stable = true;
	for (unsigned i = 0; i < 2 && r == 0; i++) /* no event of a recording is called that */
		r = add_side(p, d->views[i], i == SP_DIFF_BASE ? "\001base" : "\001new");
	if (r == 0)
		r = write_page(p, d, &o, sink);
	sp_profile_free(p);
	return r;
}
