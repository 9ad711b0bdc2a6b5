/* See dict_copy.h. Interning finds what is there already, so nothing is remembered here. */
#include "dict_copy.h"

#include <errno.h>
#include <stdlib.h>

int sp_dict_copy_init(struct sp_dict_copy *c)
{
	c->frames = calloc(SP_DICT_MAX_FRAMES, sizeof(*c->frames));
	return c->frames ? 0 : -ENOMEM;
}

void sp_dict_copy_done(struct sp_dict_copy *c)
{
	free(c->frames);
	c->frames = NULL;
}

uint32_t sp_dict_copy_string(struct sp_dict *to, const struct sp_dict *from, uint32_t id)
{
	size_t len = 0;
	const char *s;

	if (id == 0)
		return 0;
	s = sp_dict_get_string(from, id, &len);
	return sp_dict_string(to, s, len);
}

uint32_t sp_dict_copy_thread(struct sp_dict *to, const struct sp_dict *from, uint32_t id)
{
	const struct sp_thread *old = sp_dict_get_thread(from, id);
	struct sp_thread t;

	if (!old)
		return 0;
	t = *old;
	t.name_id = sp_dict_copy_string(to, from, old->name_id);
	t.group_id = sp_dict_copy_string(to, from, old->group_id);
	return t.name_id ? sp_dict_thread(to, &t) : 0;
}

static uint32_t copy_method(struct sp_dict *to, const struct sp_dict *from, uint32_t id)
{
	const struct sp_method *old = sp_dict_get_method(from, id);
	struct sp_method m;

	if (!old)
		return 0;
	m = *old;
	m.class_id = sp_dict_copy_string(to, from, old->class_id);
	m.name_id = sp_dict_copy_string(to, from, old->name_id);
	m.sig_id = sp_dict_copy_string(to, from, old->sig_id);
	return sp_dict_method(to, &m);
}

uint32_t sp_dict_copy_stack(
	struct sp_dict_copy *c, struct sp_dict *to, struct sp_dict *from, uint32_t id)
{
	const struct sp_stack *old = id ? sp_dict_get_stack(from, id) : NULL;

	if (!old)
		return 0;
	for (uint32_t i = 0; i < old->count; i++) {
		c->frames[i] = old->frames[i];
		c->frames[i].method = copy_method(to, from, old->frames[i].method);
		if (!c->frames[i].method)
			return 0;
	}
	return sp_dict_stack(to, c->frames, old->count, old->truncated);
}
