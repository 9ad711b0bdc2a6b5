/* See operators.h. */
#include "prof/spark/operators.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/pyspark_class.h"
#include "prof/model/tasks.h"

/* Prefixes of generated names, as CodegenSupport.variablePrefix makes them; those that are not here
 * are the operator's own name in small letters. */
static const struct {
	const char *prefix, *operator;
} prefixes[] = {
	{"hashAgg", "HashAggregate"},
	{"agg", "HashAggregate"}, /* to Spark 3.0 */
	{"sortAgg", "SortAggregate"},
	{"smj", "SortMergeJoin"},
	{"bhj", "BroadcastHashJoin"},
	{"shj", "ShuffledHashJoin"},
	{"bnlj", "BroadcastNestedLoopJoin"},
	{"sort", "Sort"},
	{"project", "Project"},
	{"filter", "Filter"},
	{"expand", "Expand"},
	{"generate", "Generate"},
	{"range", "Range"},
	{"sample", "Sample"},
	{"scan", "Scan"},
	{"rdd", "Scan"},
	{"memoryScan", "InMemoryTableScan"},
	{"localtablescan", "LocalTableScan"},
	{"columnartorow", "ColumnarToRow"},
	{"rowtocolumnar", "RowToColumnar"},
	{"serializefromobject", "SerializeFromObject"},
	{"deserializetoobject", "DeserializeToObject"},
	{"mapelements", "MapElements"},
	{"mapgroups", "MapGroups"},
	{"appendcolumns", "AppendColumns"},
	{"locallimit", "LocalLimit"},
	{"globallimit", "GlobalLimit"},
};

/* Parts of generated names that no other operator is fused into. */
static const char *const own_parts[] = {"FastHashMap", "findNextJoinRows", "nextBatch"};

enum { MOST = 8 /* operators of a pipeline that are named */ };

/* A generated class in one stage of one query. */
struct pipeline {
	int64_t sql;
	int32_t stage;
	uint32_t app, number;
	uint8_t operators[MOST]; /* of prefixes[], what reads from the others first */
	uint8_t count;
};

/* What a method says. */
struct said {
	uint32_t number; /* of the generated class; 0: it is none */
	int16_t prefix;	 /* of prefixes[]; -1: none */
	bool own;	 /* of that operator alone */
	bool python;	 /* feeds a Python worker, or reads from it */
	uint8_t helper;	 /* of helpers[] + 1; 0: none */
	uint16_t from,
		len; /* of the class: an operator's own, "Sort" of "…/SortExec"; len 0: none */
	bool looked;
};

struct sp_operators {
	const struct sp_profile *p;
	struct said *methods;  /* owned; by method */
	struct pipeline *list; /* owned */
	size_t count, cap;
};

static bool has_own_part(const char *s)
{
	for (size_t i = 0; i < SP_COUNT(own_parts); i++)
		if (strstr(s, own_parts[i]))
			return true;
	return false;
}

static int prefix_of(const char *s)
{
	size_t len = strcspn(s, "_");

	for (size_t i = 0; s[len] && i < SP_COUNT(prefixes); i++)
		if (strlen(prefixes[i].prefix) == len && memcmp(prefixes[i].prefix, s, len) == 0)
			return (int)i;
	return -1;
}

/* "…GeneratedIteratorForCodegenStage5", perhaps with "$hashAgg_FastHashMap_0" behind it. */
static void look_generated(struct said *m, const char *cls, const char *name)
{
	static const char mark[] = "GeneratedIteratorForCodegenStage";
	const char *at = strstr(cls, mark);
	char *end;

	if (!at)
		return;
	m->number = (uint32_t)strtoul(at + strlen(mark), &end, 10);
	m->prefix = (int16_t)prefix_of(*end == '$' ? end + 1 : name);
	m->own = m->prefix >= 0 && (has_own_part(end) || has_own_part(name));
}

/* Classes that do the work of one operator alone, when its own is no longer on the stack: what an
 * operator makes is pulled from outside. By the beginning of the name, within the package. */
