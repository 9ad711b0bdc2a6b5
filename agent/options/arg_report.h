/* Which report file= means, and how it looks: async-profiler's words for that, kept for the
 * launcher that makes it. */
#ifndef SP_AGENT_OPTIONS_ARG_REPORT_H
#define SP_AGENT_OPTIONS_ARG_REPORT_H

#include "args.h"

/* Takes a word of that kind. Returns false for any other. @value: NULL where there is none. */
bool sp_arg_report_take(struct sp_args *a, const char *word, const char *value);

/* When all words are there: fills a->report where file= is a report, else returns what of the words
 * asked for more than a recording can do, "include, exclude" or "". */
const char *sp_arg_report_settle(struct sp_args *a);

/* The extension that the launcher gives @format by. Static; "" unknown. */
const char *sp_arg_report_extension(const char *format);

#endif
