/* The writers behind the report page and the SVG: names of strangers, buckets of time, the columns.
 * What the page makes of them is tested in a browser (tests/page). */
#include <criterion/criterion.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "out/html.h"
#include "out/pagedata.h"
#include "out/svg.h"
#include "prof/model/timeline.h"
#include "sample_profile.h"

static struct sp_profile *empty_profile(void)
{
	struct sp_profile *p = NULL;

	cr_assert_eq(sp_profile_new(&p, 16u << 20), 0);
	sp_profile_event(p, "wall", SP_UNIT_NS, 1000000, true);
	return p;
}

static void add_at(struct sp_profile *p, uint32_t thread, uint64_t start_ns, uint64_t span_ns)
{
	struct sp_sample s = {.thread = thread, .count = 1, .weight = span_ns ? span_ns : 1};

	cr_assert_eq(sp_profile_add_at(p, &s, start_ns, span_ns), 0);
}

static uint64_t sum_of_weights(const struct sp_profile *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->row_count; i++)
		sum += p->rows[i].weight;
	return sum;
}

Test(timeline, buckets_widen_and_stay_fine_enough)
{
	struct sp_profile *p = empty_profile();
	uint64_t start = 1790000000000000000ull, length = 600000000000ull;

	for (uint64_t t = 0; t < length; t += 50000000)
		add_at(p, 1, start + t, 0);
	cr_expect_leq(p->bucket_ns, length / 2000);
	cr_expect_leq(length / p->bucket_ns, SP_TIMELINE_BUCKETS);
	cr_expect_eq(sum_of_weights(p), 12000);
	cr_expect_eq(p->events[0].count, 12000);
	for (size_t i = 0; i < p->row_count; i++)
		cr_expect_lt(p->rows[i].bucket, SP_TIMELINE_BUCKETS);
	sp_profile_free(p);
}

Test(timeline, a_time_that_is_known_before_needs_no_widening)
{
	struct sp_profile *p = empty_profile();
	uint64_t start = 1790000000000000000ull, length = 600000000000ull;

	sp_profile_expect(p, start, start + length, 0);
	cr_expect_eq(p->bucket_ns, length / 2000);
	for (uint64_t t = 0; t < length; t += 50000000)
		add_at(p, 1, start + t, 0);
	cr_expect_eq(p->bucket_ns, length / 2000);
	cr_expect_eq(p->row_count, 2000);
	cr_expect_eq(sum_of_weights(p), 12000);
	add_at(p, 1, start - 1, 0); /* no header told of it */
	cr_expect_leq(p->origin_ns, start - 1);
	cr_expect_eq(sum_of_weights(p), 12001);
	sp_profile_free(p);
}

Test(timeline, spans_are_told_at_their_end)
{
	struct sp_profile *p = empty_profile();
	uint64_t start = 1790000000000000000ull;

	add_at(p, 1, start + 5000000000, 1000000);
	add_at(p, 2, start, 4000000000); /* began before the first one that was met */
	cr_expect_leq(p->origin_ns, start);
	cr_assert_eq(p->row_count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct sp_sample *s = &p->rows[i];
		uint64_t from = p->origin_ns + s->bucket * p->bucket_ns;
		uint64_t want = s->thread == 1 ? start + 5000000000 : start;

		cr_expect(from <= want && want < from + p->bucket_ns, "thread %u", s->thread);
		if (s->thread == 2)
			cr_expect_eq(s->span, (want + 3999999999 - from) / p->bucket_ns);
	}
	sp_profile_free(p);
}

Test(timeline, a_whole_bucket_does_not_touch_the_next)
{
	struct sp_profile *p = empty_profile();

	add_at(p, 1, 1790000000000000000ull, SP_TIMELINE_FINEST_NS);
	cr_expect_eq(p->rows[0].span, 0);
	sp_profile_free(p);
}

Test(timeline, absurd_times_end)
{
	struct sp_profile *p = empty_profile();

	add_at(p, 1, 1790000000000000000ull, 1000);
	add_at(p, 1, 0, 1000);
	add_at(p, 1, UINT64_MAX, UINT64_MAX);
	add_at(p, 1, 5, UINT64_MAX);
	for (size_t i = 0; i < p->row_count; i++)
		cr_expect_lt(p->rows[i].bucket + p->rows[i].span, 2 * SP_TIMELINE_BUCKETS);
	sp_profile_free(p);
}

