/* What the driver knows of stages, from its event log: names, jobs, SQL executions. Read once and
 * put into profiles. */
#ifndef SP_PROF_STAGENAMES_H
#define SP_PROF_STAGENAMES_H

#include "prof/profile.h"

struct sp_stage_name {
	int32_t stage, attempt;		  /* attempt -1: of all */
	int64_t job, sql;		  /* -1: none */
	char *name, *description, *group; /* owned; NULL */
};

struct sp_stage_names {
	char *app_id, *app_name;    /* owned; NULL: not told */
	struct sp_stage_name *list; /* owned */
	size_t count, cap;
	bool cut;   /* a part of the log is damaged, or was not written to its end */
	bool ended; /* it tells of the application's end */
};

void sp_stage_names_done(struct sp_stage_names *n);

/* The entry of a stage attempt, added where it is new; NULL when out of memory. */
struct sp_stage_name *sp_stage_names_add(struct sp_stage_names *n, int32_t stage, int32_t attempt);

/* Puts the names into the stages that @p's tasks ran in, where the application is the same or @p
 * does not know its own. Returns how many stages were named, or -ENOMEM; *ret_missing is how many
 * of the application have no name here. */
int sp_stage_names_apply(
	const struct sp_stage_names *n, struct sp_profile *p, uint32_t *ret_missing);

#endif
