/* Numbers of the agent's words (args.h), as async-profiler reads them where that differs from the
 * launcher: of a unit the first letter counts, so that 10m of an interval are milliseconds and
 * 30sec are seconds; and timeout= and loop= may be a time of day. */
#ifndef SP_AGENT_OPTIONS_ARG_VALUES_H
#define SP_AGENT_OPTIONS_ARG_VALUES_H

#include <stdint.h>
#include <time.h>

enum sp_arg_kind {
	SP_ARG_TEXT,
	SP_ARG_EVENT,
	SP_ARG_FLAG,
	SP_ARG_NANOS,	 /* a time, bare in nanoseconds */
	SP_ARG_SECONDS,	 /* … in seconds */
	SP_ARG_TIMEOUT,	 /* the same, or a time of day: then what is left until that */
	SP_ARG_LOOP,	 /* the same, but as sp_arg_value_left() takes it */
	SP_ARG_INTERVAL, /* a time, a size or a number of events */
	SP_ARG_SIZE,
	SP_ARG_DEPTH,	 /* frames, 2048 or 2048/64 */
	SP_ARG_FRACTION, /* 0.1, of a million */
};

/* Returns 0, or -EINVAL or -ERANGE. Texts, events and flags are no numbers. */
int sp_arg_value_parse(enum sp_arg_kind kind, const char *value, uint64_t *ret);

/* What a number has to look like, as in "a time; write 30s, 10m". */
const char *sp_arg_value_what(enum sp_arg_kind kind);

/* How long @loop is where it begins at @now: a time as it is, of a time of day (hh:mm:ss; a part
 * that is no number is any) what is left until it comes next. */
uint64_t sp_arg_value_left(uint64_t loop, time_t now);

#endif