static const struct {
	const char *cls, *operator;
} helpers[] = {
	{"aggregate/SortBasedAggregationIterator", "SortAggregate"},
	{"aggregate/TungstenAggregationIterator", "HashAggregate"},
	{"aggregate/ObjectAggregationIterator", "ObjectHashAggregate"},
	{"aggregate/SortBasedAggregator", "ObjectHashAggregate"},
	{"joins/SortMergeJoinScanner", "SortMergeJoin"},
	{"joins/SortMergeFullOuterJoinScanner", "SortMergeJoin"},
	{"joins/LeftOuterIterator", "SortMergeJoin"},
	{"joins/RightOuterIterator", "SortMergeJoin"},
	{"window/WindowFunctionFrame", "Window"},
	{"window/WindowEvaluatorFactory", "Window"},
	{"window/SlidingWindowFunctionFrame", "Window"},
	{"window/UnboundedWindowFunctionFrame", "Window"},
	{"window/UnboundedPrecedingWindowFunctionFrame", "Window"},
	{"window/UnboundedFollowingWindowFunctionFrame", "Window"},
	{"datasources/FileScanRDD", "Scan"},
	{"datasources/v2/DataSourceRDD", "Scan"},
};

/* What several operators have in common says of none which it is. */
static const char *const shared[] = {"BaseAggregateExec", "SparkPlan", "UnaryExecNode"};

static bool is_shared(const char *simple, size_t len)
{
	for (size_t i = 0; i < SP_COUNT(shared); i++)
		if (strlen(shared[i]) == len && memcmp(shared[i], simple, len) == 0)
			return true;
	return false;
}

/* The number of a helper + 1, 0: none. */
static uint8_t helper_of(const char *within)
{
	for (size_t i = 0; i < SP_COUNT(helpers); i++) {
		size_t len = strlen(helpers[i].cls);

		if (strncmp(within, helpers[i].cls, len) == 0 &&
			(within[len] == 0 || within[len] == '$'))
			return (uint8_t)(i + 1);
	}
	return 0;
}

/* "org/apache/spark/sql/execution/joins/SortMergeJoinExec$$anon$1": SortMergeJoin. */
static void look_operator(struct said *m, const char *cls)
{
	static const char package[] = "org/apache/spark/sql/execution/";
	const char *simple, *end;
	size_t len;

	m->python = sp_pyspark_class(cls, strlen(cls)) & SP_PYSPARK_IS_UDF;
	if (m->python || strncmp(cls, package, strlen(package)) != 0)
		return;
	m->helper = helper_of(cls + strlen(package));
	simple = strrchr(cls, '/') + 1;
	len = strcspn(simple, "$");
	end = simple + len;
	if (len <= 4 || len > 200 || memcmp(end - 4, "Exec", 4) != 0 ||
		memcmp(simple, "WholeStageCodegen", 17 < len ? 17 : len) == 0 ||
		is_shared(simple, len))
		return;
	m->from = (uint16_t)(simple - cls);
	m->len = (uint16_t)(len - 4);
}

static const struct said *said_by_frame(const struct sp_operators *o, const struct sp_frame_ref *f)
{
	const struct sp_method *method = sp_dict_get_method(o->p->dict, f->method);
	struct said *m = &o->methods[f->method];
	const char *cls;

	if (m->looked)
		return m;
	*m = (struct said){.looked = true, .prefix = -1};
	if (!method || method->native)
		return m;
	cls = sp_dict_get_string(o->p->dict, method->class_id, NULL);
	look_generated(m, cls, sp_dict_get_string(o->p->dict, method->name_id, NULL));
	if (!m->number)
		look_operator(m, cls);
	return m;
}

/* Which pipeline a generated class of that number is in a row's task. */
static struct pipeline key_of(
	const struct sp_operators *o, const struct sp_sample *row, uint32_t number)
{
	const struct sp_task_run *t = sp_profile_task(o->p, row);
	const struct sp_stage *about =
		t ? sp_profile_find_stage(o->p, t->app, t->name.stage, t->name.stage_attempt)
		  : NULL;

	return (struct pipeline){.sql = about ? about->sql : -1,
		.stage = t ? t->name.stage : -1,
		.app = t ? t->app : 0,
		.number = number};
}

static struct pipeline *find_pipeline(const struct sp_operators *o, const struct pipeline *key)
{
	for (size_t i = 0; i < o->count; i++) {
		struct pipeline *x = &o->list[i];

		if (x->number == key->number && x->stage == key->stage && x->sql == key->sql &&
			x->app == key->app)
			return x;
	}
	return NULL;
}

static struct pipeline *find_or_add(struct sp_operators *o, const struct pipeline *key)
{
	struct pipeline *x = find_pipeline(o, key);

	if (x)
		return x;
	if (sp_grow(&o->list, &o->cap, o->count, sizeof(*o->list), 64) < 0)
		return NULL;
	o->list[o->count] = *key;
	return &o->list[o->count++];
}

