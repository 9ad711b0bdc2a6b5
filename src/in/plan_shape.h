/* The shape of a query or a stage in an event log, without what differs from run to run: expression
 * ids, numbers, paths. Equal shapes are equal texts. */
#ifndef SP_IN_PLAN_SHAPE_H
#define SP_IN_PLAN_SHAPE_H

#include "base/json_reader.h"

/* Of "sparkPlanInfo" of the start of an SQL execution, which is the initial plan. Owner: the
 * caller; NULL where there is none, or out of memory. */
char *sp_plan_shape(struct sp_json_reader plan);

/* The operators fused into each generated class of a plan, a line each: "5 HashAggregate ←
 * SortMergeJoin", what reads first; nothing behind the number where several have it, as those of
 * subqueries do. The same; NULL also where none is known. */
char *sp_plan_pipelines(struct sp_json_reader plan);

/* The operators of a stage, by "RDD Info" of its "Stage Info": "Exchange, SortAggregate,
 * WholeStageCodegen". The same. */
char *sp_stage_operators(struct sp_json_reader rdds);

#endif
