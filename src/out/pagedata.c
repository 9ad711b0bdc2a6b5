/* From a profile to the columns of the page: see pagedata.h. Each event is seen through a view, so
 * filters and names are those of every other format; the views' stacks meet in one prefix tree. */
#include "out/pagedata.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/first_paint.h"

#define NAMES_CAP (1ull << 30) /* address space, touched as used */

static void done(struct sp_page *g)
{
	sp_trie_done(&g->trie);
	sp_trie_done(&g->picture);
	sp_dict_free(g->names);
	free(g->rows);
	free(g->threads);
	free(g->stack_of_node);
	free(g->order);
	free(g->place);
	free(g->leaves);
	free(g->uses);
	free(g->labels);
	free(g->profile_stack);
	sp_time_class_free(g->spent);
	free(g->thread_weights);
	if (g->own_areas)
		sp_areas_free(g->areas);
}

static uint32_t intern(struct sp_page *g, const char *s)
{
	return sp_dict_string(g->names, s, strlen(s));
}

/* Walks the frames of a view's stack down the tree. Returns the leaf's node, 0 when out of memory.
 */
static uint32_t add_stack(struct sp_page *g, const struct sp_view *v, const struct sp_view_stack *s,
	const uint32_t *ids)
{
	uint32_t node = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		node = sp_trie_child(&g->trie, node, ids[s->frames[i]]);
		if (!node)
			return 0;
	}
	return node;
}

/* Lines, types and areas are the profile's, not the view's: they vote at the nodes of the same
 * stack, from the leaf on. */
static void vote(struct sp_page *g, uint32_t node, uint32_t stack, uint64_t votes)
{
	const struct sp_dict *d = g->p->dict;
	const struct sp_stack *st = sp_dict_get_stack(g->p->dict, stack);

	for (uint32_t i = 0; st && i < st->count && node; i++) {
		const struct sp_frame_ref *f = &st->frames[i];

		sp_trie_vote(&g->trie, node, f->line, (uint8_t)sp_frame_name_type(d, f), votes);
		if (!g->trie.nodes[node].area)
			g->trie.nodes[node].area = (uint8_t)(sp_area_of_ref(g->areas, d, f) + 1);
		node = g->trie.nodes[node].parent;
	}
	for (; node; node = g->trie.nodes[node].parent)
		sp_trie_vote(&g->trie, node, 0, SP_FRAME_NATIVE, votes); /* [truncated] */
}

/* The place of each view frame's name in our strings; NULL when out of memory. */
static uint32_t *name_frames(struct sp_page *g, const struct sp_view *v)
{
	size_t n = (size_t)sp_view_frames(v) + 1;
	SP_AUTO_FREE uint32_t *ids = calloc(n, sizeof(*ids));

	for (uint32_t i = 1; ids && i < n; i++) {
		ids[i] = intern(g, sp_view_get_frame(v, i).name);
		if (!ids[i])
			return NULL;
	}
	return sp_steal_ptr(ids);
}

/* The length that values of an event are rounded to: fine enough for any picture, coarse enough
 * that most values are one small number. */
static uint64_t quantum_of(const struct sp_event *e)
{
	uint64_t q = e->interval;

	if (!e->measured)
		return e->interval && e->weight != e->samples ? e->interval : 1;
	if (q == 0 && e->samples)
		q = e->weight / e->samples;
	return q >= 16 ? q / 16 : 1;
}

/* What a row is worth to the page. Where samples are counted, those of a view's stack are shared
 * out among its rows by weight, so that the page has as many of each stack as the other formats. */
struct worth {
	const struct sp_view *v;
	uint64_t *seen,
		*given; /* by stack of the view: weight so far, and samples; NULL: weights */
};

static uint64_t worth_of(struct worth *w, const struct sp_sample *s, uint32_t stack)
{
	const struct sp_view_stack *st = &w->v->stacks[stack];
	uint64_t until;

	if (!w->seen)
		return s->weight;
	if (!w->v->event->measured || !w->v->event->interval || !st->weight)
		return s->count;
	w->seen[stack] += s->weight;
	until = (uint64_t)((double)w->seen[stack] / (double)st->weight * (double)st->samples);
	w->given[stack] += until -= w->given[stack];
	return until;
}

/* Votes of a profile's stack. */
struct votes {
	uint32_t leaf;
	uint64_t count;
};

