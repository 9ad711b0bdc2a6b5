/* Reading a few fields of many events: see decode_plan.h. */
#include "jfr/decode_plan.h"

#include "base/cleanup.h"

#include <string.h>

enum op { START, DURATION, THREAD, STACK, STATE, NUMBER, INT, TICKS, NAME, SKIP_NUMBER, SKIP };

/* Inlined below: asked for each event. */
static inline uint64_t to_ns(const struct sp_jfr_chunk_data *c, uint64_t ticks)
{
	if (c->ticks_per_s == 1000000000 || c->ticks_per_s == 0)
		return ticks;
	/* right to a nanosecond, and several times quicker than to divide 128 bits */
	if (c->ns_per_tick && (int64_t)ticks >= 0)
		return (uint64_t)((unsigned __int128)ticks * c->ns_per_tick >> 64);
	return (uint64_t)((__int128)(int64_t)ticks * 1000000000 / (int64_t)c->ticks_per_s);
}

uint64_t sp_jfr_to_ns(const struct sp_jfr_chunk_data *c, uint64_t ticks)
{
	return to_ns(c, ticks);
}

static enum op op_of_role(uint8_t role, enum op otherwise)
{
	switch (role) {
	case SP_JFR_R_START:
		return START;
	case SP_JFR_R_DURATION:
		return DURATION;
	case SP_JFR_R_THREAD:
		return THREAD;
	case SP_JFR_R_STACK:
		return STACK;
	case SP_JFR_R_STATE:
		return STATE;
	default:
		return otherwise;
	}
}

/* A field that is encoded as one long, whatever it means. */
static bool is_number(const struct sp_jfr_schema *s, const struct sp_jfr_member *m)
{
	uint8_t prim = m->type >= 0 ? s->types[m->type].prim : SP_JFR_P_STRUCT;

	return !m->array && (m->pool || prim == SP_JFR_P_LONG);
}

static bool is_int(const struct sp_jfr_schema *s, const struct sp_jfr_member *m)
{
	return !m->array && !m->pool && m->type >= 0 && s->types[m->type].prim == SP_JFR_P_INT;
}

/* One number that ends by itself, whatever its type. */
static bool is_compressed(const struct sp_jfr_resolver *r, const struct sp_jfr_member *m)
{
	const struct sp_jfr_schema *s = &r->chunk->schema;
	uint8_t prim = m->type >= 0 ? s->types[m->type].prim : SP_JFR_P_STRUCT;

	return is_number(s, m) ||
	       (!r->chunk->raw && !m->array && prim >= SP_JFR_P_CHAR && prim <= SP_JFR_P_LONG);
}

static struct sp_jfr_decode_step step_for(
	const struct sp_jfr_resolver *r, uint32_t member, const char *const *fields)
{
	const struct sp_jfr_schema *s = &r->chunk->schema;
	const struct sp_jfr_member *m = &s->members[member];
	struct sp_jfr_decode_step step = {.member = member};

	step.op = (uint8_t)op_of_role(r->roles[member], is_compressed(r, m) ? SKIP_NUMBER : SKIP);
	for (uint8_t i = 0; fields[i] && i < SP_JFR_PICKS && step.op >= SKIP_NUMBER; i++) {
		if (strcmp(fields[i], m->name) != 0 || (!is_number(s, m) && !is_int(s, m)))
			continue;
		step.op = m->pool ? NAME : is_int(s, m) ? INT : m->ticks ? TICKS : NUMBER;
		step.slot = i;
	}
	return step;
}

/* Returns false where there are more of a kind than have a place. */
static bool sort_steps(struct sp_jfr_decode_plan *p)
{
	uint8_t *places[] = {[START] = &p->start,
		[THREAD] = &p->thread,
		[STACK] = &p->stack,
		[STATE] = &p->state};

	p->start = p->thread = p->stack = p->state = p->count;
	p->other_count = 0;
	for (uint8_t i = 0; i < p->count; i++) {
		uint8_t op = p->steps[i].op;

		if (op == SKIP_NUMBER || op == SKIP)
			continue;
		if (op < SP_COUNT(places) && places[op]) {
			if (*places[op] != p->count)
				return false;
			*places[op] = i;
		} else if (p->other_count < SP_COUNT(p->others)) {
			p->others[p->other_count++] = i;
		} else {
			return false;
		}
	}
	return true;
}

bool sp_jfr_decode_plan_make(struct sp_jfr_decode_plan *p, const struct sp_jfr_resolver *r,
	const struct sp_jfr_decl *t, const char *const *fields)
{
	uint8_t last = 0;

	if (t->count > SP_JFR_STEPS)
		return false;
	for (uint8_t i = 0; i < t->count; i++) {
		p->steps[i] = step_for(r, t->first + i, fields);
		if (p->steps[i].op < SKIP_NUMBER)
			last = i + 1;
	}
	p->type = t->name;
	p->wanted = t->wanted;
	p->count = last; /* what is behind the last wanted one is not looked at */
	p->numbers = !r->chunk->raw;
	for (uint8_t i = 0; i < last; i++)
		p->numbers &= p->steps[i].op != SKIP;
	p->numbers &= sort_steps(p);
	return true;
}

