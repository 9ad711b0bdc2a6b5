/* From and to the fields of START and STATE: see args.h. */
#include "args_internal.h"

#include "arg_values.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *word;
	enum sp_record_num at;
	uint64_t none; /* this number says that it was not given */
} numbers[] = {
	{"interval", SP_RECORD_INTERVAL, 0},
	{"wall", SP_RECORD_WALL_NS, 0},
	{"alloc", SP_RECORD_ALLOC, SP_RECORD_NONE},
	{"lock", SP_RECORD_LOCK_NS, SP_RECORD_NONE},
	{"nativelock", SP_RECORD_NATIVELOCK_NS, SP_RECORD_NONE},
	{"nativemem", SP_RECORD_NATIVEMEM, SP_RECORD_NONE},
	{"depthleft", SP_RECORD_DEPTH_LEFT, 0},
	{"proc", SP_RECORD_PROC_NS, 0},
	{"memory", SP_RECORD_MEMORY, SP_RECORD_NONE},
	{"chunksize", SP_RECORD_CHUNK_BYTES, SP_RECORD_NONE},
	{"chunktime", SP_RECORD_CHUNK_NS, SP_RECORD_NONE},
	{"timeout", SP_RECORD_TIMEOUT_NS, 0},
};

static const struct {
	const char *word;
	enum sp_record_text at;
} texts[] = {
	{"event", SP_RECORD_EVENT},
	{"methods", SP_RECORD_METHODS},
	{"trace", SP_RECORD_TRACE},
	{"cstack", SP_RECORD_CSTACK},
	{"kernel", SP_RECORD_KERNEL},
	{"capture", SP_RECORD_CAPTURE},
	{"perf", SP_RECORD_PERF},
	{"python", SP_RECORD_PYTHON},
	{"filter", SP_RECORD_FILTER},
	{"thread", SP_RECORD_THREAD},
	{"target-cpu", SP_RECORD_TARGET_CPU},
	{"begin", SP_RECORD_BEGIN},
	{"end", SP_RECORD_END},
	{"driver-ui", SP_RECORD_DRIVER_UI},
};

static const struct {
	const char *word;
	enum sp_record_flag bit;
} flags[] = {
	{"live", SP_RECORD_LIVE},
	{"allocs", SP_RECORD_ALLOCS},
	{"nofree", SP_RECORD_NOFREE},
	{"noredact", SP_RECORD_NOREDACT},
	{"alluser", SP_RECORD_ALLUSER},
	{"ttsp", SP_RECORD_TTSP},
	{"nostop", SP_RECORD_NOSTOP},
	{"vtable", SP_RECORD_VTABLE},
	{"comptask", SP_RECORD_COMPTASK},
	{"left", SP_RECORD_LEFT},
	{"append", SP_RECORD_APPEND},
	{"stream", SP_RECORD_STREAM},
};

/* "1h /x-%t.jfr" */
static int set_loop(struct sp_args *a, const char *text, struct sp_err *err)
{
	char time[32];
	const char *file = strchr(text, ' ');
	uint64_t n;
	int r;

	if (!*text)
		return 0;
	snprintf(time, sizeof(time), "%.*s", (int)strcspn(text, " "), text);
	if (!file || sp_arg_value_parse(SP_ARG_LOOP, time, &n) < 0)
		return sp_err_set(
			err, -EINVAL, "loop: '%s' is not %s", time, sp_arg_value_what(SP_ARG_LOOP));
	r = sp_args_put_number(a, "loop", n, err);
	return r < 0 ? r : sp_args_put_text(a, "file", file + 1, err);
}

int sp_args_from_record(struct sp_args *a, const struct sp_record_options *o, struct sp_err *err)
{
	int r = 0;

	sp_args_init(a);
	a->start = a->event_given = true;
	for (size_t i = 0; i < SP_COUNT(flags); i++)
		*(bool *)sp_args_at(a, flags[i].word) = o->num[SP_RECORD_FLAGS] & flags[i].bit;
	for (size_t i = 0; i < SP_COUNT(texts) && r == 0; i++)
		r = sp_args_put_text(
			a, texts[i].word, o->text[texts[i].at] ? o->text[texts[i].at] : "", err);
	if (r == 0)
		r = sp_args_put_number(a, "jstackdepth", o->num[SP_RECORD_DEPTH], err);
	for (size_t i = 0; i < SP_COUNT(numbers) && r == 0; i++)
		if (o->num[numbers[i].at] != numbers[i].none)
			r = sp_args_put_number(a, numbers[i].word, o->num[numbers[i].at], err);
	if (r == 0 && o->text[SP_RECORD_LOOP])
		r = set_loop(a, o->text[SP_RECORD_LOOP], err);
	return r < 0 ? r : sp_args_settle(a, err);
}

void sp_args_to_record(const struct sp_args *a, struct sp_record_options *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < SP_COUNT(flags); i++)
		if (*(const bool *)sp_args_at(a, flags[i].word))
			ret->num[SP_RECORD_FLAGS] |= (uint64_t)flags[i].bit;
	for (size_t i = 0; i < SP_COUNT(texts); i++)
		ret->text[texts[i].at] = sp_args_at(a, texts[i].word);
	for (size_t i = 0; i < SP_COUNT(numbers); i++)
		ret->num[numbers[i].at] = *(const uint64_t *)sp_args_at(a, numbers[i].word);
	ret->num[SP_RECORD_DEPTH] = a->depth;
	ret->text[SP_RECORD_GIVEN] = a->given;
}
