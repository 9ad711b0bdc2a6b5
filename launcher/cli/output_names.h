/* Names of report's and diff's outputs. */
#ifndef SP_LAUNCHER_CLI_OUTPUT_NAMES_H
#define SP_LAUNCHER_CLI_OUTPUT_NAMES_H

#include "options.h"

/* Replaces what name_template.h knows in the outputs of @call; %p and Spark's ids need a target and
 * are refused.
 * Owner:   names in *@call are @names' until sp_output_names_done.
 * Returns: 0, or -errno with a sentence that names the output. */
struct sp_output_names {
	char *text[SP_CALL_MAX_OUTPUTS];
};
int sp_output_names_expand(struct sp_output_names *names, struct sp_call *call, struct sp_err *err);
void sp_output_names_done(struct sp_output_names *names);

#endif