/* Reads columns back. */
struct reader {
	const unsigned char *at, *end;
};

static uint64_t get(struct reader *r)
{
	uint64_t v = 0;

	for (int shift = 0; r->at < r->end; shift += 7) {
		unsigned char c = *r->at++;

		v |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80)
			break;
	}
	return v;
}

/* Finds the @nth section of an id. */
static struct reader section(const struct sp_buf *b, unsigned id, int nth)
{
	struct reader r = {(unsigned char *)b->data + 4, (unsigned char *)b->data + b->len};

	cr_assert_eq(memcmp(b->data, "SPPG", 4), 0);
	cr_assert_eq(get(&r), SP_PAGE_VERSION);
	while (r.at < r.end) {
		uint64_t found = get(&r), len = get(&r);

		cr_assert_leq(len, (uint64_t)(r.end - r.at));
		if (found == id && nth-- == 0)
			return (struct reader){r.at, r.at + len};
		r.at += len;
	}
	return (struct reader){NULL, NULL};
}

Test(pagedata, columns_add_up)
{
	struct sp_profile *p = sample_profile();
	SP_AUTO_BUF struct sp_buf b = {0};
	uint64_t rows, groups, sum = 0, count = 0;
	struct reader r;
	size_t rest;

	cr_assert_eq(sp_pagedata(p, NULL, &(struct sp_out_opts){0}, &b, &rest), 0);
	r = section(&b, 6, 0);
	cr_assert(r.at);
	cr_expect_eq(get(&r), 0); /* cpu */
	rows = get(&r);
	groups = get(&r);
	cr_expect_eq(groups, 3);
	for (uint64_t i = 0; i < groups; i++) {
		get(&r);
		count += get(&r);
	}
	cr_expect_eq(count, rows);
	for (uint64_t i = 0; i < rows * 5; i++)
		get(&r); /* bucket, span, stack, state, label */
	for (uint64_t i = 0; i < rows; i++)
		sum += get(&r);
	cr_expect_eq(r.at, r.end);
	cr_expect_eq(sum, p->events[0].samples);
	cr_expect(section(&b, 6, 1).at, "the second event is there");
	sp_profile_free(p);
}

Test(pagedata, quanta_are_shared_out)
{
	struct sp_profile *p = empty_profile();
	SP_AUTO_BUF struct sp_buf b = {0};
	uint64_t rows, sum = 0;
	struct reader r;
	size_t rest;

	for (uint32_t i = 0; i < 1000; i++)
		add_at(p, 1, 1790000000000000000ull + i * 1000000ull, 20000 + i);
	cr_assert_eq(sp_pagedata(p, NULL, &(struct sp_out_opts){0}, &b, &rest), 0);
	r = section(&b, 6, 0);
	get(&r);
	rows = get(&r);
	get(&r);
	for (uint64_t i = 0; i < 2 + rows * 5; i++)
		get(&r);
	for (uint64_t i = 0; i < rows; i++)
		sum += get(&r);
	/* a quantum is 62,500 ns, larger than any one sample */
	cr_expect_geq(sum * 62500 + 62500, sum_of_weights(p));
	cr_expect_leq(sum * 62500, sum_of_weights(p) + 62500);
	sp_profile_free(p);
}

Test(pagedata, filters_are_those_of_all_formats)
{
	struct sp_profile *p = sample_profile();
	const char *only[] = {"*hashCode"};
	struct sp_out_opts o = {.view = {.event = "cpu", .include = only, .include_count = 1}};
	SP_AUTO_BUF struct sp_buf b = {0};
	struct reader r;
	size_t rest;

	cr_assert_eq(sp_pagedata(p, NULL, &o, &b, &rest), 0);
	r = section(&b, 5, 0);
	cr_expect_eq(get(&r), 2, "two stacks hold hashCode");
	cr_expect_null(section(&b, 6, 1).at, "one event was asked for");
	sp_profile_free(p);
}

