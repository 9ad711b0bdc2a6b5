/* See task_roots.h. */
#include "prof/spark/task_roots.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "prof/model/tasks.h"
#include "prof/spark/driver_phase.h"

struct rooting {
	const struct sp_profile *p;
	uint32_t *roots; /* by row.task */
	const char **
		phases; /* by stack: of those without a task; "" until looked at. NULL: not asked */
	size_t stacks;
	bool full;
};

static void set_root(void *ctx, struct sp_sample *row)
{
	struct rooting *r = ctx;
	SP_AUTO_BUF struct sp_buf b;
	const char **phase;

	sp_buf_init(&b);
	row->root = r->roots[row->task];
	if (row->task || !r->phases)
		return;
	phase = &r->phases[row->stack < r->stacks ? row->stack : 0];
	if (*phase && !**phase) {
		const struct sp_stack *st = sp_dict_get_stack(r->p->dict, row->stack);

		*phase = st ? sp_driver_phase(r->p->dict, st->frames, st->count) : NULL;
	}
	sp_buf_addc(&b, '[');
	if (sp_driver_label(r->p, row, *phase, &b)) {
		sp_buf_addc(&b, ']');
		row->root = b.failed ? 0 : sp_dict_string(r->p->dict, b.data, b.len);
		r->full |= !row->root;
	}
}

int sp_profile_root_tasks(struct sp_profile *p, enum sp_by by)
{
	SP_AUTO_FREE uint32_t *roots = calloc(p->task_count + 1, sizeof(*roots));
	size_t stacks = sp_dict_stacks(p->dict) + 1ul;
	SP_AUTO_FREE const char **phases = calloc(stacks, sizeof(*phases));
	struct rooting r = {.p = p, .roots = roots, .stacks = stacks};

	if (!roots || !phases)
		return -ENOMEM;
	for (size_t i = 0; i < stacks; i++)
		phases[i] = "";
	if (by != SP_BY_SQL)
		r.phases = phases;
	for (size_t i = 0; i <= p->task_count; i++) {
		SP_AUTO_BUF struct sp_buf b;

		sp_buf_init(&b);
		sp_task_label(p, i ? &p->tasks[i - 1] : NULL, by, &b);
		roots[i] = b.failed ? 0 : sp_dict_string(p->dict, b.data, b.len);
		if (!roots[i])
			return -ENOMEM;
	}
	sp_profile_rekey(p, set_root, &r);
	return r.full ? -ENOMEM : 0;
}
