/* The rule about tasks that are run once more: what they do was done before, in vain. Its line is
 * in the table of finding_rules.c. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "out/finding_rules.h"

/* A speculative copy counts too: names of threads do not tell it from a retry. */
static bool is_again(const struct sp_task_run *t)
{
	return !t->helper && !t->folded && (t->name.attempt > 0 || t->name.stage_attempt > 0);
}

void sp_finding_retries(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	SP_AUTO_FREE uint64_t *amounts = calloc(f->stages.count + 1, sizeof(*amounts));
	struct sp_finding *x;

	if (!amounts) {
		f->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < f->p->task_count; i++) {
		const struct sp_task_run *t = &f->p->tasks[i];
		const struct sp_stage_row *r = is_again(t) ? sp_finding_stage_of(f, t) : NULL;

		if (r)
			amounts[r - f->stages.rows] += t->end_ns - t->start_ns;
	}
	f->amounts = amounts;
	x = sp_finding_sum(f, rule, sp_finding_of_amounts);
	f->amounts = NULL;
	if (x)
		sp_finding_next(x, rule);
}
