/* Patterns in output file names: %p %t %n{MAX} %{ENV} %% as async-profiler has them, %h,
 * {{APP_ID}} and {{EXECUTOR_ID}} as Spark has them (%{APP_ID} and %{EXECUTOR_ID} are the same where
 * the environment has no such variables), and {{EVENT}}, which stays until the events are known.
 * Used by the launcher, and by a JVM that records from its start. */
#ifndef SP_BASE_NAME_TEMPLATE_H
#define SP_BASE_NAME_TEMPLATE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* What a pattern may ask for. Strings are borrowed for the call. */
struct sp_name_template_vars {
	int pid;		 /* %p, as the launcher sees it; 0: no target */
	time_t time;		 /* %t: local time as 20260131-235959 */
	uint64_t round;		 /* %n: 1, 2, … ; %n{MAX} begins again after MAX */
	const char *host;	 /* %h; NULL: this one */
	const char *app_id;	 /* NULL or "": not a Spark JVM */
	const char *executor_id; /* likewise; "driver" for a driver */
};

/* Checks that only known sequences are in @path. Returns 0, or -EINVAL with a sentence. */
int sp_name_template_check(const char *path, struct sp_err *err);

/* Whether every round has a name of its own: %n or %t is in @path. */
bool sp_name_template_has_round(const char *path);

/* MAX of the first %n{MAX} in @path; 0 where there is none. */
uint64_t sp_name_template_rounds(const char *path);

/* Whether {{APP_ID}} or {{EXECUTOR_ID}} is in @path. */
bool sp_name_template_has_ids(const char *path);

/* Whether two targets get two names: %p or {{EXECUTOR_ID}} is in @path. */
bool sp_name_template_differs(const char *path);

/* Is {{EVENT}} in @path: one file for each event? */
bool sp_name_template_has_event(const char *path);

/* Appends @path, expanded before, with @event for {{EVENT}}. Returns 0 or -ENOMEM. */
int sp_name_template_set_event(const char *path, const char *event, struct sp_buf *ret_name);

/* Appends @path with every sequence but {{EVENT}} replaced. Values from outside (environment, ids)
 * cannot leave the directory: '/' in them becomes '_'. Returns: 0; -EINVAL for an unknown sequence;
 * -ENOENT where a variable of the environment is not set or the target has no such id; -ENOMEM. */
int sp_name_template_expand(const char *path, const struct sp_name_template_vars *vars,
	struct sp_buf *ret_name, struct sp_err *err);

#endif
