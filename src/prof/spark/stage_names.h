/* What the driver knows of stages, from its event log: names, jobs, SQL executions. Read once and
 * put into profiles. */
#ifndef SP_PROF_SPARK_STAGE_NAMES_H
#define SP_PROF_SPARK_STAGE_NAMES_H

#include "prof/model/profile.h"

struct sp_stage_name {
	int32_t stage, attempt;		  /* attempt -1: of all */
	int64_t job, sql;		  /* -1: none */
	char *name, *description, *group; /* owned; NULL */
	uint32_t finished;		  /* tasks that succeeded, and … */
	uint64_t median_ms;		  /* … how long they took: see sp_stage_names_settle */
	char *operators;		  /* owned; NULL: see plan_shape.h */
};

/* When a task attempt ran. */
struct sp_task_time {
	int64_t task_id, launch_ms, finish_ms; /* since 1970; finish 0: it had not */
	int32_t stage, attempt;
	bool failed;
};

struct sp_sql_plan {
	int64_t sql;
	char *shape;	 /* owned */
	char *pipelines; /* owned; NULL: unknown. See plan_shape.h */
};

/* A SQL execution, or a job of one. */
struct sp_stage_query {
	bool job;
	int64_t id, sql;	   /* sql: of a job; -1: none */
	uint64_t start_ns, end_ns; /* end 0: not known */
	char *name;		   /* owned; NULL */
};

struct sp_stage_names {
	char *app_id, *app_name;    /* owned; NULL: unknown */
	struct sp_stage_name *list; /* owned */
	size_t count, cap;
	struct sp_task_time *tasks; /* owned; by TID once settled */
	size_t task_count, task_cap;
	struct sp_sql_plan *plans; /* owned */
	size_t plan_count;
	struct sp_stage_query *queries; /* owned */
	size_t query_count, query_cap;
	bool cut;   /* a part of the log is damaged, or was not written to its end */
	bool ended; /* it has the application's end */
};

void sp_stage_names_done(struct sp_stage_names *n);

/* The entry of a stage attempt, added where it is new; NULL when out of memory. */
struct sp_stage_name *sp_stage_names_add(struct sp_stage_names *n, int32_t stage, int32_t attempt);

/* Keeps what the log says of a task: its launch, or with that its end. Returns 0 or -ENOMEM. */
int sp_stage_names_task(struct sp_stage_names *n, const struct sp_task_time *t);

/* Once all is read: how long tasks of each stage took. Returns 0 or -ENOMEM. */
int sp_stage_names_settle(struct sp_stage_names *n);

/* Keeps the initial plan of an SQL execution; @shape passes on. Returns 0 or -ENOMEM. */
int sp_stage_names_plan(struct sp_stage_names *n, int64_t sql, char *shape);

/* Keeps the pipelines of generated code of an SQL execution in the place of those before; the text
 * passes on. Nothing where its plan is not known. */
void sp_stage_names_pipelines(struct sp_stage_names *n, int64_t sql, char *pipelines);

/* The entry of a SQL execution or a job, added where it is new; NULL when out of memory. */
struct sp_stage_query *sp_stage_names_query(struct sp_stage_names *n, bool job, int64_t id);

/* Puts the names, and when tasks ran, into the stages that @p's tasks ran in, where the application
 * is the same or @p does not know its own. A driver's profile gets its executions too. Returns how
 * many stages were named, or -ENOMEM; *ret_missing is how many of the application have no name
 * here. */
int sp_stage_names_apply(
	const struct sp_stage_names *n, struct sp_profile *p, uint32_t *ret_missing);

#endif
