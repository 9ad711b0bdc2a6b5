/* Time classes of many rows of one profile: see time_class.h. */
#include "prof/spark/time_class_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"

struct sp_time_class_of {
	const struct sp_profile *p;
	struct sp_stack_roles *stacks; /* by id */
	size_t stack_count;
	uint8_t *roles; /* by method */
	size_t method_count;
	struct sp_stack_roles *kinds; /* owned */
	unsigned kind_count;
	struct sp_buf text;
};

int sp_time_class_new(struct sp_time_class_of **ret, const struct sp_profile *p)
{
	struct sp_time_class_of *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	sp_buf_init(&s->text);
	s->p = p;
	s->stack_count = sp_dict_stacks(p->dict) + 1ul;
	s->method_count = sp_dict_methods(p->dict) + 1ul;
	s->stacks = calloc(s->stack_count, sizeof(*s->stacks));
	s->roles = calloc(s->method_count, 1);
	if (!s->stacks || !s->roles) {
		sp_time_class_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void sp_time_class_free(struct sp_time_class_of *s)
{
	if (!s)
		return;
	free(s->stacks);
	free(s->roles);
	free(s->kinds);
	sp_buf_done(&s->text);
	free(s);
}

static const struct sp_stack_roles *roles_of(struct sp_time_class_of *s, uint32_t stack)
{
	struct sp_stack_roles *t = &s->stacks[stack < s->stack_count ? stack : 0];

	if (!t->looked) {
		const struct sp_stack *st = sp_dict_get_stack(s->p->dict, stack);

		*t = sp_time_class_look(s->p->dict, st ? st->frames : NULL, st ? st->count : 0,
			&s->text, s->roles, s->method_count);
	}
	return t;
}

enum sp_time_class sp_time_class_of_row(struct sp_time_class_of *s, const struct sp_sample *row)
{
	return sp_time_class_judge(
		roles_of(s, row->stack), sp_dict_get_string(s->p->dict, row->state, NULL));
}

bool sp_time_class_launches(struct sp_time_class_of *s, uint32_t stack)
{
	return roles_of(s, stack)->launches;
}

bool sp_time_class_blocks(struct sp_time_class_of *s, uint32_t stack)
{
	return sp_time_class_is_blocking(roles_of(s, stack));
}

bool sp_time_class_stops(struct sp_time_class_of *s, uint32_t stack)
{
	return roles_of(s, stack)->stops;
}

enum sp_time_class sp_time_class_clock(struct sp_time_class_of *s, const struct sp_sample *row)
{
	return sp_time_class_judge_clock(
		roles_of(s, row->stack), sp_dict_get_string(s->p->dict, row->state, NULL));
}

enum sp_time_class_asks sp_time_class_asks(struct sp_time_class_of *s, uint32_t stack)
{
	const struct sp_stack_roles *t = roles_of(s, stack);

	if (!sp_time_class_is_blocking(t))
		return SP_TIME_CLASS_ASKS_NOTHING;
	return t->broadcast ? SP_TIME_CLASS_ASKS_BROADCAST
	       : t->asks    ? SP_TIME_CLASS_ASKS_DRIVER
			    : SP_TIME_CLASS_ASKS_NOTHING;
}

int sp_time_class_kind(struct sp_time_class_of *s, uint32_t stack)
{
	const struct sp_stack_roles *t = roles_of(s, stack);

	for (unsigned i = 0; i < s->kind_count; i++)
		if (memcmp(&s->kinds[i], t, sizeof(*t)) == 0) /* bytes only, so no padding */
			return (int)i;
	if (sp_grow_one(&s->kinds, s->kind_count, sizeof(*s->kinds)) < 0)
		return -ENOMEM;
	s->kinds[s->kind_count] = *t;
	return (int)s->kind_count++;
}

unsigned sp_time_class_kinds(const struct sp_time_class_of *s)
{
	return s->kind_count;
}

enum sp_time_class sp_time_class_of_kind(
	const struct sp_time_class_of *s, unsigned kind, const char *state)
{
	return sp_time_class_judge(&s->kinds[kind], state);
}

enum sp_time_class sp_time_class_of_stack(const struct sp_dict *d,
	const struct sp_frame_ref *frames, uint32_t count, const char *state)
{
	SP_AUTO_BUF struct sp_buf text;
	struct sp_stack_roles t;

	sp_buf_init(&text);
	t = sp_time_class_look(d, frames, count, &text, NULL, 0);
	return sp_time_class_judge(&t, state);
}
