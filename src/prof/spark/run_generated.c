/* Generated classes by their operators: see run_stages.h. Spark numbers them anew in every query,
 * and AQE as it goes: CodegenStage5 of one run is CodegenStage2 of another. What they do shows in
 * the names of their methods, "hashAgg_doAggregateWithKeys_0". Classes of two stages that are
 * partners are matched by these. */
#include "prof/spark/run_stages.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/hash.h"

enum { DIMS = 64, OPERATORS = 12, OPERATOR_SIZE = 24 };

/* One generated class of one stage. */
struct generated {
	uint32_t stage;
	unsigned number;
	char operators[OPERATORS][OPERATOR_SIZE]; /* by name */
	unsigned operator_count;
	float methods[DIMS];
	uint32_t partner; /* number in the other run + 1; 0: none */
	char *name;	  /* owned: "Generated(hashAgg, smj)" */
};

struct run {
	struct sp_run_stages *s;
	struct generated *list; /* owned */
	uint32_t count;
	uint32_t *of_method; /* owned: codegen number by method; 0: no generated class */
	size_t methods;
	uint8_t *of_stack; /* owned: 1: none of its frames is generated, 2: one is */
	uint64_t *keys;	   /* owned hash table: stage, and stack or method … */
	uint32_t *values;  /* … to what it becomes */
	size_t slots, used;
};

static void run_done(struct run *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		free(r->list[i].name);
	free(r->list);
	free(r->of_method);
	free(r->of_stack);
	free(r->keys);
	free(r->values);
}

/* "hashAgg_doConsume_0": hashAgg. Returns its length; 0: the method is of no operator. */
static size_t operator_of(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && isalpha((unsigned char)s[i]))
		i++;
	if (i == 0 || i >= n || s[i] != '_' || i >= OPERATOR_SIZE ||
		(i == strlen("wholestagecodegen") && memcmp(s, "wholestagecodegen", i) == 0))
		return 0;
	return i;
}

static void add_operator(struct generated *g, const char *s, size_t n)
{
	unsigned at = 0;
	int order = -1;

	while (at < g->operator_count) {
		order = strncmp(g->operators[at], s, n);
		order = order ? order : g->operators[at][n] != 0;
		if (order >= 0)
			break;
		at++;
	}
	if (n == 0 || g->operator_count == OPERATORS || (at < g->operator_count && order == 0))
		return;
	memmove(g->operators[at + 1], g->operators[at],
		(g->operator_count++ - at) * sizeof(g->operators[0]));
	memcpy(g->operators[at], s, n);
	g->operators[at][n] = 0;
}

/* The slot of a key; the table has room. */
static size_t slot_of(const struct run *r, uint64_t key)
{
	size_t i = sp_hash_mix(key, 0x9e3779b97f4a7c15ull) & (r->slots - 1);

	while (r->keys[i] && r->keys[i] != key)
		i = (i + 1) & (r->slots - 1);
	return i;
}

static int put_value(struct run *r, uint64_t key, uint32_t value)
{
	if (2 * (r->used + 1) > r->slots) {
		struct run old = *r;

		r->slots = old.slots ? old.slots * 2 : 1024;
		r->keys = calloc(r->slots, sizeof(*r->keys));
		r->values = calloc(r->slots, sizeof(*r->values));
		for (size_t i = 0; r->keys && r->values && i < old.slots; i++)
			if (old.keys[i]) {
				size_t at = slot_of(r, old.keys[i]);

				r->keys[at] = old.keys[i];
				r->values[at] = old.values[i];
			}
		free(old.keys);
		free(old.values);
		if (!r->keys || !r->values)
			return -ENOMEM;
	}
	r->used++;
	r->keys[slot_of(r, key)] = key;
	r->values[slot_of(r, key)] = value;
	return 0;
}

enum { OF_STACK, OF_METHOD, OF_CLASS };

