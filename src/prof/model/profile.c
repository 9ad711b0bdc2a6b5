/* Summing samples: see profile.h. */
#include "prof/model/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/saturate.h"
#include "prof/model/row_index.h"

int sp_profile_new_with(struct sp_profile **ret, struct sp_dict *dict)
{
	struct sp_profile *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->dict = sp_dict_share(dict);
	p->unknown_id = sp_dict_string(p->dict, "[unknown]", strlen("[unknown]"));
	p->gap_id = sp_dict_string(p->dict, SP_NATIVE_GAP, strlen(SP_NATIVE_GAP));
	p->unread_id = sp_dict_string(p->dict, SP_PYTHON_UNREAD, strlen(SP_PYTHON_UNREAD));
	*ret = p;
	return 0;
}

int sp_profile_new(struct sp_profile **ret, size_t cap)
{
	struct sp_dict *dict;
	int r = sp_dict_new(&dict, cap);

	if (r < 0)
		return r;
	r = sp_profile_new_with(ret, dict);
	sp_dict_free(dict);
	return r;
}

void sp_profile_free(struct sp_profile *p)
{
	if (!p)
		return;
	sp_dict_free(p->dict);
	for (int i = 0; i < SP_SERIES_KINDS; i++)
		free(p->series[i].points);
	free(p->rows);
	free(p->index);
	free(p->tasks);
	free(p->placed);
	free(p->pasts);
	free(p->stages);
	free(p->sources);
	free(p->executions);
	free(p);
}

int sp_profile_event(
	struct sp_profile *p, const char *name, enum sp_unit unit, uint64_t interval, bool measured)
{
	uint32_t id = sp_dict_string(p->dict, name, strlen(name));
	struct sp_event *e;

	if (id == 0)
		return -ENOMEM;
	for (unsigned i = 0; i < p->event_count; i++)
		if (p->events[i].name_id == id)
			return (int)i;
	if (p->event_count == SP_PROFILE_EVENTS)
		return -ENOSPC;
	e = &p->events[p->event_count];
	*e = (struct sp_event){
		.name_id = id, .unit = unit, .interval = interval, .measured = measured};
	return (int)p->event_count++;
}

static bool is_unknown(const struct sp_profile *p, uint32_t method)
{
	const struct sp_method *m = sp_dict_get_method(p->dict, method);

	return !m || (m->native && (m->name_id == p->unknown_id || m->name_id == p->gap_id));
}

static bool is_unread(const struct sp_profile *p, uint32_t method)
{
	const struct sp_method *m = sp_dict_get_method(p->dict, method);

	return m && m->native && m->name_id == p->unread_id;
}

static uint8_t look_at_stack(struct sp_profile *p, uint32_t stack)
{
	const struct sp_stack *st = sp_dict_get_stack(p->dict, stack);
	uint8_t verdict = SP_STACK_LOOKED_AT;

	if (!st || st->count == 0)
		return SP_STACK_LOOKED_AT | SP_STACK_UNKNOWN;
	if (is_unread(p, st->frames[0].method)) {
		verdict |= SP_STACK_TRUNCATED;
		p->unread = true;
	}
	if (st->truncated)
		verdict |= SP_STACK_TRUNCATED;
	for (uint32_t i = 0; i < st->count; i++)
		if (is_unknown(p, st->frames[i].method))
			return verdict | SP_STACK_UNKNOWN;
	return verdict;
}

/* A stack is unpacked once, however many samples have it. */
static uint8_t verdict_of(struct sp_profile *p, uint32_t stack)
{
	uint8_t marks = sp_dict_stack_marks(p->dict, stack);

	if (marks & SP_STACK_LOOKED_AT)
		return marks;
	marks = look_at_stack(p, stack);
	sp_dict_add_stack_marks(p->dict, stack, marks);
	return marks;
}

static uint64_t samples_of(const struct sp_event *e, uint64_t count, uint64_t weight)
{
	struct sp_rounding r = sp_rounding_of(e);

	return sp_round(&r, count, weight);
}

/* Counts a sample, and what its stack lacks; count_samples is to follow. */
static void count_sample(struct sp_profile *p, struct sp_event *e, const struct sp_sample *s)
{
	uint8_t verdict = verdict_of(p, s->stack);

	p->count += s->count;
	e->count += s->count;
	e->weight += s->weight;
	if (verdict & SP_STACK_TRUNCATED) {
		e->truncated.count += s->count;
		e->truncated.weight += s->weight;
	}
	if (verdict & SP_STACK_UNKNOWN) {
		e->unknown.count += s->count;
		e->unknown.weight += s->weight;
	}
}

/* From what was recorded of an event to samples, and those to the profile's. */
static void count_samples(struct sp_profile *p, struct sp_event *e)
{
	struct sp_tally *t = &e->truncated, *u = &e->unknown;

	p->samples -= e->samples;
	p->truncated -= t->samples;
	p->unknown -= u->samples;
	p->samples += e->samples = samples_of(e, e->count, e->weight);
	p->truncated += t->samples = samples_of(e, t->count, t->weight);
	p->unknown += u->samples = samples_of(e, u->count, u->weight);
}

void sp_profile_recount(struct sp_profile *p)
{
	p->samples = p->truncated = p->unknown = 0;
	for (unsigned i = 0; i < p->event_count; i++) {
		struct sp_event *e = &p->events[i];

		e->samples = e->truncated.samples = e->unknown.samples = 0;
		count_samples(p, e);
	}
}

/* Counts samples of one event where sums are far from what a number can hold. Returns false, with
 * nothing counted, where they are not that. */
