/* The fields of a recording in messages: see record_options.h. */
#include "wire/record_options.h"

#include <string.h>

const struct sp_record_hook sp_record_hooks[SP_RECORD_HOOKS] = {
	{"alloc", "alloc", SP_RECORD_ALLOC, SP_DEFAULT_ALLOC},
	{"live", "alloc", SP_RECORD_ALLOC, SP_DEFAULT_ALLOC},
	{"lock", "lock", SP_RECORD_LOCK_NS, SP_DEFAULT_LOCK_NS},
	{"nativelock", "nativelock", SP_RECORD_NATIVELOCK_NS, SP_DEFAULT_LOCK_NS},
	{"nativemem", "nativemem", SP_RECORD_NATIVEMEM, SP_DEFAULT_NATIVEMEM},
};

const struct sp_record_hook *sp_record_hook_find(const char *event)
{
	for (size_t i = 0; i < SP_RECORD_HOOKS; i++)
		if (strcmp(sp_record_hooks[i].event, event) == 0)
			return &sp_record_hooks[i];
	return NULL;
}

static size_t first_num(const struct sp_msg *m)
{
	return m->type == SP_MSG_START ? 0 : SP_STATE_RECORD_NUM;
}

static size_t first_text(const struct sp_msg *m)
{
	return m->type == SP_MSG_START ? SP_START_RECORD_TEXT : SP_STATE_RECORD_TEXT;
}

void sp_record_options_put(const struct sp_record_options *o, struct sp_msg *m)
{
	memcpy(m->num + first_num(m), o->num, sizeof(o->num));
	memcpy(m->text + first_text(m), o->text, sizeof(o->text));
}

void sp_record_options_get(const struct sp_msg *m, struct sp_record_options *ret)
{
	memcpy(ret->num, m->num + first_num(m), sizeof(ret->num));
	memcpy(ret->text, m->text + first_text(m), sizeof(ret->text));
}
