/* Inside of the parser: what the walk over argv leaves for the checks of the whole call. */
#ifndef SP_LAUNCHER_CLI_PARSER_H
#define SP_LAUNCHER_CLI_PARSER_H

#include "option_table.h"

enum { SP_PARSER_ROWS = 192, SP_PARSER_SPELLED = 48 };

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
	bool action_given; /* the action is given as a word */
	bool kubectl;	   /* --via kubectl is somewhere: -n is what it is for kubectl */

	struct sp_pending interval[SP_CALL_MAX_EVENTS]; /* by event */
	struct sp_pending any_interval;			/* -i before every -e */
	size_t last_event;				/* first event of the last -e */
	struct sp_pending beside[SP_PARSER_ROWS];	/* by row: --wall, --alloc … */
	struct sp_pending format;			/* -o; its last format is: */
	enum sp_format format_is;
};

/* Checks and adds an event: the first @len bytes of @name. Returns 0 or -EINVAL. */
int sp_parser_add_event(struct sp_parser *p, const char *spelled, const char *name, size_t len);

/* One option with its value, NULL for flags, as the user spelled it. Returns 0 or -EINVAL. */
int sp_parser_take(
	struct sp_parser *p, const struct sp_option *o, const char *spelled, const char *value);

/* -o: formats and, with commas, options that say how it looks. Returns 0 or -EINVAL. */
int sp_parser_set_format(struct sp_parser *p, const char *spelled, const char *text);

/* Fills in what the user left out and checks what depends on the whole call: which action takes
 * what, which -i belongs to which -e, which -o to which -f. Returns 0 or -EINVAL. */
int sp_options_validate(struct sp_parser *p);

/* Of these: what is about other hosts. Returns 0 or -EINVAL. */
int sp_options_check_via(struct sp_parser *p);

/* Was option @name given? */
bool sp_parser_given(const struct sp_parser *p, const char *name);

#endif
