/* From rows to named, merged stacks: see view.h. The view has a dictionary of its own: a shown
 * frame is a method with the shown text as its name, so equal stacks get equal ids there. */
#include "prof/view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "prof/model/glob.h"
#include "prof/spark/operators.h"
#include "prof/spark/time_class.h"
#include "prof/view/view_totals.h"

#define NAMES_CAP (1ull << 30) /* address space, touched as used */

enum {
	SEEN = 1,
	INCLUDED = 2,
	EXCLUDED = 4,
};

/* What is known of one (method, type) of the profile. */
struct named {
	uint32_t frame; /* in the view */
	uint8_t flags;
};

struct builder {
	struct sp_view *v;
	const struct sp_view_opts *o;
	struct named *named; /* [method id * SP_FRAME_TYPES + type] */
	struct sp_frame_ref *frames;
	uint32_t *by_key; /* view stack number + 1: a hash over id, thread and state */
	size_t by_key_size, stack_cap;
	struct sp_areas *areas; /* owned where the caller gave none */
	struct sp_time_class_of *spent;
	struct sp_operators *operators;
	int64_t *known; /* what stack_of said + 1, by stack of the profile; 0: not asked yet */
	size_t known_count;
	struct sp_buf text;
};

static void builder_done(struct builder *b)
{
	free(b->named);
	free(b->frames);
	free(b->by_key);
	free(b->known);
	if (!b->o->areas)
		sp_areas_free(b->areas);
	sp_time_class_free(b->spent);
	sp_operators_free(b->operators);
	sp_buf_done(&b->text);
}

static const struct sp_event *pick_event(const struct sp_profile *p, const char *name)
{
	for (unsigned i = 0; i < p->event_count; i++) {
		const struct sp_event *e = &p->events[i];

		if (name ? strcmp(sp_dict_get_string(p->dict, e->name_id, NULL), name) == 0
			 : e->samples > 0)
			return e;
	}
	return !name && p->event_count ? &p->events[0] : NULL;
}

/* Makes the text in b->text a frame of the view. Returns its number or 0 when out of memory. */
static uint32_t add_frame(struct builder *b, enum sp_frame_type type, bool java)
{
	struct sp_method m = {0};

	m.name_id = sp_dict_string(b->v->names, sp_buf_str(&b->text), b->text.len);
	if (m.name_id == 0 || b->text.failed)
		return 0;
	m.modifiers = b->o->split_types ? (uint16_t)(type + 1) : 0;
	m.native = b->o->split_types && !java;
	return sp_dict_method(b->v->names, &m);
}

static uint8_t match_name(const struct sp_view_opts *o, const char *name)
{
	return (sp_glob_any(o->include, o->include_count, name) ? INCLUDED : 0) |
	       (sp_glob_any(o->exclude, o->exclude_count, name) ? EXCLUDED : 0);
}

/* Tries the patterns on the full name, with slashes and with dots, and on the one that is shown. */
static uint8_t match_frame(struct builder *b, const struct sp_frame_ref *f)
{
	struct sp_style styles[] = {{0}, {.dotted = true}, b->o->style};
	uint8_t flags = 0;

	styles[2].annotate = false;
	for (size_t i = 0; i < SP_COUNT(styles); i++) {
		sp_buf_clear(&b->text);
		sp_frame_name(b->v->profile->dict, f, &styles[i], &b->text);
		flags |= match_name(b->o, sp_buf_str(&b->text));
	}
	return flags;
}

/* Names a frame once; NULL when out of memory. */
static const struct named *name_frame(struct builder *b, const struct sp_frame_ref *f)
{
	const struct sp_dict *d = b->v->profile->dict;
	uint32_t method = f->method <= sp_dict_methods(d) ? f->method : 0;
	struct named *n = &b->named[(size_t)method * SP_FRAME_TYPES + f->type % SP_FRAME_TYPES];
	const struct sp_method *m = sp_dict_get_method(d, f->method);

	if (n->flags & SEEN)
		return n;
	sp_buf_clear(&b->text);
	sp_frame_name(d, f, &b->o->style, &b->text);
	n->frame = add_frame(b, sp_frame_name_type(d, f), m && !m->native);
	if (n->frame == 0)
		return NULL;
	n->flags = SEEN;
	if (b->o->include_count + b->o->exclude_count > 0)
		n->flags |= match_frame(b, f);
	return n;
}

/* The thread's name alone is what patterns see. */
static uint8_t match_thread(const struct builder *b, uint32_t thread)
{
	const struct sp_dict *d = b->v->profile->dict;
	const struct sp_thread *t = sp_dict_get_thread(d, thread);
	const char *name = t ? sp_dict_get_string(d, t->name_id, NULL) : "";

	return match_name(b->o, name);
}

