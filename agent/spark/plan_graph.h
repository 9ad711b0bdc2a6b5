/* Which operators of a query each generated class has, by the plan graph that the driver's REST API
 * has of it. No JNI, no network. */
#ifndef SP_AGENT_SPARK_PLAN_GRAPH_H
#define SP_AGENT_SPARK_PLAN_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

/* Of @json, an answer of …/sql/N?details=true: a line for each generated class, "5 HashAggregate ←
 * SortMergeJoin", what reads first; nothing behind the number where several have it, as those of
 * subqueries do (src/in/plan_shape.h has the same of an event log). *ret_running: the query has not
 * ended, and more may come. Owner: the caller; NULL where none is known, or out of memory. */
char *sp_plan_graph_pipelines(const char *json, size_t len, bool *ret_running);

#endif