/* Adds a stack of frames "Class.method", root first, that weighs so many quanta. */
static void add_stack(struct sp_profile *p, const char *const *classes, uint64_t weight)
{
	struct sp_frame_ref f[4];
	struct sp_sample s = {.thread = thread(p, "t", 1), .count = 1, .weight = weight * 62500};
	uint32_t n = 0;

	while (classes[n])
		n++;
	for (uint32_t i = 0; i < n; i++)
		f[n - 1 - i] = java(p, classes[i], "run", "()V",
			weight > 100 ? SP_FRAME_C2 : SP_FRAME_INTERPRETED);
	s.stack = sp_dict_stack(p->dict, f, n, 0);
	cr_assert_eq(sp_profile_add_at(p, &s, 1790000000000000000ull, 0), 0);
}

Test(pagedata, picture_has_one_frame_above_different_starts_and_no_narrow_one)
{
	static const char *const stacks[][4] = {{"java/lang/Thread", "Work"}, {"Work", "Deep"},
		{"java/lang/Thread", "Narrow"}, {"java/lang/Thread", "Wide"}};
	static const uint64_t weights[] = {60000, 40, 9, 11};
	struct sp_profile *p = empty_profile();
	SP_AUTO_BUF struct sp_buf b = {0};
	size_t rest;
	struct reader r, tree;
	uint64_t count;

	for (size_t i = 0; i < SP_COUNT(stacks); i++)
		add_stack(p, stacks[i], weights[i]);
	cr_assert_eq(sp_pagedata(p, NULL, &(struct sp_out_opts){0}, &b, &rest), 0);
	r = section(&b, 11, 0);
	tree = section(&b, 4, 0);
	cr_assert(r.at && r.at < (unsigned char *)b.data + rest, "it is in the first piece");
	cr_expect_geq(tree.at, (unsigned char *)b.data + rest, "the tree is not");
	cr_expect_eq(get(&r), 0, "event");
	cr_expect_eq(get(&r), 1, "one start");
	count = get(&r);
	cr_assert_eq(count, 3, "Work, Deep and Wide");
	for (uint64_t i = 0; i < 2 * count; i++)
		get(&r); /* levels, names */
	cr_expect_eq(get(&r), SP_FRAME_C2, "Work is what most of it is");
	for (uint64_t i = 1; i < 3 * count; i++)
		get(&r); /* types, lines, areas */
	cr_expect_eq(get(&r), 60060, "all");
	cr_expect_eq(get(&r), 60040, "Work");
	cr_expect_eq(get(&r), 40, "Deep");
	cr_expect_eq(get(&r), 11, "Wide");
	cr_expect_eq(r.at, r.end);
	sp_profile_free(p);
}

static struct sp_profile *hostile_profile(void)
{
	struct sp_profile *p = empty_profile();
	struct sp_frame_ref f = java(p, "</script><!--", "]]>\x01\xff<script>", "()V", SP_FRAME_C2);
	uint32_t stack = sp_dict_stack(p->dict, &f, 1, 0);
	struct sp_sample s = {stack, thread(p, "<b>", 1), str(p, "<i>"), 0, 1, 1000000};

	sp_profile_add_at(p, &s, 1790000000000000000ull, 1000000);
	p->title_id = str(p, "</title><script>");
	return p;
}

static size_t count(const struct sp_buf *b, const char *what)
{
	size_t n = 0;

	for (char *at = b->data;
		(at = memmem(at, b->len - (size_t)(at - b->data), what, strlen(what))); at++)
		n++;
	return n;
}

Test(html, names_are_never_markup)
{
	struct sp_profile *p = hostile_profile();
	struct sp_sink s;

	sp_sink_init(&s, -1);
	cr_assert_eq(sp_out_html(p, &(struct sp_out_opts){0}, &s), 0);
	cr_expect_eq(s.error, 0);
	cr_expect_eq(count(&s.buf, "<script"), 3, "the two pieces of data and the page's own");
	cr_expect_eq(count(&s.buf, "</script"), 3);
	cr_expect_eq(count(&s.buf, "</title>"), 1);
	cr_expect_eq(count(&s.buf, "<!--sparkprof:"), 0);
	cr_expect_geq(count(&s.buf, "&lt;/script&gt;&lt;!--"), 1, "the table has it as text");
	sp_sink_done(&s);
	sp_profile_free(p);
}

