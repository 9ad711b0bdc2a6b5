/* What Spark measured of tasks, in a recording: see task_spans.h. */
#include "prof/load/task_spans_internal.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>

#define MOST_NS (1000ull * 86400 * 1000000000) /* of a task */

static uint64_t time_of(const struct sp_jfr_event *e, const char *name)
{
	const struct sp_jfr_value *v = sp_jfr_value_of(e, name);

	return v && v->kind == SP_JFR_V_INT && v->u < MOST_NS ? v->u : 0;
}

int sp_spans_measure(struct sp_task_spans *s, const struct sp_jfr_event *e)
{
	const struct sp_jfr_value *id = sp_jfr_value_of(e, "taskId");

	if (!id || id->kind != SP_JFR_V_INT)
		return 0;
	if (sp_grow(&s->measures, &s->measure_cap, s->measure_count, sizeof(*s->measures), 256) < 0)
		return -ENOMEM;
	s->measures[s->measure_count++] = (struct sp_span_measure){.task_id = (int64_t)id->u,
		.spark = {.read_cpu_ns = time_of(e, "readCpuTime"),
			.cpu_ns = time_of(e, "cpuTime"),
			.run_ns = time_of(e, "runTime"),
			.gc_ns = time_of(e, "gcTime"),
			.fetch_wait_ns = time_of(e, "fetchWaitTime"),
			.shuffle_write_ns = time_of(e, "shuffleWriteTime")}};
	return 0;
}

static int by_task(const void *a, const void *b)
{
	const struct sp_span_measure *x = a, *y = b;

	return x->task_id < y->task_id ? -1 : x->task_id > y->task_id;
}

static struct sp_span_measure *find(struct sp_task_spans *s, const struct sp_task_run *t)
{
	struct sp_span_measure key = {.task_id = t->name.task_id};

	return t->name.task_id < 0 ? NULL
				   : bsearch(&key, s->measures, s->measure_count,
					     sizeof(*s->measures), by_task);
}

/* Spark's numbers are of all of a task: of one that lies over a border of the recording they say
 * nothing of the part in it; and where rows need not separate tasks, nothing of which rows they
 * replace. */
void sp_spans_apply_measures(struct sp_task_spans *s)
{
	struct sp_span_measure *m;

	if (!s->measure_count || s->fold)
		return;
	qsort(s->measures, s->measure_count, sizeof(*s->measures), by_task);
	for (size_t i = 0; i < s->count; i++) {
		struct sp_task_run *t = &s->list[i].run;

		m = t->helper ? NULL : find(s, t);
		/* Of attempts that failed or were killed Spark has no CPU time. */
		if (m && m->spark.cpu_ns && t->begun && t->ended) {
			m->whole = t->measured = true;
			t->spark = m->spark;
		}
	}
	for (size_t i = 0; i < s->count; i++) {
		struct sp_task_run *t = &s->list[i].run;

		m = t->helper ? find(s, t) : NULL;
		t->measured |= m && m->whole;
	}
}
