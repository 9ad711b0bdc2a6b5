/* See driver.h. */
#include "prof/driver.h"

#include <string.h>

#include "base/cleanup.h"

#define QUERY "org/apache/spark/sql/execution/QueryExecution"

/* Class by its start, method by a part. Lazy values of a query are computed inside of each other,
 * so the innermost tells; Spark 4 has them as lazyAnalyzed and so on. */
static const struct {
	const char *cls, *method, *phase;
} phases[] = {
	{"org/codehaus/janino/", "", "codegen"},
	{"org/apache/spark/sql/catalyst/expressions/codegen/CodeGenerator", "", "codegen"},
	{"org/apache/spark/sql/execution/WholeStageCodegenExec", "doCodeGen", "codegen"},
	{"org/apache/spark/sql/catalyst/parser/", "", "parsing"},
	{QUERY, "nalyzed", "analysis"},
	{QUERY, "ptimizedPlan", "optimisation"},
	{QUERY, "parkPlan", "planning"},
	{QUERY, "xecutedPlan", "planning"},
	{QUERY, "prepareForExecution", "planning"},
	{"org/apache/spark/sql/execution/adaptive/AdaptiveSparkPlanExec", "ptimize", "planning"},
	{"org/apache/spark/sql/execution/adaptive/AdaptiveSparkPlanExec", "createQueryStages",
		"planning"},
	{"org/apache/spark/scheduler/DAGScheduler", "runJob", "job"},
};

/* Names by their start; where it ends with '=', or with " for ", what follows belongs to the label.
 */
static const struct {
	const char *start, *label;
} threads[] = {
	{"dag-scheduler-", "scheduler"},
	{"task-result-getter-", "scheduler"},
	{"task-scheduler-", "scheduler"},
	{"dispatcher-CoarseGrainedScheduler", "scheduler"},
	{"spark-listener-group-", "listeners"},
	{"broadcast-exchange-", "broadcast"},
	{"subquery-", "subquery"},
	{"SparkConnectExecuteThread_opId=", "connect"},
	{"stream execution thread for ", "stream"},
};

static const char *phase_of(const char *cls, const char *method)
{
	for (size_t i = 0; i < SP_COUNT(phases); i++)
		if (strncmp(cls, phases[i].cls, strlen(phases[i].cls)) == 0 &&
			strstr(method, phases[i].method))
			return phases[i].phase;
	return NULL;
}

const char *sp_driver_phase(
	const struct sp_dict *d, const struct sp_frame_ref *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct sp_method *m = sp_dict_get_method(d, frames[i].method);
		const char *phase;

		if (!m || m->native)
			continue;
		phase = phase_of(sp_dict_get_string(d, m->class_id, NULL),
			sp_dict_get_string(d, m->name_id, NULL));
		if (phase)
			return phase;
	}
	return NULL;
}

/* "NAME [id = X, runId = Y]": the run is another after each restart, the rest stays. */
static void add_stream(const char *rest, struct sp_buf *out)
{
	const char *id = strstr(rest, "[id = ");

	if (!id) {
		sp_buf_adds(out, rest);
		return;
	}
	sp_buf_add(out, rest, (size_t)(id - rest));
	id += strlen("[id = ");
	sp_buf_add(out, id, strcspn(id, ",]"));
}

bool sp_driver_thread(const char *name, struct sp_buf *out)
{
	for (size_t i = 0; i < SP_COUNT(threads); i++) {
		size_t n = strlen(threads[i].start);

		if (strncmp(name, threads[i].start, n) != 0)
			continue;
		sp_buf_adds(out, threads[i].label);
		if (threads[i].start[n - 1] == '=' || threads[i].start[n - 1] == ' ') {
			sp_buf_addc(out, ' ');
			add_stream(name + n, out);
		}
		return true;
	}
	return false;
}

bool sp_driver_label(const struct sp_profile *p, const struct sp_sample *row, const char *phase,
	struct sp_buf *out)
{
	const struct sp_thread *t = sp_dict_get_thread(p->dict, row->thread);
	bool named = t && sp_driver_thread(sp_dict_get_string(p->dict, t->name_id, NULL), out);

	if (phase)
		sp_buf_addf(out, "%s%s", named ? ", " : "", phase);
	return named || phase;
}