Test(html, nothing_sampled_is_a_page_too)
{
	struct sp_profile *p = NULL;
	struct sp_sink s;

	cr_assert_eq(sp_profile_new(&p, 1u << 20), 0);
	sp_sink_init(&s, -1);
	cr_assert_eq(sp_out_html(p, &(struct sp_out_opts){0}, &s), 0);
	cr_expect_eq(count(&s.buf, "id=\"data\""), 1);
	sp_sink_done(&s);
	sp_profile_free(p);
}

Test(svg, names_are_never_markup)
{
	struct sp_profile *p = hostile_profile();
	struct sp_sink s;

	sp_sink_init(&s, -1);
	cr_assert_eq(sp_out_svg(p, &(struct sp_out_opts){0}, &s), 0);
	cr_expect_eq(count(&s.buf, "<script"), 1);
	cr_expect_eq(count(&s.buf, "]]>"), 1, "the end of our own script");
	cr_expect_eq(count(&s.buf, "\x01") + count(&s.buf, "\xff"), 0);
	cr_expect_eq(count(&s.buf, "every frame is drawn"), 1);
	sp_sink_done(&s);
	sp_profile_free(p);
}

Test(svg, never_grows_beyond_its_limit)
{
	struct sp_profile *p = empty_profile();
	struct sp_frame_ref frames[60];
	char name[200];
	struct sp_sink s;

	memset(name, '&', sizeof(name));
	for (uint32_t i = 0; i < 400; i++) {
		for (uint32_t k = 0; k < SP_COUNT(frames); k++) {
			snprintf(name + 150, 50, "%u.%u", i, k);
			frames[k] = java(p, name, "m", "()V", SP_FRAME_C1);
		}
		struct sp_sample x = {
			sp_dict_stack(p->dict, frames, SP_COUNT(frames), 0), 0, 0, 0, 1, 1000000};

		cr_assert_eq(sp_profile_add(p, &x), 0);
	}
	sp_sink_init(&s, -1);
	cr_assert_eq(sp_out_svg(p, &(struct sp_out_opts){0}, &s), 0);
	cr_expect_leq(s.buf.len, SP_SVG_MAX);
	cr_expect_gt(s.buf.len, SP_SVG_MAX / 3);
	cr_expect_eq(count(&s.buf, "too deep to draw"), 1);
	sp_sink_done(&s);
	sp_profile_free(p);
}

/* One wide stack of @depth frames beside a narrow one, of 3 pixels, that is far deeper. */
static void tall_profile(struct sp_profile *p, uint32_t depth)
{
	struct sp_frame_ref frames[200];

	for (uint32_t i = 0; i < 2; i++) {
		uint32_t n = i ? SP_COUNT(frames) : depth;
		char name[32];

		for (uint32_t k = 0; k < n; k++) {
			snprintf(name, sizeof(name), "C%u", k);
			frames[n - 1 - k] =
				java(p, name, i ? "narrow" : "wide", "()V", SP_FRAME_C1);
		}
		struct sp_sample x = {
			sp_dict_stack(p->dict, frames, n, 0), 0, 0, 0, 1, i ? 3000000 : 1177000000};

		cr_assert_eq(sp_profile_add(p, &x), 0);
	}
}

/* What is opened shows its root at once: towers end with the screen, and a taller picture hangs. */
Test(svg, base_is_on_the_first_screen)
{
	static const struct {
		uint32_t depth;
		const char *root, *height;
	} cases[] = {
		{30, "<rect x=\"10.0\" y=\"938\" width=\"1179.5\"", "height=\"990\""},
		{120, "<rect x=\"10.0\" y=\"56\" width=\"1179.5\"", "height=\"2268\""},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_profile *p = empty_profile();
		struct sp_sink s;

		tall_profile(p, cases[i].depth);
		sp_sink_init(&s, -1);
		cr_assert_eq(sp_out_svg(p, &(struct sp_out_opts){0}, &s), 0);
		cr_expect_eq(count(&s.buf, cases[i].root), 1, "%u", cases[i].depth);
		cr_expect_eq(count(&s.buf, cases[i].height), 1, "%u", cases[i].depth);
		cr_expect_eq(count(&s.buf, ".wide ("), cases[i].depth);
		cr_expect_eq(count(&s.buf, ".narrow ("), 49, "beside the root");
		cr_expect_eq(count(&s.buf, "end after 50 frames: 1, with all above"), 1);
		sp_sink_done(&s);
		sp_profile_free(p);
	}
}