/* Puts the frame that b->text names below the @n others. Returns 1, or 0 when out of memory. */
static uint32_t add_root(struct builder *b, uint32_t n)
{
	b->frames[n] = (struct sp_frame_ref){.method = add_frame(b, SP_FRAME_NATIVE, false)};
	if (b->frames[n].method == 0)
		b->text.failed = true;
	return b->frames[n].method != 0;
}

/* Makes a frame the same at a line. */
static void set_line(struct builder *b, struct sp_frame_ref *f, int32_t line)
{
	struct sp_method m = *sp_dict_get_method(b->v->names, f->method);

	m.sig_id = (uint32_t)line;
	sp_buf_clear(&b->text);
	sp_buf_addf(&b->text, "%s:%d", sp_view_get_frame(b->v, f->method).name, line);
	if (b->o->name_lines)
		m.name_id = sp_dict_string(b->v->names, sp_buf_str(&b->text), b->text.len);
	f->method = sp_dict_method(b->v->names, &m);
	b->text.failed |= !f->method;
}

/* What --by says of a row, into b->text. */
static void name_root(struct builder *b, const struct sp_sample *s)
{
	struct sp_dict *d = b->v->profile->dict;
	const struct sp_stack *st = sp_dict_get_stack(d, s->stack);

	if (b->o->by == SP_BY_WAIT) {
		sp_buf_addf(
			&b->text, "[%s]", sp_time_class_name(sp_time_class_of_row(b->spent, s)));
	} else if (b->o->by == SP_BY_OPERATOR) {
		sp_operators_label(b->operators, s, &b->text);
	} else if (b->o->by == SP_BY_CLASS) {
		sp_frame_name_work(d, st, &b->o->style, &b->text);
	} else if (b->o->by == SP_BY_AREA) {
		sp_buf_addf(&b->text, "[%s]",
			sp_areas_get(b->areas, sp_area_of_stack(b->areas, d, st ? st->frames : NULL,
						       st ? st->count : 0))
				->name);
	} else {
		const char *root =
			sp_dict_get_string(d, b->o->by == SP_BY_STATE ? s->state : s->root, NULL);

		sp_buf_adds(&b->text, *root ? root : "[not known]");
	}
}

/* Fills b->frames, leaf first, with the shown frames of a row.
 * Returns: their number; 0: left out by a filter; -ENOMEM. */
static int shown_frames(struct builder *b, const struct sp_sample *s, bool *ret_truncated)
{
	static const struct sp_frame_ref none = {.type = SP_FRAME_NATIVE};
	const struct sp_stack *st = sp_dict_get_stack(b->v->profile->dict, s->stack);
	uint32_t count = st ? st->count : 0, n = 0;
	uint8_t flags = b->o->threads || b->o->by == SP_BY_THREAD ? match_thread(b, s->thread) : 0;

	*ret_truncated = st && st->truncated;
	for (uint32_t i = 0; i < (count ? count : 1); i++) {
		const struct named *f = name_frame(b, count ? &st->frames[i] : &none);

		if (!f)
			return -ENOMEM;
		flags |= f->flags;
		if (b->o->depth && n >= b->o->depth)
			continue;
		b->frames[n++].method = f->frame;
		if (b->o->lines && count && st->frames[i].line > 0)
			set_line(b, &b->frames[n - 1], st->frames[i].line);
	}
	if ((flags & EXCLUDED) || (b->o->include_count && !(flags & INCLUDED)))
		return 0;
	if (b->o->mark_truncated && *ret_truncated) {
		sp_buf_clear(&b->text);
		sp_buf_adds(&b->text, "[truncated]");
		n += add_root(b, n);
	}
	if (b->o->threads || b->o->by == SP_BY_THREAD) {
		sp_buf_clear(&b->text);
		sp_frame_name_thread(b->v->profile->dict, s->thread, &b->text);
		n += add_root(b, n);
	}
	if (b->o->by > SP_BY_THREAD) {
		sp_buf_clear(&b->text);
		name_root(b, s);
		n += add_root(b, n);
	}
	return b->text.failed ? -ENOMEM : (int)n;
}