/* Stages are counted, so there are fewer than 2^30. */
static uint64_t key_of(uint32_t stage, uint32_t id, unsigned kind)
{
	return (uint64_t)(stage + 1) << 34 | (uint64_t)kind << 32 | id;
}

static uint32_t get_value(const struct run *r, uint64_t key)
{
	size_t at = r->slots ? slot_of(r, key) : 0;

	return r->slots && r->keys[at] == key ? r->values[at] : 0;
}

static struct generated *class_of(struct run *r, uint32_t stage, unsigned number)
{
	uint64_t key = key_of(stage, number, OF_CLASS);
	uint32_t known = get_value(r, key);

	if (known)
		return &r->list[known - 1];
	if (sp_grow_one(&r->list, r->count, sizeof(*r->list)) < 0)
		return NULL;
	r->list[r->count++] = (struct generated){.stage = stage, .number = number};
	return put_value(r, key, r->count) == 0 ? &r->list[r->count - 1] : NULL;
}

static int add_method(struct run *r, uint32_t stage, uint32_t method, uint64_t samples)
{
	const struct sp_dict *d = r->s->p->dict;
	const struct sp_method *m = sp_dict_get_method(d, method);
	struct generated *g = class_of(r, stage, r->of_method[method]);
	size_t cls_len, len, start, end = 0;
	const char *cls = sp_dict_get_string(d, m->class_id, &cls_len);
	const char *name = sp_dict_get_string(d, m->name_id, &len);

	if (!g)
		return -ENOMEM;
	sp_run_codegen_number(cls, cls_len, &start, &end);
	if (end + 1 < cls_len) /* a class inside: "$hashAgg_FastHashMap_0" */
		add_operator(g, cls + end + 1, operator_of(cls + end + 1, cls_len - end - 1));
	else
		add_operator(g, name, operator_of(name, len));
	g->methods[(sp_hash_bytes(name, len) ^ sp_hash_bytes(cls + end, cls_len - end)) % DIMS] +=
		(float)samples;
	return 0;
}

static int look_at_methods(struct run *r)
{
	const struct sp_dict *d = r->s->p->dict;

	r->methods = sp_dict_methods(d) + 1ul;
	r->of_method = calloc(r->methods, sizeof(*r->of_method));
	r->of_stack = calloc(sp_dict_stacks(d) + 1ul, 1);
	if (!r->of_method || !r->of_stack)
		return -ENOMEM;
	for (uint32_t i = 1; i < r->methods; i++) {
		const struct sp_method *m = sp_dict_get_method(d, i);
		size_t len, start, end;
		const char *cls = sp_dict_get_string(d, m->native ? 0 : m->class_id, &len);

		r->of_method[i] = sp_run_codegen_number(cls, len, &start, &end);
	}
	return 0;
}

/* Whether a row's stack has a generated class. */
static bool has_generated(struct run *r, uint32_t stack)
{
	const struct sp_stack *st;

	if (r->of_stack[stack])
		return r->of_stack[stack] == 2;
	st = sp_dict_get_stack(r->s->p->dict, stack);
	r->of_stack[stack] = 1;
	for (uint32_t i = 0; st && i < st->count; i++)
		if (r->of_method[st->frames[i].method])
			r->of_stack[stack] = 2;
	return r->of_stack[stack] == 2;
}

static int collect_classes(struct run *r)
{
	const struct sp_profile *p = r->s->p;
	int e = look_at_methods(r);

	for (size_t i = 0; i < p->row_count && e == 0; i++) {
		const struct sp_sample *x = &p->rows[i];
		const struct sp_stack *st;

		if (!has_generated(r, x->stack))
			continue;
		st = sp_dict_get_stack(p->dict, x->stack);
		for (uint32_t k = 0; k < st->count && e == 0; k++)
			if (r->of_method[st->frames[k].method])
				e = add_method(r, sp_run_stage_of(r->s, x), st->frames[k].method,
					x->count);
	}
	return e;
}

