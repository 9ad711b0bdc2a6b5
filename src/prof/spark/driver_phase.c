/* See driver_phase.h. */
#include "prof/spark/driver_phase.h"

#include <string.h>

#include "base/cleanup.h"
#include "prof/spark/driver_work.h"

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

const char *sp_driver_phase(
	const struct sp_dict *d, const struct sp_frame_ref *frames, uint32_t count)
{
	enum sp_driver_work work = sp_driver_work_phase(d, frames, count);

	if (work == SP_DRIVER_WORK_JOB)
		return "job";
	return work && sp_driver_work_is_query(work) ? sp_driver_work_name(work) : NULL;
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
	size_t before = out->len;
	bool named = t && sp_driver_thread(sp_dict_get_string(p->dict, t->name_id, NULL), out);

	if (phase && !(named && strncmp(sp_buf_str(out) + before, phase, strlen(phase)) == 0))
		sp_buf_addf(out, "%s%s", named ? ", " : "", phase);
	return named || phase;
}
