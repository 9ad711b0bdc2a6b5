/* Findings: see findings.h. Here they are gathered, ranked and written; the rules themselves are in
 * finding_rules.c. */
#include "out/findings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/escape.h"
#include "out/finding_rules.h"
#include "out/phases.h"

/* The event whose weight is thread time: wall has the waits, cpu has none. Returns -1: neither. */
static int time_event(const struct sp_profile *p)
{
	int found = -1;

	for (unsigned i = 0; i < p->event_count; i++) {
		const char *name = sp_profile_event_name(p, i);

		if (!p->events[i].samples)
			continue;
		if (strcmp(name, "wall") == 0)
			return (int)i;
		if (strcmp(name, "cpu") == 0)
			found = (int)i;
	}
	return found;
}

static void finding_done(struct sp_finding *x)
{
	sp_buf_done(&x->says);
	sp_buf_done(&x->next);
}

struct sp_finding *sp_finding_add(
	struct sp_facts *f, const struct sp_finding_rule *rule, uint64_t time_ns)
{
	struct sp_findings *to = f->to;
	unsigned at = to->count;

	while (at > 0 && to->list[at - 1].time_ns < time_ns)
		at--;
	if (at == SP_FINDINGS_MOST)
		return NULL;
	if (to->count == SP_FINDINGS_MOST)
		finding_done(&to->list[--to->count]);
	memmove(&to->list[at + 1], &to->list[at], (to->count - at) * sizeof(to->list[0]));
	to->count++;
	to->list[at] = (struct sp_finding){.rule = rule->name,
		.advice = f->local && rule->local     ? rule->local
			  : f->single && rule->single ? rule->single
						      : rule->advice,
		.time_ns = time_ns,
		.stage = -1,
		.attempt = -1,
		.task = -1};
	return &to->list[at];
}

static int by_start(const void *a, const void *b)
{
	const struct sp_task_run *x = *(const struct sp_task_run *const *)a;
	const struct sp_task_run *y = *(const struct sp_task_run *const *)b;

	if (x->executor != y->executor)
		return x->executor < y->executor ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* Whether no executor ran two tasks at a time; false where tasks are folded. */
static int is_single(const struct sp_profile *p, bool *ret)
{
	SP_AUTO_FREE const struct sp_task_run **tasks =
		calloc(p->task_count + 1, sizeof(const struct sp_task_run *));
	size_t n = 0;

	if (!tasks)
		return -ENOMEM;
	for (size_t i = 0; i < p->task_count; i++)
		if (p->tasks[i].name.stage >= 0 && p->tasks[i].start_ns && !p->tasks[i].helper)
			tasks[n++] = &p->tasks[i];
	qsort(tasks, n, sizeof(const struct sp_task_run *), by_start);
	*ret = n > 0 && !p->past_count;
	for (size_t i = 1; i < n; i++)
		*ret &= tasks[i]->executor != tasks[i - 1]->executor ||
			tasks[i]->start_ns >= tasks[i - 1]->end_ns;
	return 0;
}

int sp_findings_init(struct sp_findings *f, const struct sp_profile *p, struct sp_areas *areas)
{
	struct sp_facts facts = {.p = p, .to = f};
	int event = time_event(p), r;

	*f = (struct sp_findings){0};
	if (event < 0 || (!p->task_count && !sp_phases_is_driver(p)))
		return 0;
	facts.event = (unsigned)event;
	r = sp_stage_table_init(&facts.stages, p, facts.event, areas);
	facts.areas = facts.stages.areas;
	r = r < 0 ? r : is_single(p, &facts.single);
	facts.local = sp_phases_is_driver(p);
	for (size_t i = 0; i < facts.stages.count; i++)
		facts.weight += facts.stages.rows[i].weight;
	for (size_t i = 0; r == 0 && i < sp_finding_rule_count; i++) {
		if (facts.weight || sp_finding_rules[i].taskless)
			sp_finding_rules[i].look(&facts, &sp_finding_rules[i]);
		r = facts.error;
	}
	for (unsigned i = 0; i < f->count; i++)
		if (f->list[i].says.failed || f->list[i].next.failed)
			r = -ENOMEM;
	free(facts.kept);
	sp_stage_table_done(&facts.stages);
	return r;
}

void sp_findings_done(struct sp_findings *f)
{
	for (unsigned i = 0; i < f->count; i++)
		finding_done(&f->list[i]);
	f->count = 0;
}

static void json_one(const struct sp_finding *x, struct sp_buf *out)
{
	sp_buf_addf(out, "{\"rule\":\"%s\",\"time_ns\":%" PRIu64, x->rule, x->time_ns);
	if (x->stage >= 0)
		sp_buf_addf(out, ",\"stage\":%d,\"attempt\":%d", x->stage, x->attempt);
	if (x->task >= 0)
		sp_buf_addf(out, ",\"task\":%" PRId64, x->task);
	if (x->executor) {
		sp_buf_adds(out, ",\"executor\":");
		sp_escape_json(x->executor, strlen(x->executor), out);
	}
	sp_buf_adds(out, ",\"says\":");
	sp_escape_json(x->says.data, x->says.len, out);
	sp_buf_adds(out, ",\"next\":");
	sp_escape_json(x->next.data, x->next.len, out);
	sp_buf_adds(out, ",\"try\":");
	sp_escape_json(x->advice, strlen(x->advice), out);
	sp_buf_addc(out, '}');
}

void sp_findings_json(const struct sp_findings *f, struct sp_buf *out)
{
	sp_buf_addc(out, '[');
	for (unsigned i = 0; i < f->count; i++) {
		sp_buf_adds(out, i ? ",\n" : "\n");
		json_one(&f->list[i], out);
	}
	sp_buf_addc(out, ']');
}
