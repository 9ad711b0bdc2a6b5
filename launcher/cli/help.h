/* -h, --help, ACTION -h and --help=OPTION, made from the table. */
#ifndef SP_LAUNCHER_CLI_HELP_H
#define SP_LAUNCHER_CLI_HELP_H

#include "base/buf.h"
#include "options.h"

/* Appends the help that @call asks for. Returns 0, or -EINVAL with a sentence where --help=OPTION
 * names no option. */
int sp_help_write(const struct sp_call *call, struct sp_buf *ret_text, struct sp_err *err);

/* The examples that an action's help has, @n from 0 on; NULL: no more. Static. */
const char *sp_help_example(enum sp_action action, unsigned n);

#endif