static int add_rows(struct sp_page *g, const struct sp_view *v, const uint32_t *leaves)
{
	const struct sp_profile *p = g->p;
	uint32_t event = (uint32_t)(v->event - p->events), stacks = sp_dict_stacks(p->dict) + 1;
	SP_AUTO_FREE struct votes *votes = calloc(stacks, sizeof(*votes));
	SP_AUTO_FREE uint64_t *counts = calloc(2 * (v->stack_count + 1), sizeof(*counts));
	struct worth worth = {
		v, g->counted ? counts : NULL, counts ? counts + v->stack_count + 1 : NULL};

	if (!votes || !counts)
		return -ENOMEM;
	for (size_t i = 0; i < p->row_count; i++) {
		const struct sp_sample *s = &p->rows[i];
		uint32_t leaf = v->row_stacks[i] ? leaves[v->row_stacks[i] - 1] : 0;

		if (s->event != event || !leaf)
			continue;
		g->rows[g->row_count++] =
			(struct sp_page_row){event, s->thread, s->bucket, s->span, leaf, s->stack,
				s->state, s->task, worth_of(&worth, s, v->row_stacks[i] - 1)};
		votes[s->stack].leaf = leaf;
		votes[s->stack].count += s->count;
	}
	for (uint32_t i = 0; i < stacks; i++)
		if (votes[i].leaf)
			vote(g, votes[i].leaf, i, votes[i].count);
	return 0;
}

static int add_view(struct sp_page *g, const struct sp_view *v)
{
	SP_AUTO_FREE uint32_t *ids = name_frames(g, v);
	SP_AUTO_FREE uint32_t *leaves = calloc(v->stack_count + 1, sizeof(*leaves));

	if (!ids || !leaves)
		return -ENOMEM;
	for (size_t i = 0; i < v->stack_count; i++) {
		leaves[i] = add_stack(g, v, &v->stacks[i], ids);
		if (!leaves[i])
			return -ENOMEM;
	}
	return add_rows(g, v, leaves);
}

static int add_event(struct sp_page *g, const struct sp_out_opts *opts, unsigned event)
{
	struct sp_view_opts o = opts->view;
	struct sp_view *v;
	int r;

	o.event = sp_profile_event_name(g->p, event);
	o.mark_truncated = !g->counted; /* a comparison sees stacks as sp_diff_init does */
	o.threads = false;		/* the page has a switch for them */
	o.split_types = g->counted;
	o.total = true;
	if (opts->view.event && strcmp(opts->view.event, o.event) != 0)
		return 0;
	r = sp_view_new(g->p, &o, &v);
	if (r < 0)
		return r;
	g->quantum[event] = g->counted ? 1 : quantum_of(&g->p->events[event]);
	g->filtered += v->filtered;
	r = v->event ? add_view(g, v) : 0;
	sp_view_free(v);
	return r;
}

static int by_place(const void *a, const void *b)
{
	const struct sp_page_row *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->bucket != y->bucket)
		return x->bucket < y->bucket ? -1 : 1;
	if (x->span != y->span)
		return x->span < y->span ? -1 : 1;
	if (x->leaf != y->leaf)
		return x->leaf < y->leaf ? -1 : 1;
	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	return x->label < y->label ? -1 : x->label > y->label;
}