static bool count_alike(struct sp_profile *p, const struct sp_sample *s, size_t count)
{
	struct sp_event *e = &p->events[s->event];
	struct sp_tally sum = {0}, truncated = {0}, unknown = {0};
	uint64_t all = p->count | e->weight;

	for (size_t i = 0; i < count; i++) {
		uint8_t verdict;

		if (s[i].event != s->event)
			return false;
		verdict = verdict_of(p, s[i].stack);
		all |= s[i].count | s[i].weight;
		sum.count += s[i].count;
		sum.weight += s[i].weight;
		if (verdict & SP_STACK_TRUNCATED) {
			truncated.count += s[i].count;
			truncated.weight += s[i].weight;
		}
		if (verdict & SP_STACK_UNKNOWN) {
			unknown.count += s[i].count;
			unknown.weight += s[i].weight;
		}
	}
	if (all >> 58)
		return false;
	p->count += sum.count;
	e->count += sum.count;
	e->weight += sum.weight;
	e->truncated.count += truncated.count;
	e->truncated.weight += truncated.weight;
	e->unknown.count += unknown.count;
	e->unknown.weight += unknown.weight;
	count_samples(p, e);
	return true;
}

/* Counts any, cut to what fits. */
static void count_each(struct sp_profile *p, struct sp_sample *s, size_t count)
{
	uint32_t met = 0; /* a bit for each event */

	for (size_t i = 0; i < count; i++) {
		struct sp_event *e = &p->events[s[i].event];

		uint64_t count_is = s[i].count, weight_is = s[i].weight;

		s[i].count = sp_saturate_fitting(p->count, s[i].count);
		s[i].weight = sp_saturate_fitting(e->weight, s[i].weight);
		p->saturated |= s[i].count < count_is || s[i].weight < weight_is;
		count_sample(p, e, &s[i]);
		met |= 1u << s[i].event;
	}
	for (; met; met &= met - 1) /* divides: once for all of them */
		count_samples(p, &p->events[__builtin_ctz(met)]);
}

int sp_profile_add_batch(struct sp_profile *p, struct sp_sample *s, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (s[i].event >= p->event_count)
			return -EINVAL;
	if (sp_row_index_grow(p, count) < 0)
		return -ENOMEM;
	if (count && !count_alike(p, s, count))
		count_each(p, s, count);
	sp_row_index_sum(p, s, count);
	return 0;
}

int sp_profile_add_many(struct sp_profile *p, const struct sp_sample *s, size_t count)
{
	struct sp_sample copy[SP_PROFILE_BATCH];

	memcpy(copy, s, count * sizeof(*s));
	return sp_profile_add_batch(p, copy, count);
}

int sp_profile_add(struct sp_profile *p, const struct sp_sample *s)
{
	return sp_profile_add_many(p, s, 1);
}

void sp_profile_restart(struct sp_profile *p)
{
	for (unsigned i = 0; i < p->event_count; i++) {
		struct sp_event *e = &p->events[i];

		e->samples = e->count = e->weight = 0;
		e->truncated = e->unknown = (struct sp_tally){0};
	}
	p->count = p->samples = p->truncated = p->unknown = 0;
	p->row_count = 0;
	if (p->index)
		memset(p->index, 0, p->index_size * sizeof(*p->index));
}

int sp_profile_keep_events(struct sp_profile *p, uint32_t mask)
{
	uint32_t map[SP_PROFILE_EVENTS] = {0};
	size_t n = p->row_count;
	unsigned kept = 0;
	bool rows_go = false;
	int r = 0;

	for (unsigned i = 0; i < p->event_count; i++) {
		if (!(mask & 1u << i)) {
			rows_go |= p->events[i].count || p->events[i].weight;
			continue;
		}
		map[i] = kept;
		p->events[kept++] = p->events[i];
	}
	p->event_count = kept;
	for (size_t i = 0; i < n && !rows_go; i++)
		p->rows[i].event = map[p->rows[i].event];
	if (!rows_go)
		return 0;
	sp_profile_restart(p);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct sp_sample s = p->rows[i]; /* those read are behind us */

		if (!(mask & 1u << s.event))
			continue;
		s.event = map[s.event];
		r = sp_profile_add(p, &s);
	}
	return r;
}

/* Adds to the remark of that text; what does not fit is summed under the last one. */
static void remark(
	struct sp_profile *p, struct sp_remark *list, unsigned *n, const char *text, uint64_t count)
{
	uint32_t id = sp_dict_string(p->dict, text, strlen(text));

	for (unsigned i = 0; i < *n; i++) {
		if (list[i].text_id == id || i == SP_PROFILE_REMARKS - 1) {
			list[i].count = sp_saturate_add(list[i].count, count);
			return;
		}
	}
	list[(*n)++] = (struct sp_remark){id, count};
}

int sp_profile_source(struct sp_profile *p, uint32_t location, uint32_t classes)
{
	for (size_t i = 0; i < p->source_count; i++)
		if (p->sources[i].location == location && p->sources[i].classes == classes)
			return 0;
	if (sp_grow_one(&p->sources, p->source_count, sizeof(*p->sources)) < 0)
		return -ENOMEM;
	p->sources[p->source_count++] = (struct sp_class_source){location, classes};
	return 0;
}

void sp_profile_lost(struct sp_profile *p, const char *reason, uint64_t count)
{
	if (count == 0)
		return;
	p->lost_total = sp_saturate_add(p->lost_total, count);
	remark(p, p->lost, &p->lost_count, reason, count);
}

void sp_profile_note(struct sp_profile *p, const char *sentence)
{
	remark(p, p->notes, &p->note_count, sentence, 0);
}

void sp_profile_note_saturated(struct sp_profile *p)
{
	if (p->saturated)
		sp_profile_note(p,
			"counts saturated: sums of this recording are larger than "
			"9223372036854775807 and are shown as that, so shares are wrong");
}
