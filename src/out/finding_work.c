/* Rules about what tasks work on, whether they compute, wait for a core or for something else
 * meanwhile: areas of work, and the opening of files; and about waits for the driver. Their lines
 * are in the table of finding_rules.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/finding_rules.h"
#include "prof/model/frame_name.h"
#include "prof/model/glob.h"
#include "prof/model/tasks.h"

/* What these call makes a file ready to be read; its rows are read outside of them. */
static const char *const openers[] = {
	"org/apache/spark/sql/execution/datasources/FileScanRDD*.readCurrentFile",
	"org/apache/spark/sql/execution/datasources/FileScanRDD*$readCurrentFile",
	"org/apache/spark/sql/execution/datasources/v2/FilePartitionReader.getNextReader",
	"org/apache/spark/rdd/HadoopRDD$$anon$*.<init>",
	"org/apache/spark/rdd/NewHadoopRDD$$anon$*.<init>",
};

/* The first file of a JVM costs this, however few there are. */
static const char *const once[] = {
	"java/lang/ClassLoader.loadClass",
	"*.<clinit>",
	"SystemDictionary::*",
	"InstanceKlass::*",
};

static bool is_among(const char *const *patterns, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (sp_match_glob(patterns[i], name))
			return true;
	return false;
}

static bool opens_files(const struct sp_dict *d, const struct sp_stack *s, struct sp_buf *text)
{
	static const struct sp_style full;

	for (uint32_t i = 0; s && i < s->count; i++) {
		sp_buf_clear(text);
		sp_frame_name(d, &s->frames[i], &full, text);
		if (is_among(once, SP_COUNT(once), sp_buf_str(text)))
			return false;
		if (is_among(openers, SP_COUNT(openers), sp_buf_str(text)))
			return true;
	}
	return false;
}

const struct sp_stage_row *sp_finding_stage_of(
	const struct sp_facts *f, const struct sp_task_run *t)
{
	for (size_t i = 0; i < f->stages.count; i++) {
		const struct sp_stage_row *r = &f->stages.rows[i];

		if (r->app == t->app && r->stage == t->name.stage &&
			r->attempt == t->name.stage_attempt)
			return r;
	}
	return NULL;
}

/* Sums into f->amounts, by row. A task that was answered and has no core yet waits all the same. */
static int count_asks(struct sp_facts *f, uint64_t *ret_broadcasts)
{
	SP_AUTO_TIME_CLASS struct sp_time_class_of *spent = NULL;

	if (sp_time_class_new(&spent, f->p) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < f->p->row_count; i++) {
		const struct sp_sample *x = &f->p->rows[i];
		const struct sp_task_run *t = sp_profile_task(f->p, x);
		const struct sp_stage_row *r;
		enum sp_time_class_asks asks;
		enum sp_time_class c;

		if (x->event != f->event || !t || t->name.stage < 0)
			continue;
		asks = sp_time_class_asks(spent, x->stack);
		if (asks == SP_TIME_CLASS_ASKS_NOTHING)
			continue;
		c = sp_time_class_of_row(spent, x);
		r = c != SP_TIME_CLASS_GC && c != SP_TIME_CLASS_SAFEPOINT && c != SP_TIME_CLASS_CPU
			    ? sp_finding_stage_of(f, t)
			    : NULL;
		if (!r)
			continue;
		f->amounts[r - f->stages.rows] += x->weight;
		*ret_broadcasts += asks == SP_TIME_CLASS_ASKS_BROADCAST ? x->weight : 0;
	}
	return 0;
}

/* Sums into f->amounts, by row. Stacks are looked at once. */
static int count_opens(struct sp_facts *f)
{
	SP_AUTO_FREE uint8_t *known = calloc(sp_dict_stacks(f->p->dict) + 1ul, 1);
	SP_AUTO_BUF struct sp_buf text = {0};

	if (!known)
		return -ENOMEM;
	for (size_t i = 0; i < f->p->row_count; i++) {
		const struct sp_sample *x = &f->p->rows[i];
		const struct sp_task_run *t = sp_profile_task(f->p, x);
		const struct sp_stage_row *r;

		if (x->event != f->event || !t || t->name.stage < 0)
			continue;
		if (!known[x->stack])
			known[x->stack] = opens_files(f->p->dict,
						  sp_dict_get_stack(f->p->dict, x->stack), &text)
						  ? 2
						  : 1;
		r = known[x->stack] == 2 ? sp_finding_stage_of(f, t) : NULL;
		if (r)
			f->amounts[r - f->stages.rows] += x->weight;
	}
	return text.failed ? -ENOMEM : 0;
}

