/* Drawing the SVG: see svg.h. The tree is drawn with ever coarser minimum widths until it fits. */
#include "out/svg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/diff.h"
#include "out/escape.h"
#include "out/number.h"
#include "out/svg_internal.h"
#include "page/page.h"

enum { WIDTH = 1200, ROW = 18, MARGIN = 10, TOP = 56, FOOT = 34, ROWS_MAX = 4096 };
enum { TALL = 50 }; /* rows of a screen: of a taller picture the root is on top */

#define FINEST	   0.3 /* pixels; narrower frames are never drawn */
#define COARSEST   2.4 /* then rows are left out */
#define TOWER	   4.0 /* what is narrower ends with the screen */
#define LETTER	   6.6 /* pixels of a letter, on average */
#define SCRIPT_MAX (16u << 10)

static const char *const fills[SP_FRAME_TYPES] = {
	[SP_FRAME_INTERPRETED] = "#e0ccaa",
	[SP_FRAME_C1] = "#cfdcb3",
	[SP_FRAME_C2] = "#b7dbc3",
	[SP_FRAME_INLINED] = "#b9dcd7",
	[SP_FRAME_NATIVE] = "#b7c8de",
	[SP_FRAME_CPP] = "#ecd995",
	[SP_FRAME_KERNEL] = "#ecbdb0",
	[SP_FRAME_PYTHON] = "#c9c3ea",
};

static void put_name(struct sp_buf *out, const char *name, size_t room)
{
	size_t n = strlen(name);

	if (n <= room) {
		sp_escape_markup(name, n, out);
		return;
	}
	if (room < 4)
		return;
	for (n = room - 2; n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80;)
		n--; /* never inside of a character */
	sp_escape_markup(name, n, out);
	sp_buf_adds(out, "…");
}

/* "java/lang/Thread.run" has its end for what fits: the method says more than the package. Not so
 * in C++ and in what the JVM calls its own code, "I2C/C2I adapters". */
static const char *short_name(const char *name)
{
	const char *end = strchr(name, '('), *slash;

	slash = memrchr(name, '/', end ? (size_t)(end - name) : strlen(name));
	return slash && !strstr(name, "::") && !memchr(name, ' ', strcspn(name, "(")) ? slash + 1
										      : name;
}

static void put_value(struct sp_svg *d, uint64_t value)
{
	char text[SP_NUMBER_SIZE];
	const struct sp_event *e = d->v->event;

	sp_buf_addf(&d->out, "%s, %.2f %%",
		d->v->value == d->v->weight && e ? sp_number_unit(value, e->unit, text)
						 : sp_number(value, text),
		sp_percent(value, d->whole));
}

/* "base 12.00 % → new 14.00 %", or as numbers. */
static void put_sides(struct sp_svg *d, uint32_t node)
{
	char text[2][SP_NUMBER_SIZE];

	for (unsigned i = 0; i < 2; i++) {
		uint64_t v = d->sides[i][node];

		if (d->diff->absolute)
			sp_number(v, text[i]);
		else
			snprintf(text[i], sizeof(text[i]), "%.2f %%",
				sp_percent(v, d->diff->views[i]->value));
	}
	sp_buf_addf(&d->out, "base %s → new %s%s", text[0], text[1],
		!d->sides[0][node]   ? ", new"
		: !d->sides[1][node] ? ", vanished"
				     : "");
}

/* From blue (only in the base) over grey to red (only in the new one). */
static const char *change_fill(struct sp_svg *d, uint32_t node, char buf[8])
{
	static const int same[] = {0xe4, 0xe6, 0xe9}, more[] = {0xe8, 0x6a, 0x5a},
			 less[] = {0x5b, 0x94, 0xe3};
	double a = (double)d->sides[0][node] * d->diff->scale, b = (double)d->sides[1][node];
	double change = a + b > 0 ? (b - a) / (a + b) * 1.4 : 0, by = change < 0 ? -change : change;
	const int *to = change < 0 ? less : more;
	int c[3];

	by = by > 1 ? 1 : by;
	for (int i = 0; i < 3; i++)
		c[i] = same[i] + (int)((to[i] - same[i]) * by);
	snprintf(buf, 8, "#%02x%02x%02x", c[0] & 255, c[1] & 255, c[2] & 255);
	return buf;
}

