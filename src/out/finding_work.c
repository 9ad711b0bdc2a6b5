/* Rules about what tasks work on, whether they compute, wait for a core or for something else
 * meanwhile: areas of work, and the opening of files. Their lines are in the table of
 * finding_rules.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/finding_rules.h"
#include "prof/model/frame_name.h"
#include "prof/model/glob.h"
#include "prof/model/tasks.h"

static uint64_t of_area(
	const struct sp_facts *f, const struct sp_finding_rule *rule, const struct sp_stage_row *r)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < sp_areas_count(f->areas); i++)
		if (strcmp(sp_areas_get(f->areas, i)->name, rule->area) == 0)
			sum += r->areas[i];
	return sum;
}

void sp_finding_area(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	struct sp_finding *x = sp_finding_sum(f, rule, of_area);

	if (x)
		sp_finding_next(x, rule);
}

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

static const struct sp_stage_row *row_of(const struct sp_facts *f, const struct sp_task_run *t)
{
	for (size_t i = 0; i < f->stages.count; i++) {
		const struct sp_stage_row *r = &f->stages.rows[i];

		if (r->app == t->app && r->stage == t->name.stage &&
			r->attempt == t->name.stage_attempt)
			return r;
	}
	return NULL;
}

/* Sums into f->opens, by row. Stacks are looked at once. */
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
		r = known[x->stack] == 2 ? row_of(f, t) : NULL;
		if (r)
			f->opens[r - f->stages.rows] += x->weight;
	}
	return text.failed ? -ENOMEM : 0;
}

static uint64_t of_opens(
	const struct sp_facts *f, const struct sp_finding_rule *rule, const struct sp_stage_row *r)
{
	(void)rule;
	return f->opens[r - f->stages.rows];
}

void sp_finding_opens(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	SP_AUTO_FREE uint64_t *opens = calloc(f->stages.count + 1, sizeof(*opens));
	struct sp_finding *x = NULL;

	f->opens = opens;
	f->error = !opens ? -ENOMEM : count_opens(f);
	if (f->error == 0)
		x = sp_finding_sum(f, rule, of_opens);
	f->opens = NULL;
	if (x)
		sp_finding_next(x, rule);
}
