/* Reading a few fields of many events: see plan.h. */
#include "jfr/plan.h"

#include <string.h>

enum op { START, DURATION, THREAD, STACK, STATE, NUMBER, TICKS, NAME, SKIP_NUMBER, SKIP };

uint64_t sp_jfr_to_ns(const struct sp_jfr_chunk_data *c, uint64_t ticks)
{
	if (c->ticks_per_s == 1000000000 || c->ticks_per_s == 0)
		return ticks;
	/* right to a nanosecond, and several times quicker than to divide 128 bits */
	if (c->ns_per_tick && (int64_t)ticks >= 0)
		return (uint64_t)((unsigned __int128)ticks * c->ns_per_tick >> 64);
	return (uint64_t)((__int128)(int64_t)ticks * 1000000000 / (int64_t)c->ticks_per_s);
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

static struct sp_jfr_step step_for(
	const struct sp_jfr_resolver *r, uint32_t member, const char *const *fields)
{
	const struct sp_jfr_schema *s = &r->chunk->schema;
	const struct sp_jfr_member *m = &s->members[member];
	struct sp_jfr_step step = {.member = member};

	step.op = (uint8_t)op_of_role(r->roles[member], is_number(s, m) ? SKIP_NUMBER : SKIP);
	for (uint8_t i = 0; fields[i] && i < SP_JFR_PICKS && step.op >= SKIP_NUMBER; i++) {
		if (strcmp(fields[i], m->name) != 0 || (!is_number(s, m) && !is_int(s, m)))
			continue;
		step.op = m->pool ? NAME : m->ticks ? TICKS : NUMBER;
		step.slot = i;
	}
	return step;
}

bool sp_jfr_plan_make(struct sp_jfr_plan *p, const struct sp_jfr_resolver *r,
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
	p->count = last; /* what is behind the last wanted one is not looked at */
	return true;
}

static uint64_t read_number(
	const struct sp_jfr_schema *s, struct sp_jfr_cursor *c, const struct sp_jfr_member *m)
{
	if (is_int(s, m))
		return (uint64_t)(int64_t)(int32_t)sp_jfr_get_int(c);
	return sp_jfr_get_long(c);
}

static uint64_t read_name(
	struct sp_jfr_resolver *r, struct sp_jfr_cursor *c, const struct sp_jfr_member *m)
{
	uint64_t key = sp_jfr_get_long(c);

	return m->type >= 0 ? sp_jfr_resolve_name_id(r, m->type, key) : 0;
}

void sp_jfr_plan_read(const struct sp_jfr_plan *p, struct sp_jfr_resolver *r,
	struct sp_jfr_cursor *c, struct sp_jfr_event *e)
{
	const struct sp_jfr_chunk_data *chunk = r->chunk;
	const struct sp_jfr_schema *s = &chunk->schema;

	for (uint8_t i = 0; i < p->count && !c->bad; i++) {
		const struct sp_jfr_step *step = &p->steps[i];
		const struct sp_jfr_member *m = &s->members[step->member];

		switch ((enum op)step->op) {
		case START:
			e->start_ns = chunk->start_ns +
				      sp_jfr_to_ns(chunk, sp_jfr_get_long(c) - chunk->start_ticks);
			break;
		case DURATION:
			e->duration_ns = sp_jfr_get_long(c);
			if (m->ticks)
				e->duration_ns = sp_jfr_to_ns(chunk, e->duration_ns);
			break;
		case THREAD:
			e->thread = sp_jfr_resolve_thread(r, sp_jfr_get_long(c));
			break;
		case STACK:
			e->stack = sp_jfr_resolve_stack(r, sp_jfr_get_long(c));
			break;
		case STATE:
			e->state = sp_jfr_resolve_state(r, sp_jfr_get_long(c));
			break;
		case NUMBER:
			e->picked[step->slot] = read_number(s, c, m);
			break;
		case TICKS:
			e->picked[step->slot] = sp_jfr_to_ns(chunk, sp_jfr_get_long(c));
			break;
		case NAME:
			e->picked[step->slot] = read_name(r, c, m);
			break;
		case SKIP_NUMBER:
			sp_jfr_get_long(c);
			break;
		case SKIP:
			sp_jfr_schema_skip_member(s, c, m);
			break;
		}
	}
}
