/* The shape of a query or a stage in an event log, without what differs from run to run: expression
 * ids, numbers, paths. Equal shapes are equal texts. */
#ifndef SP_IN_PLAN_SHAPE_H
#define SP_IN_PLAN_SHAPE_H

#include "base/json_reader.h"

/* Of "sparkPlanInfo" of the start of an SQL execution, which is the initial plan. Owner: the
 * caller; NULL where there is none, or out of memory. */
char *sp_plan_shape(struct sp_json_reader plan);

/* The operators of a stage, by "RDD Info" of its "Stage Info": "Exchange, SortAggregate,
 * WholeStageCodegen". The same. */
char *sp_stage_operators(struct sp_json_reader rdds);

#endif