/* Puts an operator behind @at, which calls it; *at moves on. Known ones stay where they are. */
static void add_operator(struct pipeline *x, uint8_t op, unsigned *at)
{
	for (unsigned i = 0; i < x->count; i++)
		if (strcmp(prefixes[x->operators[i]].operator, prefixes[op].operator) == 0) {
			*at = i + 1;
			return;
		}
	if (x->count == MOST)
		return;
	memmove(x->operators + *at + 1, x->operators + *at, x->count - *at);
	x->operators[(*at)++] = op;
	x->count++;
}

/* Callers come first: what reads a row from another operator calls it. */
static int gather(struct sp_operators *o, const struct sp_sample *row)
{
	const struct sp_stack *s = sp_dict_get_stack(o->p->dict, row->stack);
	struct pipeline *x = NULL;
	unsigned at = 0;

	for (uint32_t i = s ? s->count : 0; i-- > 0;) {
		const struct said *m = said_by_frame(o, &s->frames[i]);
		struct pipeline key;

		if (!m->number)
			continue;
		if (!x || x->number != m->number) {
			key = key_of(o, row, m->number);
			x = find_or_add(o, &key);
			at = 0;
		}
		if (!x)
			return -ENOMEM;
		if (m->prefix >= 0)
			add_operator(x, (uint8_t)m->prefix, &at);
	}
	return 0;
}

int sp_operators_new(struct sp_operators **ret, const struct sp_profile *p)
{
	struct sp_operators *o = calloc(1, sizeof(*o));
	int r = o ? 0 : -ENOMEM;

	if (o) {
		o->p = p;
		o->methods = calloc(sp_dict_methods(p->dict) + 1ul, sizeof(*o->methods));
		r = o->methods ? 0 : -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < p->row_count; i++)
		r = gather(o, &p->rows[i]);
	if (r < 0) {
		sp_operators_free(o);
		return r;
	}
	*ret = o;
	return 0;
}

void sp_operators_free(struct sp_operators *o)
{
	if (!o)
		return;
	free(o->methods);
	free(o->list);
	free(o);
}

/* What the driver's plan says of that number. @text: see plan_shape.h. */
static bool name_planned(const char *text, uint32_t number, struct sp_buf *out)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line != 0) {
		char *end;

		if (strtoul(line, &end, 10) != number || *end != ' ' || end[1] == '\n')
			continue;
		sp_buf_addf(out, "%.*s (codegen %u)", (int)strcspn(end + 1, "\n"), end + 1, number);
		return true;
	}
	return false;
}

static void name_pipeline(const struct sp_operators *o, const struct sp_sample *row,
	uint32_t number, struct sp_buf *out)
{
	struct pipeline key = key_of(o, row, number);
	const struct pipeline *x = find_pipeline(o, &key);
	const struct sp_stage *about = sp_profile_find_stage(o->p, key.app, key.stage, -1);

	if (about && about->pipelines &&
		name_planned(sp_dict_get_string(o->p->dict, about->pipelines, NULL), number, out))
		return;

	for (unsigned i = 0; x && i < x->count; i++)
		sp_buf_addf(out, "%s ← ", prefixes[x->operators[i]].operator);
	sp_buf_addf(out, x && x->count ? "… (codegen %u)" : "codegen %u", number);
}

bool sp_operators_name(
	const struct sp_operators *o, const struct sp_sample *row, struct sp_buf *out)
{
	const struct sp_stack *s = sp_dict_get_stack(o->p->dict, row->stack);

	for (uint32_t i = 0; s && i < s->count; i++) {
		const struct said *m = said_by_frame(o, &s->frames[i]);

		if (m->number && m->own)
			sp_buf_adds(out, prefixes[m->prefix].operator);
		else if (m->number)
			name_pipeline(o, row, m->number, out);
		else if (m->python)
			sp_buf_adds(out, "Python UDF");
		else if (m->helper)
			sp_buf_adds(out, helpers[m->helper - 1].operator);
		else if (m->len)
			sp_buf_add(out,
				sp_dict_get_string(o->p->dict,
					sp_dict_get_method(o->p->dict, s->frames[i].method)
						->class_id,
					NULL) +
					m->from,
				m->len);
		else
			continue;
		return true;
	}
	return false;
}

void sp_operators_label(
	const struct sp_operators *o, const struct sp_sample *row, struct sp_buf *out)
{
	sp_buf_addc(out, '[');
	if (!sp_operators_name(o, row, out))
		sp_buf_adds(out, "no operator");
	sp_buf_addc(out, ']');
}