/* Grows @array to hold more than @n entries of @size, new ones zeroed. */
/* A stack that was not met before: keeps its frames, root first. */
static int add_stack(struct builder *b, const struct sp_sample *s, uint32_t n, bool truncated)
{
	struct sp_view *v = b->v;

	if (sp_grow_zero(&v->stacks, &b->stack_cap, v->stack_count, sizeof(*v->stacks), 256) < 0 ||
		sp_grow_zero(
			&v->frames, &v->frames_cap, v->frames_len + n, sizeof(*v->frames), 256) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		v->frames[v->frames_len + i] = b->frames[n - 1 - i].method;
	/* an offset for now: the array still moves */
	v->stacks[v->stack_count++] = (struct sp_view_stack){
		(const uint32_t *)(uintptr_t)(v->frames_len * sizeof(*v->frames)), n, truncated, 0,
		0, 0, b->o->split ? s->thread : 0, b->o->split ? s->state : 0,
		b->o->split ? s->task : 0};
	v->frames_len += n;
	return 0;
}

static size_t hash_key(uint32_t id, uint32_t thread, uint32_t state, uint32_t task)
{
	uint64_t h = ((uint64_t)id << 32 | thread) * 0x9e3779b97f4a7c15ull + state +
		     task * 0xc4ceb9fe1a85ec53ull;

	h = (h ^ h >> 32) * 0xff51afd7ed558ccdull;
	return (size_t)(h ^ h >> 29);
}

/* Where a stack is among those of the view. */
static uint32_t *probe(
	const struct builder *b, uint32_t id, uint32_t thread, uint32_t state, uint32_t task)
{
	size_t mask = b->by_key_size - 1, i = hash_key(id, thread, state, task) & mask;

	for (; b->by_key[i]; i = (i + 1) & mask) {
		const struct sp_view_stack *s = &b->v->stacks[b->by_key[i] - 1];

		if (s->value == id && s->thread == thread && s->state == state && s->task == task)
			break;
	}
	return &b->by_key[i];
}

/* The same, with room for one more; NULL when out of memory. */
static uint32_t *find_key(struct builder *b, uint32_t id, const struct sp_sample *s)
{
	if (b->v->stack_count * 2 >= b->by_key_size) {
		size_t size = b->by_key_size ? b->by_key_size * 2 : 1024;
		uint32_t *to = calloc(size, sizeof(*to));

		if (!to)
			return NULL;
		free(b->by_key);
		b->by_key = to;
		b->by_key_size = size;
		for (size_t i = 0; i < b->v->stack_count; i++) {
			const struct sp_view_stack *x = &b->v->stacks[i];

			*probe(b, (uint32_t)x->value, x->thread, x->state, x->task) =
				(uint32_t)i + 1;
		}
	}
	if (!b->o->split)
		return probe(b, id, 0, 0, 0);
	return probe(b, id, s->thread, s->state, s->task);
}

/* Finds or makes the stack of the view that a row belongs to.
 * Returns: its number + 1; 0: left out by a filter; -ENOMEM. */
static int64_t stack_of(struct builder *b, const struct sp_sample *s)
{
	bool truncated;
	int n = shown_frames(b, s, &truncated);
	uint32_t id, *at;

	if (n <= 0)
		return n;
	id = sp_dict_stack(b->v->names, b->frames, (uint32_t)n, truncated);
	at = id ? find_key(b, id, s) : NULL;
	if (!at)
		return -ENOMEM;
	if (*at == 0) {
		if (add_stack(b, s, (uint32_t)n, truncated) < 0)
			return -ENOMEM;
		b->v->stacks[b->v->stack_count - 1].value = id; /* until values are settled */
		*at = (uint32_t)b->v->stack_count;
	}
	return *at;
}

/* The same, remembered by the profile's stack, where nothing else decides. */
static int64_t known_stack_of(struct builder *b, const struct sp_sample *s)
{
	bool alone =
		!b->o->threads && !b->o->split &&
		(b->o->by == SP_BY_NOTHING || b->o->by == SP_BY_CLASS || b->o->by == SP_BY_AREA);
	int64_t *known = &b->known[s->stack < b->known_count ? s->stack : 0];

	if (!alone || s->stack == 0 || s->stack >= b->known_count)
		return stack_of(b, s);
	if (*known == 0)
		*known = stack_of(b, s) + 1;
	return *known - 1;
}

static int add_row(struct builder *b, const struct sp_sample *s)
{
	struct sp_view_stack *st;
	int64_t number = known_stack_of(b, s);

	if (number < 0)
		return -ENOMEM;
	b->v->row_stacks[s - b->v->profile->rows] = (uint32_t)number;
	if (number == 0)
		return 0;
	st = &b->v->stacks[number - 1];
	st->samples += s->count;
	st->weight += s->weight;
	return 1;
}

static void settle_values(struct sp_view *v, bool total)
{
	struct sp_rounding round = sp_rounding_of(v->event);

	for (size_t i = 0; i < v->stack_count; i++) {
		struct sp_view_stack *s = &v->stacks[i];

		s->frames = (const uint32_t *)((const char *)v->frames + (uintptr_t)s->frames);
		s->samples = sp_round(&round, s->samples, s->weight);
		s->value = total ? s->weight : s->samples;
		v->samples += s->samples;
		v->weight += s->weight;
		v->value += s->value;
	}
	v->filtered = v->event->samples - v->samples;
}

static int add_rows(struct builder *b)
{
	const struct sp_profile *p = b->v->profile;
	uint32_t event = (uint32_t)(b->v->event - p->events);
	size_t threads = sp_dict_threads(p->dict) + 1, strings = sp_dict_strings(p->dict) + 1;

	b->v->threads = calloc(threads, sizeof(*b->v->threads));
	b->v->states = calloc(strings, sizeof(*b->v->states));
	b->v->holders = calloc(strings, sizeof(*b->v->holders));
	if (!b->v->threads || !b->v->states || !b->v->holders)
		return -ENOMEM;
	for (size_t i = 0; i < p->row_count; i++) {
		const struct sp_sample *s = &p->rows[i];
		int r;

		if (s->event != event)
			continue;
		if (b->o->state &&
			strcmp(sp_dict_get_string(p->dict, s->state, NULL), b->o->state) != 0)
			continue;
		r = add_row(b, s);
		if (r < 0)
			return r;
		if (r > 0) {
			sp_view_totals_add(b->v->threads, threads, s->thread, s);
			sp_view_totals_add(b->v->states, strings, s->state, s);
			if (s->holder)
				sp_view_totals_add(b->v->holders, strings, s->holder, s);
		}
	}
	b->v->thread_count = sp_view_totals_rank(b->v->threads, threads, b->v->event);
	b->v->state_count = sp_view_totals_rank(b->v->states, strings, b->v->event);
	b->v->holder_count = sp_view_totals_rank(b->v->holders, strings, b->v->event);
	settle_values(b->v, b->o->total);
	return 0;
}

int sp_view_new(const struct sp_profile *p, const struct sp_view_opts *opts, struct sp_view **ret)
{
	__attribute__((cleanup(builder_done))) struct builder b = {.o = opts};
	int r;

	b.v = calloc(1, sizeof(*b.v));
	if (!b.v)
		return -ENOMEM;
	b.v->profile = p;
	b.v->event = pick_event(p, opts->event);
	b.named = calloc(((size_t)sp_dict_methods(p->dict) + 1) * SP_FRAME_TYPES, sizeof(*b.named));
	b.known_count = (size_t)sp_dict_stacks(p->dict) + 1;
	b.known = calloc(b.known_count, sizeof(*b.known));
	b.v->row_stacks = calloc(p->row_count + 1, sizeof(*b.v->row_stacks));
	b.frames = calloc(SP_DICT_MAX_FRAMES + 4, sizeof(*b.frames));
	b.areas = opts->areas;
	if (opts->by == SP_BY_AREA && !b.areas && sp_areas_new(&b.areas, NULL, NULL) < 0) {
		sp_view_free(b.v);
		return -ENOMEM;
	}
	r = sp_dict_new(&b.v->names, NAMES_CAP);
	if (r == 0 && opts->by == SP_BY_WAIT)
		r = sp_time_class_new(&b.spent, p);
	if (r == 0 && opts->by == SP_BY_OPERATOR)
		r = sp_operators_new(&b.operators, p);
	if (r == 0 && (!b.named || !b.frames || !b.known || !b.v->row_stacks))
		r = -ENOMEM;
	if (r == 0 && b.v->event)
		r = add_rows(&b);
	if (r < 0) {
		sp_view_free(b.v);
		return r;
	}
	*ret = b.v;
	return 0;
}

void sp_view_free(struct sp_view *v)
{
	if (!v)
		return;
	sp_dict_free(v->names);
	free(v->stacks);
	free(v->threads);
	free(v->states);
	free(v->holders);
	free(v->frames);
	free(v->row_stacks);
	free(v);
}

struct sp_view_frame sp_view_get_frame(const struct sp_view *v, uint32_t frame)
{
	const struct sp_method *m = sp_dict_get_method(v->names, frame);
	struct sp_view_frame f = {"", SP_FRAME_NATIVE, 0, false};

	if (!m)
		return f;
	f.name = sp_dict_get_string(v->names, m->name_id, NULL);
	f.line = m->sig_id;
	f.type = m->modifiers ? (enum sp_frame_type)(m->modifiers - 1) : SP_FRAME_NATIVE;
	f.java = m->modifiers && !m->native;
	return f;
}

uint32_t sp_view_frames(const struct sp_view *v)
{
	return sp_dict_methods(v->names);
}
