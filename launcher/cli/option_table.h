/* options.def as data, for the parser and the help. Nobody else needs it. */
#ifndef SP_LAUNCHER_CLI_OPTION_TABLE_H
#define SP_LAUNCHER_CLI_OPTION_TABLE_H

#include "options.h"

#include <stddef.h>

enum sp_option_kind {
	SP_OPTION_KIND_FLAG,
	SP_OPTION_KIND_DURATION, /* a bare number is seconds */
	SP_OPTION_KIND_SIZE,
	SP_OPTION_KIND_COUNT,
	SP_OPTION_KIND_DEPTH, /* a count, or two: 200/40 */
	SP_OPTION_KIND_TEXT,
	SP_OPTION_KIND_WHEN,
	SP_OPTION_KIND_STATES,
	SP_OPTION_KIND_IDS,
	SP_OPTION_KIND_DOTTED, /* a number; of a stage, one and its attempt: 5.1 */
	SP_OPTION_KIND_ENUM,   /* the words are in the value column */
	SP_OPTION_KIND_EVENT,
	SP_OPTION_KIND_INTERVAL,    /* a bare number is nanoseconds, or a number of events */
	SP_OPTION_KIND_BESIDE_TIME, /* one more event, of the option's name, with its interval */
	SP_OPTION_KIND_BESIDE_SIZE,
	SP_OPTION_KIND_FILE,
	SP_OPTION_KIND_FORMAT,
	SP_OPTION_KIND_PATTERN,
	SP_OPTION_KIND_PERCENT,
	SP_OPTION_KIND_FRACTION,
	SP_OPTION_KIND_LOOP,   /* a duration, or a time of day: 1h, 00:00:00 */
	SP_OPTION_KIND_METHOD, /* Class.method[:TIME] */
	SP_OPTION_KIND_HELP,   /* its value is optional and only taken behind '=' */
	SP_OPTION_KIND_VERSION,
};

enum sp_option_state {
	SP_OPTION_BUILT,
	SP_OPTION_ALWAYS,
	SP_OPTION_FOREIGN,
	SP_OPTION_GROUP,
};

/* Bits beside 1u << enum sp_action in sp_option.actions. */
#define SP_OPTION_SHAPES (1u << 31)

struct sp_option {
	enum sp_option_state state;
	const char *name; /* long name without dashes; a heading for SP_OPTION_GROUP */
	char letter;	  /* 0: none */
	enum sp_option_kind kind;
	size_t offset; /* of the field in struct sp_call */
	const char *least, *most, *fallback;
	unsigned actions;
	const char *value; /* "" for a flag; SP_OPTION_ALWAYS: the words that are taken, "" any */
	const char *help;  /* SP_OPTION_FOREIGN: what to do instead; SP_OPTION_ALWAYS: why not */
};

struct sp_action_info {
	const char *name;
	size_t least, most; /* targets */
	const char *help;
	const char *refused; /* NULL, or why the word is only kept */
};

/* The rows in order, *ret_n of them. Static. */
const struct sp_option *sp_option_table(size_t *ret_n);

/* By long name (the first @len bytes of @name) or letter; NULL where there is none. */
const struct sp_option *sp_option_find(const char *name, size_t len);
const struct sp_option *sp_option_find_letter(char letter);

/* The option with the name nearest to a wrong one: begins with it, or differs by few typing
 * errors; NULL where none is near. */
const struct sp_option *sp_option_nearest(const char *name, size_t len);

/* What to use for @o with an action that does not take it, or NULL. */
const char *sp_option_elsewhere(const struct sp_option *o, enum sp_action action);

bool sp_option_takes_value(const struct sp_option *o);

/* Is it one more event, by its own name? @o may be NULL. */
bool sp_option_is_beside(const struct sp_option *o);

/* @action's row; static. sp_action_find: 0 and the action, or -ENOENT. */
const struct sp_action_info *sp_action_info(enum sp_action action);
__attribute__((warn_unused_result)) int sp_action_find(
	const char *word, enum sp_action *ret_action);

/* The action that a wrong word may mean: it begins with it, or differs by one typing error. NULL
 * where none is near. */
const char *sp_action_nearest(const char *word);

#endif