/* The same operators, methods that are alike, about the same number. */
static double score(const struct generated *a, const struct generated *b)
{
	unsigned both = 0, all = a->operator_count + b->operator_count;

	for (unsigned i = 0; i < a->operator_count; i++)
		for (unsigned k = 0; k < b->operator_count; k++)
			both += strcmp(a->operators[i], b->operators[k]) == 0;
	return (all ? 2.0 * both / all : 0.5) + sp_run_alike(a->methods, b->methods, DIMS) -
	       0.01 * fabs((double)a->number - (double)b->number);
}

/* The classes of a stage; returns how many. */
static uint32_t classes_in(struct run *r, uint32_t stage, struct generated **list)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->count; i++)
		if (r->list[i].stage == stage)
			list[n++] = &r->list[i];
	return n;
}

/* The best pair of all that have no partner yet. Returns whether there is one. */
static bool match_best(struct run runs[2], struct generated **lists[2], const uint32_t counts[2])
{
	struct generated *x = NULL, *y = NULL;
	double best = 0.4;

	for (uint32_t i = 0; i < counts[0]; i++) {
		for (uint32_t k = 0; k < counts[1]; k++) {
			struct generated *a = lists[0][i], *b = lists[1][k];

			if (a->partner || b->partner || score(a, b) <= best)
				continue;
			best = score(a, b);
			x = a;
			y = b;
		}
	}
	if (!x)
		return false;
	x->partner = (uint32_t)(y - runs[1].list) + 1;
	y->partner = (uint32_t)(x - runs[0].list) + 1;
	return true;
}

/* Stage by stage; the last one is of samples that are in none. */
static int match_classes(struct run runs[2])
{
	SP_AUTO_FREE struct generated **a = calloc(runs[0].count + 1ul, sizeof(*a));
	SP_AUTO_FREE struct generated **b = calloc(runs[1].count + 1ul, sizeof(*b));
	struct generated **lists[2] = {a, b};
	uint32_t stages = runs[0].s->count;

	if (!a || !b)
		return -ENOMEM;
	for (uint32_t i = 0; i <= stages; i++) {
		uint32_t other = i < stages ? runs[0].s->rows[i].partner : runs[1].s->count + 1;
		uint32_t counts[2] = {
			classes_in(&runs[0], i, a), other ? classes_in(&runs[1], other - 1, b) : 0};

		while (match_best(runs, lists, counts)) {
		}
	}
	return 0;
}

static char *join_operators(const struct generated *g, unsigned same)
{
	SP_AUTO_BUF struct sp_buf b = {0};

	sp_buf_adds(&b, "Generated(");
	for (unsigned i = 0; i < g->operator_count; i++)
		sp_buf_addf(&b, "%s%s", i ? ", " : "", g->operators[i]);
	sp_buf_addf(&b, g->operator_count ? ")" : "not seen)");
	if (same)
		sp_buf_addf(&b, " %u", same + 1);
	return b.failed ? NULL : strdup(sp_buf_str(&b));
}

/* Those of one stage that have the same operators get numbers. */
static unsigned count_same(const struct run *r, const struct generated *g)
{
	unsigned same = 0;

	for (const struct generated *x = r->list; x < r->list + r->count; x++)
		same += x != g && x->stage == g->stage && x->name &&
			x->operator_count == g->operator_count &&
			memcmp(x->operators, g->operators, sizeof(g->operators)) == 0;
	return same;
}

/* What one run has seen, its partner has as well. */
static void share_operators(struct run runs[2])
{
	for (uint32_t i = 0; i < runs[0].count; i++) {
		struct generated *a = &runs[0].list[i], *b;

		if (!a->partner)
			continue;
		b = &runs[1].list[a->partner - 1];
		for (unsigned k = 0; k < b->operator_count; k++)
			add_operator(a, b->operators[k], strlen(b->operators[k]));
		memcpy(b->operators, a->operators, sizeof(a->operators));
		b->operator_count = a->operator_count;
	}
}