static struct sp_view_frame frame_of(const struct sp_svg *d, uint32_t node)
{
	struct sp_view_frame f = {"all", SP_FRAME_TYPES, 0};

	if (node && d->diff)
		f.name = sp_dict_get_string(d->diff->tree.names, d->trie.nodes[node].frame, NULL);
	else if (node)
		f = sp_view_get_frame(d->v, d->trie.nodes[node].frame);
	if (node && !d->diff)
		f.type = d->trie.nodes[node].type;
	return f;
}

static int top_of(const struct sp_svg *d, uint32_t row)
{
	return TOP + (int)(d->depth > TALL || d->up ? row : d->depth - 1 - row) * ROW;
}

static void put_frame(struct sp_svg *d, uint32_t node, uint32_t row, double x, double w)
{
	const struct sp_trie_node *n = &d->trie.nodes[node];
	struct sp_view_frame f = frame_of(d, node);
	char change[8];
	const char *fill = d->diff		     ? change_fill(d, node, change)
			   : f.type < SP_FRAME_TYPES ? fills[f.type]
						     : "#dfe3e8";
	size_t room = w > 3 * LETTER ? (size_t)((w - 6) / LETTER) : 0;
	int y = top_of(d, row);

	if (d->measuring)
		return;
	sp_buf_adds(&d->out, "<g><title>");
	sp_escape_markup(f.name, strlen(f.name), &d->out);
	sp_buf_adds(&d->out, " (");
	if (d->diff)
		put_sides(d, node);
	else
		put_value(d, n->total);
	sp_buf_addf(&d->out,
		")</title><rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>", x,
		y, w > 1 ? w - 0.5 : w, ROW - 1, fill);
	if (room >= 3) {
		sp_buf_addf(&d->out, "<text x=\"%.1f\" y=\"%d\">", x + 3, y + ROW - 5);
		put_name(&d->out, strlen(f.name) <= room ? f.name : short_name(f.name), room);
		sp_buf_adds(&d->out, "</text>");
	}
	sp_buf_adds(&d->out, "</g>\n");
}

/* Where frames are counted that are not drawn, of a width and a row; NULL: they are drawn. */
static uint64_t *left_out(struct sp_svg *d, double w, uint32_t row)
{
	if (w < d->narrowest)
		return &d->folded;
	if (row >= d->rows_max || d->out.len > SP_SVG_MAX)
		return &d->deeper;
	return row >= TALL && w < TOWER ? &d->towers : NULL;
}

/* A place on the way down the tree: the node, and where its next child begins. */
struct place {
	uint32_t node, child;
	double x;
};

/* Draws the tree without recursion: stacks may be deeper than ours. */
static int draw(struct sp_svg *d)
{
	SP_AUTO_FREE struct place *path = calloc(ROWS_MAX + 1, sizeof(*path));
	double scale = d->whole ? (WIDTH - 2.0 * MARGIN) / (double)d->whole : 0;
	uint32_t at = 0;

	if (!path)
		return -ENOMEM;
	path[0] = (struct place){0, d->trie.nodes[0].child, MARGIN};
	put_frame(d, 0, 0, MARGIN, WIDTH - 2 * MARGIN);
	for (;;) {
		uint32_t node = path[at].child;
		double w = node ? (double)d->trie.nodes[node].total * scale : 0;
		uint64_t *out = node ? left_out(d, w, at + 1) : NULL;

		if (!node) {
			if (at == 0)
				return 0;
			at--;
			continue;
		}
		path[at].child = d->trie.nodes[node].next;
		if (out) {
			*out += 1;
			continue;
		}
		put_frame(d, node, at + 1, path[at].x, w);
		path[at + 1] = (struct place){node, d->trie.nodes[node].child, path[at].x};
		path[at].x += w;
		at++;
		d->depth = at + 1 > d->depth ? at + 1 : d->depth;
	}
}

