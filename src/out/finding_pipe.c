/* The rule about programs that tasks send their rows through: RDD.pipe() of Java, Scala and Python,
 * and SQL's TRANSFORM. Rules about child processes and blocked Python workers leave that time to
 * it. Its line is in the table of finding_rules.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/finding_rules.h"
#include "prof/model/glob.h"
#include "prof/model/tasks.h"

static bool is_pipe_frame(const struct sp_dict *d, const struct sp_frame_ref *f)
{
	const struct sp_method *m = sp_dict_get_method(d, f->method);
	const char *cls = m ? sp_dict_get_string(d, m->class_id, NULL) : "";

	if (f->type == SP_FRAME_PYTHON)
		return sp_match_glob("pyspark/*rdd.py", cls) &&
		       strncmp(sp_dict_get_string(d, m->name_id, NULL), "RDD.pipe.", 9) == 0;
	return f->type < SP_FRAME_NATIVE &&
	       (sp_match_glob("org/apache/spark/rdd/PipedRDD*", cls) ||
		       sp_match_glob("org/apache/spark/sql/*ScriptTransformation*", cls));
}

bool sp_finding_is_pipe(const struct sp_facts *f, const struct sp_stack *s)
{
	for (uint32_t i = 0; s && i < s->count; i++)
		if (is_pipe_frame(f->p->dict, &s->frames[i]))
			return true;
	return false;
}

/* Threads beside a task's own write to the program meanwhile: their time would count twice. */
static bool waits(
	const struct sp_facts *f, const struct sp_sample *x, struct sp_time_class_of *spent)
{
	const struct sp_task_run *t = sp_profile_task(f->p, x);
	enum sp_time_class c;

	if (x->event != f->event || !t || t->name.stage < 0 || (t->helper && !t->fills))
		return false;
	c = sp_time_class_of_row(spent, x);
	return (c == SP_TIME_CLASS_CHILD || c == SP_TIME_CLASS_WORKER_WAIT) &&
	       sp_finding_is_pipe(f, sp_dict_get_stack(f->p->dict, x->stack));
}

/* Sums into f->amounts, by row. */
static int count_waits(struct sp_facts *f)
{
	SP_AUTO_TIME_CLASS struct sp_time_class_of *spent = NULL;

	if (sp_time_class_new(&spent, f->p) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < f->p->row_count; i++) {
		const struct sp_sample *x = &f->p->rows[i];
		const struct sp_stage_row *r =
			waits(f, x, spent) ? sp_finding_stage_of(f, sp_profile_task(f->p, x))
					   : NULL;

		if (r)
			f->amounts[r - f->stages.rows] += x->weight;
	}
	return 0;
}

void sp_finding_pipe(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	SP_AUTO_FREE uint64_t *amounts = calloc(f->stages.count + 1, sizeof(*amounts));
	struct sp_finding *x = NULL;

	if (!f->stages.waiting)
		return;
	f->amounts = amounts;
	f->error = !amounts ? -ENOMEM : count_waits(f);
	if (f->error == 0)
		x = sp_finding_sum(f, rule, sp_finding_of_amounts);
	f->amounts = NULL;
	if (x)
		sp_finding_next(x, rule);
}
