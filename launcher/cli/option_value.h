/* Values of options: from a user's text into struct sp_call, checked against the table. */
#ifndef SP_LAUNCHER_CLI_OPTION_VALUE_H
#define SP_LAUNCHER_CLI_OPTION_VALUE_H

#include "option_table.h"

/* Checks @text as a value of @o and, where @o is built, puts it into its field of @call. For kinds
 * that hold one value; EVENT, INTERVAL, WALL, FILE and FORMAT are the parser's.
 * @spelled: the option as the user wrote it, for the sentence.
 * Returns: 0 or -EINVAL; then @call is as before. */
int sp_option_value_set(const struct sp_option *o, const char *spelled, const char *text,
	struct sp_call *call, struct sp_err *err);

/* Checks @text as the interval of event @name: a time within @o's bounds for clocks, else a number
 * of events. Returns 0 or -EINVAL. */
int sp_option_value_interval(const struct sp_option *o, const char *spelled, const char *text,
	const char *name, uint64_t *ret_interval, struct sp_err *err);

#endif
