/* Inside of the parser: what the walk over argv leaves for the checks of the whole call. */
#ifndef SP_LAUNCHER_CLI_PARSER_H
#define SP_LAUNCHER_CLI_PARSER_H

#include "option_table.h"

enum { SP_PARSER_ROWS = 128, SP_PARSER_SPELLED = 48 };

/* A value that is checked when the whole call is known. */
struct sp_pending {
	const char *text; /* NULL: not given */
	char spelled[SP_PARSER_SPELLED];
};

struct sp_parser {
	struct sp_call *call;
	struct sp_err *err;
	const struct sp_option *rows;
	size_t n_rows;
	char spelled[SP_PARSER_ROWS]
		    [SP_PARSER_SPELLED]; /* by row, as first written; "": not given */
	bool action_known, done;
	bool action_given; /* the action stands there as a word */

	struct sp_pending interval[SP_CALL_MAX_EVENTS]; /* by event */
	struct sp_pending any_interval;			/* -i before every -e */
	size_t last_event;				/* first event of the last -e */
	struct sp_pending beside[SP_PARSER_ROWS];	/* by row: --wall, --alloc … */
	struct sp_pending format;
};

/* Checks and adds an event: the first @len bytes of @name. Returns 0 or -EINVAL. */
int sp_parser_add_event(struct sp_parser *p, const char *spelled, const char *name, size_t len);

/* Fills in what the user left out and checks what only the whole call can tell: which action takes
 * what, which -i belongs to which -e, which -o to which -f. Returns 0 or -EINVAL. */
int sp_options_validate(struct sp_parser *p);

#endif