/* Names of pairs first, so that no other class gets one of them. */
static int name_classes(struct run runs[2])
{
	for (unsigned pass = 0; pass < 4; pass++) {
		struct run *r = &runs[pass % 2];

		for (uint32_t i = 0; i < r->count; i++) {
			struct generated *g = &r->list[i];

			if (g->name || (pass < 2 && !g->partner))
				continue;
			g->name = pass == 1 ? strdup(runs[0].list[g->partner - 1].name)
					    : join_operators(g, count_same(r, g));
			if (!g->name)
				return -ENOMEM;
		}
	}
	return 0;
}

/* The method under its class's new name; 0 when out of memory. */
static uint32_t renamed_method(struct run *r, uint32_t stage, uint32_t method)
{
	struct sp_dict *d = r->s->p->dict;
	struct sp_method m = *sp_dict_get_method(d, method);
	uint32_t known = get_value(r, key_of(stage, method, OF_METHOD));
	SP_AUTO_BUF struct sp_buf b = {0};
	size_t len, start = 0, end = 0;
	const char *cls = sp_dict_get_string(d, m.class_id, &len);

	if (known)
		return known;
	sp_run_codegen_number(cls, len, &start, &end);
	sp_buf_add(&b, cls, start);
	sp_buf_adds(&b, class_of(r, stage, r->of_method[method])->name);
	sp_buf_add(&b, cls + end, len - end);
	m.class_id = b.failed ? 0 : sp_dict_string(d, sp_buf_str(&b), b.len);
	known = m.class_id ? sp_dict_method(d, &m) : 0;
	return known && put_value(r, key_of(stage, method, OF_METHOD), known) == 0 ? known : 0;
}

static int rename_stack(struct run *r, uint32_t stage, uint32_t stack)
{
	struct sp_dict *d = r->s->p->dict;
	const struct sp_stack *st = sp_dict_get_stack(d, stack);
	SP_AUTO_FREE struct sp_frame_ref *frames = calloc(st->count + 1ul, sizeof(*frames));
	uint32_t count = st->count, id;
	bool truncated = st->truncated;

	if (!frames)
		return -ENOMEM;
	memcpy(frames, st->frames, count * sizeof(*frames));
	for (uint32_t i = 0; i < count; i++) {
		if (!r->of_method[frames[i].method])
			continue;
		frames[i].method = renamed_method(r, stage, frames[i].method);
		if (!frames[i].method)
			return -ENOMEM;
	}
	id = sp_dict_stack(d, frames, count, truncated);
	return id ? put_value(r, key_of(stage, stack, OF_STACK), id) : -ENOMEM;
}

static void change_row(void *ctx, struct sp_sample *row)
{
	const struct run *r = ctx;
	uint32_t to = get_value(r, key_of(sp_run_stage_of(r->s, row), row->stack, OF_STACK));

	row->stack = to ? to : row->stack;
}

static int rename_rows(struct run *r)
{
	struct sp_profile *p = r->s->p;
	int e = 0;

	for (size_t i = 0; i < p->row_count && e == 0; i++) {
		const struct sp_sample *x = &p->rows[i];
		uint32_t stage = sp_run_stage_of(r->s, x);

		if (has_generated(r, x->stack) && !get_value(r, key_of(stage, x->stack, OF_STACK)))
			e = rename_stack(r, stage, x->stack);
	}
	if (e == 0 && r->used)
		sp_profile_rekey(p, change_row, r);
	return e;
}

int sp_run_rename_generated(struct sp_run_stages *base, struct sp_run_stages *new)
{
	struct run runs[2] = {{.s = base}, {.s = new}};
	int r = collect_classes(&runs[0]);

	if (r == 0)
		r = collect_classes(&runs[1]);
	if (r == 0)
		r = match_classes(runs);
	share_operators(runs);
	if (r == 0)
		r = name_classes(runs);
	for (unsigned i = 0; i < 2 && r == 0; i++)
		r = rename_rows(&runs[i]);
	run_done(&runs[0]);
	run_done(&runs[1]);
	return r;
}