/* What a number of the event means. */
static inline void take_field(const struct sp_jfr_decode_step *step, struct sp_jfr_resolver *r,
	uint64_t v, struct sp_jfr_event *e)
{
	const struct sp_jfr_chunk_data *chunk = r->chunk;
	const struct sp_jfr_member *m = &chunk->schema.members[step->member];

	switch ((enum op)step->op) {
	case START:
		e->start_ns = chunk->start_ns + to_ns(chunk, v - chunk->start_ticks);
		break;
	case DURATION:
		e->duration_ns = m->ticks ? to_ns(chunk, v) : v;
		break;
	case THREAD:
		e->thread = sp_jfr_resolve_thread(r, v);
		break;
	case STACK:
		e->stack = sp_jfr_resolve_stack(r, v);
		break;
	case STATE:
		e->state = sp_jfr_resolve_state(r, v);
		break;
	case NUMBER:
		e->picked[step->slot] = v;
		break;
	case INT:
		e->picked[step->slot] = (uint64_t)(int64_t)(int32_t)v;
		break;
	case TICKS:
		e->picked[step->slot] = to_ns(chunk, v);
		break;
	case NAME:
		e->picked[step->slot] = m->type >= 0 ? sp_jfr_resolve_name_id(r, m->type, v) : 0;
		break;
	case SKIP_NUMBER:
	case SKIP:
		break;
	}
}

/* Numbers alone, with room for them in the chunk. Returns where they end. None is predicted to be
 * short: that is quicker than to be wrong about every tenth. */
static inline const uint8_t *read_numbers(
	const struct sp_jfr_decode_plan *p, const uint8_t *from, uint64_t *numbers)
{
	struct sp_jfr_cursor at = {.p = from};

	for (uint8_t i = 0; i < p->count; i++)
		numbers[i] = sp_jfr_get_long_packed(&at);
	return at.p;
}

/* What they mean. */
static inline void take_numbers(const struct sp_jfr_decode_plan *p, struct sp_jfr_resolver *r,
	const uint64_t *numbers, struct sp_jfr_event *e)
{
	if (p->start < p->count)
		e->start_ns = r->chunk->start_ns +
			      to_ns(r->chunk, numbers[p->start] - r->chunk->start_ticks);
	if (p->thread < p->count)
		e->thread = sp_jfr_resolve_thread(r, numbers[p->thread]);
	if (p->stack < p->count)
		e->stack = sp_jfr_resolve_stack(r, numbers[p->stack]);
	if (p->state < p->count)
		e->state = sp_jfr_resolve_state(r, numbers[p->state]);
	for (uint8_t i = 0; i < p->other_count; i++)
		take_field(&p->steps[p->others[i]], r, numbers[p->others[i]], e);
}

void sp_jfr_decode_plan_read(const struct sp_jfr_decode_plan *p, struct sp_jfr_resolver *r,
	struct sp_jfr_cursor *c, struct sp_jfr_event *e)
{
	const struct sp_jfr_schema *s = &r->chunk->schema;

	uint64_t numbers[SP_JFR_STEPS];

	if (p->numbers && r->chunk->data + r->chunk->len - c->p >= 9 * p->count) {
		c->p = read_numbers(p, c->p, numbers);
		c->bad = c->p > c->end;
		if (!c->bad)
			take_numbers(p, r, numbers, e);
		return;
	}
	for (uint8_t i = 0; i < p->count && !c->bad; i++) {
		const struct sp_jfr_decode_step *step = &p->steps[i];

		if (step->op == SKIP)
			sp_jfr_schema_skip_member(s, c, &s->members[step->member]);
		else if (step->op == INT)
			take_field(step, r, sp_jfr_get_int(c), e);
		else
			take_field(step, r, sp_jfr_get_long(c), e);
	}
}

/* The type and size of a short event, and all of its numbers, may be read without asking. */
enum { ROOM = 2 + 9 * SP_JFR_STEPS };

uint64_t sp_jfr_batch_read(struct sp_jfr_batch *b, const struct sp_jfr_decode_plan *plans,
	const struct sp_jfr_resolver *r, uint64_t at, uint64_t to)
{
	const struct sp_jfr_chunk_data *c = r->chunk;
	const uint8_t *p = c->data + at;
	const uint8_t *stop = c->data + (to + ROOM < c->len ? to : c->len - ROOM);

	b->count = 0;
	if (c->raw || c->len < ROOM)
		return at;
	while (p < stop && p[0] >= 2 && (p[0] | p[1]) < 128) {
		uint8_t way = b->ways[p[1]];

		if (way >= SP_JFR_PLAN) {
			const struct sp_jfr_decode_plan *plan = &plans[way - SP_JFR_PLAN];
			uint64_t *numbers = b->numbers[b->count];

			if (b->count == SP_JFR_BATCH ||
				read_numbers(plan, p + 2, numbers) > p + p[0])
				break;
			b->plans[b->count++] = plan;
			if (plan->stack < plan->count)
				__builtin_prefetch(
					sp_jfr_resolver_stack_place(r, numbers[plan->stack]));
		} else if (way == SP_JFR_SKIP) {
			b->skipped++;
		} else {
			break;
		}
		p += p[0];
	}
	return (uint64_t)(p - c->data);
}

void sp_jfr_batch_get(
	const struct sp_jfr_batch *b, unsigned i, struct sp_jfr_resolver *r, struct sp_jfr_event *e)
{
	const struct sp_jfr_decode_plan *p = b->plans[i];

	if (i == 0 || p != b->plans[i - 1])
		*e = (struct sp_jfr_event){.type = p->type, .wanted = p->wanted};
	take_numbers(p, r, b->numbers[i], e);
}