uint64_t sp_finding_of_amounts(
	const struct sp_facts *f, const struct sp_finding_rule *rule, const struct sp_stage_row *r)
{
	(void)rule;
	return f->amounts[r - f->stages.rows];
}

/* Whether a stack is of the rule's area, and no other rule's: a program that rows go through has
 * its own. Who waits for the driver in there, for its leave to commit, does not work on it: another
 * rule says so. */
static bool is_of_area(struct sp_facts *f, const struct sp_finding_rule *rule,
	struct sp_time_class_of *spent, uint32_t stack)
{
	const struct sp_stack *s = sp_dict_get_stack(f->p->dict, stack);
	unsigned area =
		sp_area_of_stack(f->areas, f->p->dict, s ? s->frames : NULL, s ? s->count : 0);

	return strcmp(sp_areas_get(f->areas, area)->name, rule->area) == 0 &&
	       sp_time_class_asks(spent, stack) == SP_TIME_CLASS_ASKS_NOTHING &&
	       !sp_finding_is_pipe(f, s);
}

/* Sums into f->amounts, by row. Stacks are looked at once. */
static int count_area(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	SP_AUTO_FREE uint8_t *known = calloc(sp_dict_stacks(f->p->dict) + 1ul, 1);
	SP_AUTO_TIME_CLASS struct sp_time_class_of *spent = NULL;

	if (!known || sp_time_class_new(&spent, f->p) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < f->p->row_count; i++) {
		const struct sp_sample *x = &f->p->rows[i];
		const struct sp_task_run *t = sp_profile_task(f->p, x);
		const struct sp_stage_row *r;

		if (x->event != f->event || !t || t->name.stage < 0)
			continue;
		if (!known[x->stack])
			known[x->stack] = is_of_area(f, rule, spent, x->stack) ? 2 : 1;
		r = known[x->stack] == 2 ? sp_finding_stage_of(f, t) : NULL;
		if (r)
			f->amounts[r - f->stages.rows] += x->weight;
	}
	return 0;
}

/* Whether the table of stages has enough of it to look closer. */
static bool may_be_of_area(const struct sp_facts *f, const struct sp_finding_rule *rule)
{
	for (unsigned k = 0; k < sp_areas_count(f->areas); k++)
		for (size_t i = 0; strcmp(sp_areas_get(f->areas, k)->name, rule->area) == 0 &&
				   i < f->stages.count;
			i++)
			if ((double)f->stages.rows[i].areas[k] >=
				rule->share * (double)f->stages.rows[i].weight)
				return true;
	return false;
}

/* The finding of what was counted into f->amounts, where @counted is no error. */
static struct sp_finding *sum_amounts(
	struct sp_facts *f, const struct sp_finding_rule *rule, int counted)
{
	struct sp_finding *x = NULL;

	f->error = counted;
	if (counted == 0)
		x = sp_finding_sum(f, rule, sp_finding_of_amounts);
	f->amounts = NULL;
	return x;
}

void sp_finding_area(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	SP_AUTO_FREE uint64_t *amounts = calloc(f->stages.count + 1, sizeof(*amounts));
	struct sp_finding *x;

	if (!may_be_of_area(f, rule))
		return;
	f->amounts = amounts;
	x = sum_amounts(f, rule, amounts ? count_area(f, rule) : -ENOMEM);
	if (x)
		sp_finding_next(x, rule);
}

void sp_finding_opens(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	SP_AUTO_FREE uint64_t *opens = calloc(f->stages.count + 1, sizeof(*opens));
	struct sp_finding *x;

	f->amounts = opens;
	x = sum_amounts(f, rule, opens ? count_opens(f) : -ENOMEM);
	if (x)
		sp_finding_next(x, rule);
}

/* Most of it is for broadcasts, or for the driver itself. */
void sp_finding_driver(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	SP_AUTO_FREE uint64_t *asks = calloc(f->stages.count + 1, sizeof(*asks));
	uint64_t broadcasts = 0, all = 0;
	struct sp_finding *x;

	if (!f->stages.waiting)
		return;
	f->amounts = asks;
	x = sum_amounts(f, rule, asks ? count_asks(f, &broadcasts) : -ENOMEM);
	if (!x)
		return;
	for (size_t i = 0; i < f->stages.count; i++)
		all += asks[i];
	sp_buf_adds(&x->says, broadcasts * 2 >= all
				      ? ". Most of it is for broadcasts, which it has first"
				      : ". Most of it is for its answers: where map outputs are, "
					"whether a task may commit");
	sp_finding_next(x, rule);
}