/* What the picture is of, and the line below it. */
static void put_words(const struct sp_svg *d, const struct sp_profile *p, struct sp_buf *title,
	struct sp_buf *line)
{
	uint32_t id = p->title_id ? p->title_id : p->target_id;
	char a[48], b[48];

	if (d->diff) {
		const struct sp_diff_amount *total = &d->diff->total;
		double change = (double)total->weight[1] - (double)total->weight[0];

		sp_buf_addf(title, "%s → %s", sp_diff_name(d->diff, SP_DIFF_BASE),
			sp_diff_name(d->diff, SP_DIFF_NEW));
		sp_buf_addf(line, "%s: %s in the base, %s in the new one", sp_diff_event(d->diff),
			sp_diff_format(d->diff, (double)total->weight[0], false, a, sizeof(a)),
			sp_diff_format(d->diff, (double)total->weight[1], false, b, sizeof(b)));
		sp_buf_addf(line, " (%s ±%s), compared as %s; red grew, blue shrank",
			sp_diff_format(d->diff, change, true, a, sizeof(a)),
			sp_diff_format(d->diff, total->noise, false, b, sizeof(b)),
			d->diff->absolute ? "numbers" : "shares of each");
		return;
	}
	sp_buf_adds(title, id ? sp_dict_get_string(p->dict, id, NULL) : "Flame graph");
	if (d->v->event)
		sp_buf_addf(line, "%s: ", sp_dict_get_string(p->dict, d->v->event->name_id, NULL));
	sp_out_summary(p, line);
}

static void put_head(struct sp_svg *d, const struct sp_profile *p, struct sp_sink *sink)
{
	SP_AUTO_BUF struct sp_buf b, title, line;
	int height = TOP + (int)d->depth * ROW + FOOT;

	sp_buf_init(&b);
	sp_buf_init(&title);
	sp_buf_init(&line);
	put_words(d, p, &title, &line);
	sp_buf_addf(&b,
		"<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 "
		"0 %d %d\""
		" font-family=\"system-ui, 'Segoe UI', Roboto, 'Noto Sans', sans-serif\" "
		"font-size=\"12\">\n"
		"<style>rect{shape-rendering:crispEdges} .match rect{fill:#7a3ff2} .match "
		"text{fill:#fff}"
		" g[id=frames] g{cursor:pointer} .off{display:none} .dim{opacity:.55}</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		"<text x=\"%d\" y=\"22\" font-size=\"15\" font-weight=\"600\">",
		WIDTH, height, WIDTH, height, MARGIN);
	sp_escape_markup(sp_buf_str(&title), title.len, &b);
	sp_buf_addf(&b, "</text>\n<text x=\"%d\" y=\"42\" fill=\"#5d6874\" id=\"facts\">", MARGIN);
	sp_escape_markup(sp_buf_str(&line), line.len, &b);
	sp_buf_adds(&b, "</text>\n<g id=\"frames\">\n");
	if (b.failed && sink->error == 0)
		sink->error = -ENOMEM;
	sp_sink_write(sink, b.data, b.len);
}

