/* options.def as data: see option_table.h. Each table below is one reading of the file. */
#include "option_table.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

enum {
	COLLECT = 1u << SP_ACTION_COLLECT,
	START = 1u << SP_ACTION_START,
	STOP = 1u << SP_ACTION_STOP,
	DUMP = 1u << SP_ACTION_DUMP,
	RESUME = 1u << SP_ACTION_RESUME,
	STATUS = 1u << SP_ACTION_STATUS,
	LIST = 1u << SP_ACTION_LIST,
	PS = 1u << SP_ACTION_PS,
	STACK = 1u << SP_ACTION_STACK,
	EVERY = (1u << SP_ACTION_COUNT) - 1,
	REPORT = 1u << SP_ACTION_REPORT,
	DIFF = 1u << SP_ACTION_DIFF,
	PRINTING = COLLECT | STOP | DUMP | REPORT | DIFF,
	SHOWING = COLLECT | STOP | DUMP | REPORT,
	METRICS = 1u << SP_ACTION_METRICS,
	RECORDING = COLLECT | START | RESUME,
	WRITING = PRINTING | RECORDING,
	REMOTE = COLLECT | START | STOP | DUMP | STATUS | LIST | PS | STACK,
	ATTACHING = COLLECT | START | STOP | DUMP | RESUME | STATUS | METRICS | LIST | STACK,
};
#define SHAPES SP_OPTION_SHAPES

enum {
	FOREIGN_FLAG = SP_OPTION_KIND_FLAG,
	FOREIGN_VALUE = SP_OPTION_KIND_TEXT,
};

#define ACTION(id, name, least, most, help)
#define NOACTION(id, name, why)
#define ELSEWHERE(name, actions, instead)
#define GROUP(heading) {.state = SP_OPTION_GROUP, .name = (heading)},
#define OPTION(name, letter, kind, field, least, most, fallback, actions, value, help)          \
	{SP_OPTION_BUILT, name, letter, SP_OPTION_KIND_##kind, offsetof(struct sp_call, field), \
		least, most, fallback, actions, value, help},
#define ALWAYS(name, letter, takes, words, why)                                                  \
	{SP_OPTION_ALWAYS, name, letter, (enum sp_option_kind)FOREIGN_##takes, 0, "", "", "", 0, \
		words, why},
#define FOREIGN(name, letter, takes, instead)                                                     \
	{SP_OPTION_FOREIGN, name, letter, (enum sp_option_kind)FOREIGN_##takes, 0, "", "", "", 0, \
		"", instead},
static const struct sp_option options[] = {
#include "options.def"
};
#undef ACTION
#undef NOACTION
#undef ELSEWHERE
#undef GROUP
#undef OPTION
#undef ALWAYS
#undef FOREIGN

#define GROUP(heading)
#define OPTION(...)
#define ALWAYS(...)
#define FOREIGN(...)
#define ELSEWHERE(name, actions, instead)
#define ACTION(id, name, least, most, help) [SP_ACTION_##id] = {name, least, most, help, NULL},
#define NOACTION(id, name, why)		    [SP_ACTION_##id] = {name, 0, 0, "", why},
static const struct sp_action_info actions_by_id[SP_ACTION_COUNT] = {
#include "options.def"
};
#undef ACTION
#undef NOACTION
#undef ELSEWHERE

#define ACTION(...)
#define NOACTION(...)
#define ELSEWHERE(name, actions, instead) {name, actions, instead},
static const struct {
	const char *name;
	unsigned actions;
	const char *instead;
} elsewhere[] = {
#include "options.def"
};

const struct sp_option *sp_option_table(size_t *ret_n)
{
	*ret_n = SP_COUNT(options);
	return options;
}

const struct sp_option *sp_option_find(const char *name, size_t len)
{
	for (size_t i = 0; i < SP_COUNT(options); i++) {
		const struct sp_option *o = &options[i];

		if (o->state != SP_OPTION_GROUP && strlen(o->name) == len &&
			memcmp(o->name, name, len) == 0)
			return o;
	}
	return NULL;
}

const struct sp_option *sp_option_find_letter(char letter)
{
	for (size_t i = 0; letter && i < SP_COUNT(options); i++) {
		if (options[i].letter == letter)
			return &options[i];
	}
	return NULL;
}

/* Typing errors between two short words: insertions, deletions, replacements and neighbours
 * swapped (optimal string alignment). More than MAX_NAME letters count as far away. */
enum { MAX_NAME = 32 };

static unsigned typing_errors(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned d[MAX_NAME + 1][MAX_NAME + 1];

	if (na > MAX_NAME || nb > MAX_NAME)
		return MAX_NAME;
	for (size_t i = 0; i <= na; i++)
		d[i][0] = (unsigned)i;
	for (size_t j = 0; j <= nb; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		for (size_t j = 1; j <= nb; j++) {
			unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[na][nb];
}

const struct sp_option *sp_option_nearest(const char *name, size_t len)
{
	const struct sp_option *best = NULL;
	unsigned least = len <= 3 ? 2 : 3; /* fewer errors than this are near */

	for (size_t i = 0; i < SP_COUNT(options); i++) {
		const struct sp_option *o = &options[i];
		unsigned errors;

		if (o->state != SP_OPTION_BUILT)
			continue;
		if (len >= 2 && strncmp(o->name, name, len) == 0)
			return o;
		errors = typing_errors(name, len, o->name, strlen(o->name));
		if (errors < least) {
			least = errors;
			best = o;
		}
	}
	return best;
}

const char *sp_option_elsewhere(const struct sp_option *o, enum sp_action action)
{
	for (size_t i = 0; i < SP_COUNT(elsewhere); i++) {
		if (strcmp(elsewhere[i].name, o->name) == 0 &&
			(elsewhere[i].actions & 1u << action))
			return elsewhere[i].instead;
	}
	return NULL;
}

bool sp_option_takes_value(const struct sp_option *o)
{
	return o->kind != SP_OPTION_KIND_FLAG && o->kind != SP_OPTION_KIND_HELP &&
	       o->kind != SP_OPTION_KIND_VERSION;
}

const struct sp_action_info *sp_action_info(enum sp_action action)
{
	return &actions_by_id[action];
}

const char *sp_action_name(enum sp_action action)
{
	return actions_by_id[action].name;
}

int sp_action_find(const char *word, enum sp_action *ret_action)
{
	for (int i = 0; i < SP_ACTION_COUNT; i++) {
		if (strcmp(actions_by_id[i].name, word) == 0) {
			*ret_action = (enum sp_action)i;
			return 0;
		}
	}
	return -ENOENT;
}

bool sp_option_is_beside(const struct sp_option *o)
{
	return o &&
	       (o->kind == SP_OPTION_KIND_BESIDE_TIME || o->kind == SP_OPTION_KIND_BESIDE_SIZE);
}

const char *sp_action_nearest(const char *word)
{
	size_t len = strlen(word);
	unsigned least = len < 6 ? 2 : 3; /* errors that are too many */
	const char *near = NULL;

	for (int i = 0; i < SP_ACTION_COUNT && len >= 3; i++) {
		const struct sp_action_info *a = &actions_by_id[i];
		unsigned errors;

		if (a->refused)
			continue;
		if (strncmp(a->name, word, len) == 0)
			return a->name;
		errors = typing_errors(word, len, a->name, strlen(a->name));
		if (errors < least) {
			least = errors;
			near = a->name;
		}
	}
	return near;
}
