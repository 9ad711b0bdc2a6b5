/* The columns themselves: see pagedata.h for the format. */
#include "out/pagedata_put.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/escape.h"
#include "out/pagedata.h"

enum section {
	META = 1,
	STRINGS,
	THREADS,
	NODES,
	STACKS,
	SAMPLES,
	SERIES,
	LABELS,
	SPANS,
	WAITS,
	PICTURE
};

static void put(struct sp_buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		sp_buf_addc(b, (char)(v | 0x80));
	sp_buf_addc(b, (char)v);
}

static void put_signed(struct sp_buf *b, int64_t v)
{
	put(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void put_section(struct sp_buf *out, enum section id, struct sp_buf *contents)
{
	put(out, id);
	put(out, contents->len);
	sp_buf_add(out, contents->data, contents->len);
	out->failed |= contents->failed;
	sp_buf_clear(contents);
}

static const struct sp_thread *thread_of(const struct sp_page *g, uint32_t place)
{
	return sp_dict_get_thread(g->p->dict, g->threads[place - 1]);
}

/* Names of frames first, those of threads behind them. */
static void put_strings(const struct sp_page *g, struct sp_buf *b)
{
	SP_AUTO_BUF struct sp_buf text;
	const struct sp_dict *dicts[] = {g->names, g->p->dict};
	uint32_t counts[] = {sp_dict_strings(g->names), g->thread_count};

	sp_buf_init(&text);
	put(b, (uint64_t)counts[0] + counts[1]);
	for (int d = 0; d < 2; d++) {
		for (uint32_t i = 1; i <= counts[d]; i++) {
			uint32_t id = d == 0 ? i : thread_of(g, i)->name_id;
			size_t n, before = text.len;
			const char *s = sp_dict_get_string(dicts[d], id, &n);

			sp_escape_utf8(s, n, &text);
			put(b, text.len - before);
		}
	}
	sp_buf_add(b, text.data, text.len);
	b->failed |= text.failed;
}

static void put_threads(const struct sp_page *g, struct sp_buf *b)
{
	uint32_t n = g->thread_count, names = sp_dict_strings(g->names);

	put(b, n);
	for (uint32_t i = 0; i < n; i++)
		put(b, (uint64_t)names + i);
	for (uint32_t i = 1; i <= n; i++)
		put(b, thread_of(g, i)->tid);
	for (uint32_t i = 0; i <= n; i++)
		put(b, g->thread_weights[i]);
}

static void put_levels(const struct sp_trie *t, const uint32_t *order, struct sp_buf *b)
{
	for (size_t i = 1; i < t->count; i++) {
		uint32_t parent = t->nodes[order[i]].parent, up = 0;

		for (uint32_t at = order[i - 1]; at != parent; at = t->nodes[at].parent)
			up++;
		put(b, up);
	}
}

static void put_nodes(
	const struct sp_page *g, const struct sp_trie *t, const uint32_t *order, struct sp_buf *b)
{
	SP_AUTO_FREE int32_t *last = calloc((size_t)sp_dict_strings(g->names) + 1, sizeof(*last));
	const struct sp_trie_node *nodes = t->nodes;

	put(b, t->count - 1);
	put_levels(t, order, b);
	for (size_t i = 1; i < t->count; i++)
		put(b, nodes[order[i]].frame - 1);
	for (size_t i = 1; i < t->count; i++)
		put(b, nodes[order[i]].type);
	for (size_t i = 1; last && i < t->count; i++) {
		const struct sp_trie_node *n = &nodes[order[i]];
		int32_t line = n->line > 0 ? n->line : 0;

		put_signed(b, (int64_t)line - last[n->frame]);
		last[n->frame] = line;
	}
	b->failed |= !last;
	for (size_t i = 1; i < t->count; i++) {
		const struct sp_trie_node *n = &nodes[order[i]];

		put(b, n->area == nodes[n->parent].area ? 0 : n->area);
	}
}

static void put_picture(const struct sp_page *g, struct sp_buf *b)
{
	SP_AUTO_FREE uint32_t *order = NULL;
	SP_AUTO_FREE uint32_t *place = NULL;

	if (sp_trie_order(&g->picture, &order, &place) < 0) {
		b->failed = true;
		return;
	}
	put(b, g->rows[0].event);
	put(b, g->starts_deepest);
	put_nodes(g, &g->picture, order, b);
	for (size_t i = 0; i < g->picture.count; i++)
		put(b, g->picture.nodes[order[i]].total);
}

static void put_stacks(const struct sp_page *g, struct sp_buf *b)
{
	int64_t before = 0;

	put(b, g->leaf_count);
	for (uint32_t i = 0; i < g->leaf_count; i++) {
		int64_t node = g->place[g->leaves[i]];

		put_signed(b, node - before);
		before = node;
	}
}

/* Kinds of stacks are few: a class for each of them in each state, then the kinds. */
static void put_waits(
	const struct sp_page *g, const uint32_t *states, size_t state_count, struct sp_buf *b)
{
	SP_AUTO_BUF struct sp_buf kinds;

	sp_buf_init(&kinds);
	for (uint32_t i = 0; i < g->leaf_count; i++) {
		int kind = sp_time_class_kind(g->spent, g->profile_stack[g->leaves[i]]);

		b->failed |= kind < 0;
		put(&kinds, kind < 0 ? 0 : (uint64_t)kind);
	}
	put(b, sp_time_class_kinds(g->spent));
	for (unsigned k = 0; k < sp_time_class_kinds(g->spent); k++) {
		put(b, sp_time_class_of_kind(g->spent, k, ""));
		for (size_t i = 0; i < state_count; i++)
			put(b, sp_time_class_of_kind(g->spent, k,
				       sp_dict_get_string(g->p->dict, states[i], NULL)));
	}
	sp_buf_add(b, kinds.data, kinds.len);
	b->failed |= kinds.failed;
}

/* The columns of the rows @at to @end - 1, which are of one event. */
struct columns {
	struct sp_buf group, bucket, span, stack, state, label, value;
};

static void columns_init(struct columns *c)
{
	struct sp_buf *all[] = {
		&c->group, &c->bucket, &c->span, &c->stack, &c->state, &c->label, &c->value};

	for (size_t i = 0; i < SP_COUNT(all); i++)
		sp_buf_init(all[i]);
}

static void columns_put(struct columns *c, struct sp_buf *out)
{
	struct sp_buf *all[] = {
		&c->group, &c->bucket, &c->span, &c->stack, &c->state, &c->label, &c->value};

	for (size_t i = 0; i < SP_COUNT(all); i++) {
		sp_buf_add(out, all[i]->data, all[i]->len);
		out->failed |= all[i]->failed;
		sp_buf_done(all[i]);
	}
}

static void put_row(struct columns *c, const struct sp_page *g, const struct sp_page_row *r,
	struct sp_page_row *before, const uint32_t *state_numbers)
{
	put(&c->bucket, r->bucket - before->bucket);
	put(&c->span, r->span);
	put(&c->stack, g->stack_of_node[r->leaf]);
	put(&c->state, r->state ? state_numbers[r->state] : 0);
	put_signed(&c->label, (int64_t)r->label - before->label);
	put(&c->value, r->value);
	*before = *r;
}

static void put_samples(const struct sp_page *g, size_t at, size_t end,
	const uint32_t *state_numbers, struct sp_buf *b)
{
	struct columns c;
	uint64_t groups = 0;
	uint32_t thread = 0;

	columns_init(&c);
	put(b, g->rows[at].event);
	put(b, end - at);
	for (size_t i = at, next; i < end; i = next) {
		struct sp_page_row before = {.bucket = g->first_bucket};

		for (next = i; next < end && g->rows[next].thread == g->rows[i].thread; next++)
			put_row(&c, g, &g->rows[next], &before, state_numbers);
		put(&c.group, g->rows[i].thread - thread);
		put(&c.group, next - i);
		thread = g->rows[i].thread;
		groups++;
	}
	put(b, groups);
	columns_put(&c, b);
}

static void put_series(const struct sp_page *g, enum sp_series_kind kind, struct sp_buf *b)
{
	const struct sp_series *s = &g->p->series[kind];
	int64_t time = 0, value = 0;

	put(b, kind);
	put(b, s->count);
	for (size_t i = 0; i < s->count; i++) {
		int64_t t = ((int64_t)s->points[i].time_ns - (int64_t)g->start_ns) / 1000000;

		put_signed(b, t - time);
		time = t;
	}
	for (size_t i = 0; i < s->count; i++) {
		put_signed(b, (int64_t)s->points[i].value - value);
		value = (int64_t)s->points[i].value;
	}
}

static void put_labels(const struct sp_page *g, struct sp_buf *b)
{
	size_t n = g->p->task_count;

	put(b, n);
	for (size_t i = 0; i < n; i++)
		put(b, g->labels[i].executor);
	for (size_t i = 0; i < n; i++)
		put(b, g->labels[i].stage);
	for (size_t i = 0; i < n; i++)
		put(b, g->labels[i].task);
	for (size_t i = 0; i < n; i++) {
		const struct sp_task_run *t = &g->p->tasks[i];

		put(b, (t->begun ? 1u : 0) | (t->ended ? 2u : 0) | (t->helper ? 4u : 0));
	}
}

/* A task without times is known by its thread's name alone. */
static bool has_span(const struct sp_task_run *t)
{
	return t->start_ns && t->end_ns >= t->start_ns;
}

static void put_spans(const struct sp_page *g, struct sp_buf *b)
{
	const struct sp_task_run *t = g->p->tasks;
	size_t n = g->p->task_count;
	uint64_t count = 0;
	int64_t before = 0;

	for (size_t i = 0; i < n; i++)
		count += has_span(&t[i]);
	put(b, count);
	for (size_t i = 0; i < n; i++)
		if (has_span(&t[i]))
			put(b, i + 1);
	for (size_t i = 0; i < n; i++) {
		int64_t ms = ((int64_t)t[i].start_ns - (int64_t)g->start_ns) / 1000000;

		if (!has_span(&t[i]))
			continue;
		put_signed(b, ms - before);
		before = ms;
	}
	for (size_t i = 0; i < n; i++)
		if (has_span(&t[i]))
			put(b, (t[i].end_ns - t[i].start_ns) / 1000);
}

/* Numbers the states that samples have from 1 on. Returns how many there are. */
static size_t number_states(const struct sp_page *g, uint32_t *numbers, uint32_t *states)
{
	size_t n = 0;

	for (size_t i = 0; i < g->row_count; i++) {
		uint32_t id = g->rows[i].state;

		if (id && !numbers[id]) {
			states[n++] = id;
			numbers[id] = (uint32_t)n;
		}
	}
	return n;
}

/* What the page can draw something of. */
static void put_first(
	const struct sp_page *g, const uint32_t *states, size_t count, struct sp_buf *out)
{
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	sp_buf_adds(out, "SPPG");
	put(out, SP_PAGE_VERSION);
	sp_page_meta(g, states, count, &b);
	put_section(out, META, &b);
	put_strings(g, &b);
	put_section(out, STRINGS, &b);
	put_threads(g, &b);
	put_section(out, THREADS, &b);
	put_labels(g, &b);
	put_section(out, LABELS, &b);
	put_spans(g, &b);
	put_section(out, SPANS, &b);
	for (int k = 0; k < SP_SERIES_KINDS; k++) {
		if (g->p->series[k].count == 0)
			continue;
		put_series(g, (enum sp_series_kind)k, &b);
		put_section(out, SERIES, &b);
	}
	if (g->picture.count > 1) {
		put_picture(g, &b);
		put_section(out, PICTURE, &b);
	}
}

/* The tree and the samples. */
static void put_rest(const struct sp_page *g, const uint32_t *states, size_t count,
	const uint32_t *state_numbers, struct sp_buf *out)
{
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	put_nodes(g, &g->trie, g->order, &b);
	put_section(out, NODES, &b);
	put_stacks(g, &b);
	put_section(out, STACKS, &b);
	if (g->spent) {
		put_waits(g, states, count, &b);
		put_section(out, WAITS, &b);
	}
	for (size_t i = 0, next; i < g->row_count; i = next) {
		for (next = i; next < g->row_count && g->rows[next].event == g->rows[i].event;)
			next++;
		put_samples(g, i, next, state_numbers, &b);
		put_section(out, SAMPLES, &b);
	}
}

size_t sp_page_put(struct sp_page *g, struct sp_buf *out)
{
	size_t strings = (size_t)sp_dict_strings(g->p->dict) + 1, count, rest;
	SP_AUTO_FREE uint32_t *numbers = calloc(strings, sizeof(*numbers));
	SP_AUTO_FREE uint32_t *states = calloc(strings, sizeof(*states));

	if (!numbers || !states) {
		out->failed = true;
		return 0;
	}
	count = number_states(g, numbers, states);
	put_first(g, states, count, out);
	rest = out->len;
	put_rest(g, states, count, numbers, out);
	return rest;
}