static void put_foot(struct sp_svg *d, struct sp_sink *sink)
{
	char folded[SP_NUMBER_SIZE], deeper[SP_NUMBER_SIZE], towers[SP_NUMBER_SIZE];
	int y = TOP + (int)d->depth * ROW + 20;

	sp_sink_printf(
		sink, "</g>\n<text x=\"%d\" y=\"%d\" fill=\"#5d6874\" id=\"note\">", MARGIN, y);
	if (d->folded + d->deeper + d->towers == 0)
		sp_sink_puts(sink, "every frame is drawn");
	if (d->folded)
		sp_sink_printf(sink,
			"frames narrower than %.2f %% are folded: %s, with all above them",
			100 * d->narrowest / (WIDTH - 2 * MARGIN), sp_number(d->folded, folded));
	if (d->deeper)
		sp_sink_printf(sink, "%sframes too deep to draw: %s", d->folded ? "; " : "",
			sp_number(d->deeper, deeper));
	if (d->towers)
		sp_sink_printf(sink,
			"%stowers narrower than %.2f %% end after %d frames: %s, with all above "
			"them",
			d->folded + d->deeper ? "; " : "", 100 * TOWER / (WIDTH - 2 * MARGIN), TALL,
			sp_number(d->towers, towers));
	if (d->starts)
		sp_sink_printf(sink, "; thread starts are left out, up to %u frames", d->starts);
	sp_sink_puts(sink, "</text>\n<script><![CDATA[\n");
	sp_sink_write(
		sink, sp_page_svg_script, (size_t)(sp_page_svg_script_end - sp_page_svg_script));
	sp_sink_puts(sink, "]]></script>\n</svg>\n");
}

static int draw_whole(struct sp_svg *d)
{
	int r = 0;

	sp_buf_clear(&d->out);
	d->depth = 1;
	for (int pass = 0; pass < 2 && r == 0; pass++) {
		d->measuring = pass == 0;
		d->folded = d->deeper = d->towers = 0;
		r = draw(d);
	}
	return d->out.failed ? -ENOMEM : r;
}

/* Draws once more while the picture is too large: with a coarser minimum up to a few pixels, then
 * with fewer rows, for then it is frames of equal width that are too many. */
static int draw_small(struct sp_svg *d)
{
	int r;

	d->narrowest = d->least > FINEST ? d->least : FINEST;
	d->rows_max = ROWS_MAX;
	for (;;) {
		r = draw_whole(d);
		if (r < 0 || d->out.len <= SP_SVG_MAX - SCRIPT_MAX || d->rows_max <= 1)
			return r;
		if (d->narrowest < COARSEST)
			d->narrowest =
				d->narrowest * 1.6 < COARSEST ? d->narrowest * 1.6 : COARSEST;
		else
			d->rows_max = (d->depth < d->rows_max ? d->depth : d->rows_max) * 3 / 4;
	}
}

static int write_drawing(struct sp_svg *d, const struct sp_profile *p, struct sp_sink *sink)
{
	int r = sp_trie_init(&d->trie);

	sp_buf_init(&d->out);
	if (r == 0)
		r = sp_svg_build(d);
	if (r == 0)
		r = draw_small(d);
	if (r == 0) {
		put_head(d, p, sink);
		sp_sink_write(sink, d->out.data, d->out.len);
		put_foot(d, sink);
	}
	sp_buf_done(&d->out);
	sp_trie_done(&d->trie);
	free(d->sides[0]);
	free(d->sides[1]);
	return r;
}

int sp_out_svg(const struct sp_profile *p, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	struct sp_view_opts o = opts->view;
	struct sp_view *v;
	int r;

	o.mark_truncated = true;
	o.split_types = true;
	r = sp_view_new(p, &o, &v);
	if (r < 0)
		return r;
	r = write_drawing(&(struct sp_svg){.v = v,
				  .reverse = opts->reverse,
				  .up = opts->reverse != opts->inverted,
				  .least = opts->minwidth / 100 * (WIDTH - 2 * MARGIN)},
		p, sink);
	sp_view_free(v);
	return r;
}

int sp_diff_svg(const struct sp_diff *d, const struct sp_out_opts *opts, struct sp_sink *sink)
{
	return write_drawing(&(struct sp_svg){.v = d->views[SP_DIFF_NEW], .diff = d},
		d->views[SP_DIFF_NEW]->profile, sink);
}
