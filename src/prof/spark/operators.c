/* See operators.h. */
#include "prof/spark/operators.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
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

/* "org/apache/spark/sql/execution/joins/SortMergeJoinExec$$anon$1": SortMergeJoin. */
static void look_operator(struct said *m, const char *cls)
{
	static const char package[] = "org/apache/spark/sql/execution/";
	const char *simple, *end;
	size_t len;

	m->python = strstr(cls, "PythonRunner") != NULL ||
		    strncmp(cls, "org/apache/spark/sql/execution/python/", 38) == 0;
	if (m->python || strncmp(cls, package, strlen(package)) != 0)
		return;
	simple = strrchr(cls, '/') + 1;
	len = strcspn(simple, "$");
	end = simple + len;
	if (len <= 4 || len > 200 || memcmp(end - 4, "Exec", 4) != 0 ||
		memcmp(simple, "WholeStageCodegen", 17 < len ? 17 : len) == 0)
		return;
	m->from = (uint16_t)(simple - cls);
	m->len = (uint16_t)(len - 4);
}

static const struct said *say(const struct sp_operators *o, const struct sp_frame_ref *f)
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

static struct pipeline *find(const struct sp_operators *o, const struct pipeline *key)
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
	struct pipeline *x = find(o, key);

	if (x)
		return x;
	if (o->count == o->cap) {
		size_t cap = o->cap ? o->cap * 2 : 64;
		void *to = reallocarray(o->list, cap, sizeof(*o->list));

		if (!to)
			return NULL;
		o->list = to;
		o->cap = cap;
	}
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
		const struct said *m = say(o, &s->frames[i]);
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

static void name_pipeline(const struct sp_operators *o, const struct sp_sample *row,
	uint32_t number, struct sp_buf *out)
{
	struct pipeline key = key_of(o, row, number);
	const struct pipeline *x = find(o, &key);

	for (unsigned i = 0; x && i < x->count; i++)
		sp_buf_addf(out, "%s ← ", prefixes[x->operators[i]].operator);
	sp_buf_addf(out, x && x->count ? "… (codegen %u)" : "codegen %u", number);
}

bool sp_operators_name(
	const struct sp_operators *o, const struct sp_sample *row, struct sp_buf *out)
{
	const struct sp_stack *s = sp_dict_get_stack(o->p->dict, row->stack);

	for (uint32_t i = 0; s && i < s->count; i++) {
		const struct said *m = say(o, &s->frames[i]);

		if (m->number && m->own)
			sp_buf_adds(out, prefixes[m->prefix].operator);
		else if (m->number)
			name_pipeline(o, row, m->number, out);
		else if (m->python)
			sp_buf_adds(out, "Python UDF");
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