static int by_use(const void *a, const void *b, void *arg)
{
	const uint32_t *uses = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (uses[x] != uses[y])
		return uses[x] > uses[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Numbers the leaves by how often they occur: frequent ones get short numbers. */
static int rank_stacks(struct sp_page *g)
{
	g->uses = calloc(g->trie.count, sizeof(*g->uses));
	g->leaves = calloc(g->trie.count, sizeof(*g->leaves));
	g->stack_of_node = calloc(g->trie.count, sizeof(*g->stack_of_node));
	g->profile_stack = calloc(g->trie.count, sizeof(*g->profile_stack));
	if (!g->uses || !g->leaves || !g->stack_of_node || !g->profile_stack)
		return -ENOMEM;
	for (size_t i = 0; i < g->row_count; i++) {
		uint32_t leaf = g->rows[i].leaf;

		if (g->uses[leaf]++ == 0)
			g->leaves[g->leaf_count++] = leaf;
		g->profile_stack[leaf] = g->rows[i].stack;
	}
	qsort_r(g->leaves, g->leaf_count, sizeof(*g->leaves), by_use, g->uses);
	for (uint32_t i = 0; i < g->leaf_count; i++)
		g->stack_of_node[g->leaves[i]] = i;
	return 0;
}

/* Nodes without an area of their own do what their callers want. */
static int settle_areas(struct sp_page *g)
{
	struct sp_trie_node *nodes = g->trie.nodes;
	SP_AUTO_FREE uint8_t *java = calloc(g->trie.count, 1);
	SP_AUTO_FREE uint8_t *clear = calloc(g->trie.count, 1);

	if (!java || !clear)
		return -ENOMEM;
	for (size_t i = 1; i < g->trie.count; i++) { /* callers come first */
		struct sp_trie_node *n = &nodes[i];

		java[i] = java[n->parent] || n->type < SP_FRAME_NATIVE;
		clear[i] = n->area || clear[n->parent];
		if (n->area && clear[n->parent] &&
			sp_area_covers(g->areas, nodes[n->parent].area - 1u, n->area - 1u))
			n->area = nodes[n->parent].area;
		if (!n->area)
			n->area = clear[i] ? nodes[n->parent].area
					   : (uint8_t)(sp_area_unclear(g->areas, n->type, java[i]) +
						       1);
	}
	return 0;
}

static int prepare_areas(struct sp_page *g, const struct sp_out_opts *opts)
{
	int r;

	g->areas = opts->view.areas;
	if (g->areas)
		return 0;
	r = sp_areas_new(&g->areas, NULL, NULL);
	g->own_areas = r == 0;
	return r < 0 ? r : sp_areas_learn(g->areas, g->p);
}

/* The first bucket of the page's time: where the recording or its first sample begins. */
static void settle_time(struct sp_page *g)
{
	const struct sp_profile *p = g->p;
	uint64_t last = 0;

	g->first_bucket = g->row_count ? UINT32_MAX : 0;
	for (size_t i = 0; i < g->row_count; i++) {
		const struct sp_page_row *r = &g->rows[i];

		g->first_bucket = r->bucket < g->first_bucket ? r->bucket : g->first_bucket;
		last = r->bucket + (uint64_t)r->span > last ? r->bucket + (uint64_t)r->span : last;
	}
	if (p->bucket_ns && p->start_ns > p->origin_ns &&
		(p->start_ns - p->origin_ns) / p->bucket_ns < g->first_bucket)
		g->first_bucket = (uint32_t)((p->start_ns - p->origin_ns) / p->bucket_ns);
	else if (p->bucket_ns && p->start_ns <= p->origin_ns)
		g->first_bucket = 0;
	g->start_ns = p->bucket_ns ? p->origin_ns + g->first_bucket * p->bucket_ns : p->start_ns;
	g->buckets = g->row_count ? (uint32_t)(last - g->first_bucket) + 1 : 0;
}

/* From weights to quanta. What rounding gives too much or too little goes on to the next row. */
static void round_values(struct sp_page *g)
{
	int64_t owed = 0;

	for (size_t i = 0; i < g->row_count; i++) {
		struct sp_page_row *r = &g->rows[i];
		int64_t quantum = (int64_t)g->quantum[r->event];

		owed = (i && g->rows[i - 1].event != r->event ? 0 : owed) + (int64_t)r->value;
		r->value = owed > 0 ? (uint64_t)((owed + quantum / 2) / quantum) : 0;
		owed -= (int64_t)r->value * quantum;
	}
}

/* What switches have to offer is known before the samples are read. */
static int count_rows(struct sp_page *g)
{
	g->thread_weights = calloc((size_t)g->thread_count + 1, sizeof(*g->thread_weights));
	if (!g->thread_weights)
		return -ENOMEM;
	for (size_t i = 0; i < g->row_count; i++) {
		const struct sp_page_row *r = &g->rows[i];

		g->event_rows[r->event]++;
		g->stated[r->event] |= r->state != 0;
		g->unlabelled |= r->label == 0;
		g->thread_weights[r->thread] += r->value * g->quantum[r->event];
	}
	return 0;
}

static uint32_t intern_text(struct sp_page *g, const struct sp_buf *b)
{
	return b->len ? sp_dict_string(g->names, b->data, b->len) : 0;
}

/* Names a task and what it belongs to. They are strings of the page, as frames are. */
static struct sp_page_label label_of(struct sp_page *g, const struct sp_task_run *t)
{
	const char *executor = sp_dict_get_string(g->p->dict, t->executor, NULL);
	SP_AUTO_BUF struct sp_buf b;
	struct sp_page_label l;
	char tag[128];

	sp_buf_init(&b);
	if (t->executor)
		sp_buf_addf(
			&b, "%s%s", strcmp(executor, "driver") == 0 ? "" : "executor ", executor);
	l.executor = intern_text(g, &b);
	sp_buf_clear(&b);
	if (t->stage_label)
		sp_buf_adds(&b, sp_dict_get_string(g->p->dict, t->stage_label, NULL));
	else if (t->name.stage >= 0 && t->name.stage_attempt >= 0)
		sp_buf_addf(&b, "stage %d.%d", t->name.stage, t->name.stage_attempt);
	else if (t->name.stage >= 0)
		sp_buf_addf(&b, "stage %d", t->name.stage);
	l.stage = intern_text(g, &b);
	sp_buf_clear(&b);
	if (t->label)
		sp_buf_adds(&b, sp_dict_get_string(g->p->dict, t->label, NULL));
	else if (!t->folded && (t->name.task_id >= 0 || t->name.stage >= 0))
		sp_buf_adds(&b, sp_task_name_tag(&t->name, tag, sizeof(tag)));
	l.task = intern_text(g, &b);
	return l;
}

static int name_labels(struct sp_page *g)
{
	g->labels = calloc(g->p->task_count + 1, sizeof(*g->labels));
	for (size_t i = 0; g->labels && i < g->p->task_count; i++)
		g->labels[i] = label_of(g, &g->p->tasks[i]);
	return g->labels ? 0 : -ENOMEM;
}

/* All threads that there are; of those that others brought, the ones that rows have. */
static int number_threads(struct sp_page *g)
{
	size_t n = (size_t)sp_dict_threads(g->p->dict) + 1;
	uint32_t foreign = g->p->foreign;
	SP_AUTO_FREE uint32_t *places = calloc(n, sizeof(*places));

	g->threads = calloc(n, sizeof(*g->threads));
	if (!places || !g->threads)
		return -ENOMEM;
	for (size_t i = 0; i < g->row_count; i++) {
		if (g->rows[i].thread >= n)
			g->rows[i].thread = 0; /* nobody's */
		places[g->rows[i].thread] = 1;
	}
	for (uint32_t id = 1; id < n; id++) {
		if (foreign && id >= foreign && !places[id])
			continue;
		g->threads[g->thread_count++] = id;
		places[id] = g->thread_count;
	}
	places[0] = 0;
	for (size_t i = 0; i < g->row_count; i++)
		g->rows[i].thread = places[g->rows[i].thread];
	return 0;
}

static int collect(struct sp_page *g, const struct sp_out_opts *opts)
{
	int r = sp_trie_init(&g->trie);

	g->rows = r < 0 ? NULL : calloc(g->p->row_count + 1, sizeof(*g->rows));
	if (!g->rows)
		return -ENOMEM;
	r = sp_dict_new(&g->names, NAMES_CAP);
	if (r == 0)
		r = prepare_areas(g, opts);
	for (unsigned i = 0; i < g->p->event_count && r == 0; i++)
		r = add_event(g, opts, i);
	if (r == 0)
		r = name_labels(g);
	if (r == 0)
		r = number_threads(g);
	if (r == 0)
		r = rank_stacks(g);
	if (r == 0 && g->p->task_count)
		r = sp_time_class_new(&g->spent, g->p);
	if (r == 0)
		r = settle_areas(g);
	if (r == 0)
		r = sp_trie_order(&g->trie, &g->order, &g->place);
	if (r < 0)
		return r;
	qsort(g->rows, g->row_count, sizeof(*g->rows), by_place);
	settle_time(g);
	round_values(g);
	r = count_rows(g);
	return r < 0 ? r : sp_first_paint(g);
}

int sp_pagedata(const struct sp_profile *p, const struct sp_diff *diff,
	const struct sp_out_opts *opts, struct sp_buf *out, size_t *ret_rest)
{
	__attribute__((cleanup(done))) struct sp_page g = {.p = p, .diff = diff};
	int r;

	g.counted = diff && !opts->view.total;
	g.o = opts;
	r = collect(&g, opts);

	if (r == 0)
		*ret_rest = sp_page_put(&g, out);
	return r < 0 ? r : out->failed ? -ENOMEM : 0;
}
