/* Writing the report page: see html.h. The page marks the places of what is put into it by
 * comments. */
#include "out/html.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "out/escape.h"
#include "out/hot.h"
#include "out/number.h"
#include "out/pagedata.h"
#include "page/page.h"

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

static int put_deflated(struct sp_sink *sink, const struct sp_buf *data)
{
	unsigned char out[CHUNK];
	z_stream z = {0};
	int r;

	if (deflateInit(&z, Z_DEFAULT_COMPRESSION) != Z_OK)
		return -ENOMEM;
	z.next_in = (unsigned char *)data->data;
	z.avail_in = (uInt)data->len;
	do {
		z.next_out = out;
		z.avail_out = CHUNK;
		r = deflate(&z, Z_FINISH);
		put_base64(sink, out, CHUNK - z.avail_out);
	} while (r == Z_OK);
	deflateEnd(&z);
	return r == Z_STREAM_END ? 0 : -ENOMEM;
}

static int put_data(
	const struct sp_profile *p, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	SP_AUTO_BUF struct sp_buf data;
	int r;

	sp_buf_init(&data);
	r = sp_pagedata(p, opts, &data);
	if (r < 0)
		return r;
	if (data.len > UINT32_MAX)
		return -EFBIG;
	sp_sink_puts(sink, "<script type=\"text/plain\" id=\"data\">");
	r = put_deflated(sink, &data);
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

static void put_title(const struct sp_profile *p, struct sp_sink *sink)
{
	uint32_t id = p->title_id ? p->title_id : p->target_id;

	sp_sink_puts(sink, "<title>");
	if (id) {
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
	struct sp_hot hot = {0};
	int r = sp_view_new(p, &opts->view, &v);

	if (r < 0)
		return r;
	r = v->event ? sp_hot_init(&hot, v) : 0;
	if (r == 0) {
		sp_sink_puts(sink,
			"<table><caption>Hot methods</caption><thead><tr><th>Self</th><th></th>"
			"<th>Total</th><th></th><th>Method</th></tr></thead><tbody>\n");
		for (size_t i = 0; i < hot.count && i < TABLE_ROWS && hot.methods[i].total > 0; i++)
			put_row(sink, v, &hot.methods[i]);
		sp_sink_puts(sink, "</tbody></table>");
	}
	sp_hot_done(&hot);
	sp_view_free(v);
	return r;
}

static void put_summary(const struct sp_profile *p, struct sp_sink *sink)
{
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	sp_out_summary(p, &b);
	put_text(sink, sp_buf_str(&b));
}

int sp_out_html(const struct sp_profile *p, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	static const char mark[] = "<!--sparkprof:";
	const char *at = sp_page_html, *end = sp_page_html_end, *next;
	int r = 0;

	while (r == 0 && (next = memmem(at, (size_t)(end - at), mark, strlen(mark)))) {
		sp_sink_write(sink, at, (size_t)(next - at));
		at = next + strlen(mark);
		if (strncmp(at, "title", 5) == 0)
			put_title(p, sink);
		else if (strncmp(at, "summary", 7) == 0)
			put_summary(p, sink);
		else if (strncmp(at, "table", 5) == 0)
			r = put_table(p, opts, sink);
		else if (strncmp(at, "data", 4) == 0)
			r = put_data(p, opts, sink);
		at = strstr(at, "-->") + 3; /* src/page/pack.py has checked the marks */
	}
	sp_sink_write(sink, at, (size_t)(end - at));
	return r;
}
