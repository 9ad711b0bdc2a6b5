/* Rules that name a method: who waits for a lock, which function of Python, Java or Scala Spark's
 * tasks call, and wait in. Their lines are in the table of finding_rules.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "out/finding_rules.h"
#include "out/number.h"
#include "prof/model/frame_name.h"
#include "prof/model/tasks.h"

/* The frame of a stack that a rule names; NULL: none. */
typedef const struct sp_frame_ref *pick_fn(struct sp_facts *f, const struct sp_stack *s);

/* Who waits: the nearest method to the leaf that does work of its own. */
static const struct sp_frame_ref *pick_owner(struct sp_facts *f, const struct sp_stack *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->frames[i].type < SP_FRAME_NATIVE &&
			sp_area_of_ref(f->areas, f->p->dict, &s->frames[i]) >= 0)
			return &s->frames[i];
	return NULL;
}

static const char *python_file(const struct sp_facts *f, const struct sp_frame_ref *frame)
{
	const struct sp_method *m = sp_dict_get_method(f->p->dict, frame->method);

	return m ? sp_dict_get_string(f->p->dict, m->class_id, NULL) : "";
}

static bool is_import(const char *file)
{
	return strncmp(file, "importlib/", 10) == 0 ||
	       strncmp(file, "<frozen importlib", 17) == 0 ||
	       strncmp(file, "<frozen zipimport", 17) == 0;
}

/* What PySpark's own code calls first: the user's function, or the import of a module, which may
 * come back to PySpark's; NULL: nothing. */
static const struct sp_frame_ref *pick_by_pyspark(struct sp_facts *f, const struct sp_stack *s)
{
	bool within = false;

	for (uint32_t i = s->count; i-- > 0;) {
		bool own;

		if (s->frames[i].type != SP_FRAME_PYTHON)
			continue;
		own = strncmp(python_file(f, &s->frames[i]), "pyspark/", 8) == 0;
		if (within && !own)
			return &s->frames[i];
		within |= own;
	}
	return NULL;
}

static const struct sp_frame_ref *pick_udf(struct sp_facts *f, const struct sp_stack *s)
{
	const struct sp_frame_ref *called = pick_by_pyspark(f, s);

	return called && !is_import(python_file(f, called)) ? called : NULL;
}

/* What a worker does before it calls anything of the user's. */
static const struct sp_frame_ref *pick_import(struct sp_facts *f, const struct sp_stack *s)
{
	const struct sp_frame_ref *called = pick_by_pyspark(f, s);

	return called && is_import(python_file(f, called)) ? called : NULL;
}

static bool in_python(const struct sp_stack *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->frames[i].type == SP_FRAME_PYTHON)
			return true;
	return false;
}

static bool is_in(struct sp_facts *f, const struct sp_frame_ref *frame, const char *name)
{
	int area = sp_area_of_ref(f->areas, f->p->dict, frame);

	return area >= 0 && strcmp(sp_areas_get(f->areas, (unsigned)area)->name, name) == 0;
}

/* Whether @outer is javac's call(Object), which only calls call(Long). */
static bool is_bridge(
	const struct sp_facts *f, const struct sp_frame_ref *inner, const struct sp_method *outer)
{
	const struct sp_method *m = sp_dict_get_method(f->p->dict, inner->method);

	return m && outer && m->class_id == outer->class_id && m->name_id == outer->name_id;
}

/* The application's function that Spark calls, while no Spark runs inside of it: one that takes
 * rows from Spark would have the time of all that is below. Else, with @library, the method of one
 * of its libraries. *ret_sql: whether Spark SQL calls it. */
static const struct sp_frame_ref *find_called(
	struct sp_facts *f, const struct sp_stack *s, bool library, bool *ret_sql)
{
	const struct sp_frame_ref *called = NULL, *foreign = NULL;

	*ret_sql = false;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct sp_method *m = sp_dict_get_method(f->p->dict, s->frames[i].method);
		const char *cls = m ? sp_dict_get_string(f->p->dict, m->class_id, NULL) : "";

		if (s->frames[i].type == SP_FRAME_PYTHON)
			return NULL;
		if (s->frames[i].type >= SP_FRAME_NATIVE)
			continue;
		*ret_sql = strncmp(cls, "org/apache/spark/sql/", 21) == 0;
		if (strncmp(cls, "org/apache/spark/", 17) == 0)
			break;
		if (is_in(f, &s->frames[i], "your code") &&
			(!called || (!strstr(cls, "$$Lambda") && !is_bridge(f, called, m))))
			called = &s->frames[i];
		if (library && is_in(f, &s->frames[i], "your libraries"))
			foreign = &s->frames[i];
	}
	return called ? called : foreign;
}

static const struct sp_frame_ref *pick_called(struct sp_facts *f, const struct sp_stack *s)
{
	bool sql;
	const struct sp_frame_ref *called = find_called(f, s, false, &sql);

	return sql ? called : NULL;
}

/* Who waits, of the application. */
static const struct sp_frame_ref *pick_waiting(struct sp_facts *f, const struct sp_stack *s)
{
	bool sql;

	return find_called(f, s, true, &sql);
}

/* The nearest method to the leaf that is the application's. */
static const struct sp_frame_ref *pick_waiting_leaf(struct sp_facts *f, const struct sp_stack *s)
{
	for (uint32_t i = 0; pick_waiting(f, s) && i < s->count; i++)
		if (s->frames[i].type < SP_FRAME_NATIVE &&
			(is_in(f, &s->frames[i], "your code") ||
				is_in(f, &s->frames[i], "your libraries")))
			return &s->frames[i];
	return NULL;
}

/* Weights of picked methods, and the line where each was found last. */
struct picks {
	uint64_t *weights; /* owned: by method */
	int32_t *lines;	   /* owned */
	uint64_t *line_weights;
	uint32_t best;
};

static void picks_done(struct picks *k)
{
	free(k->weights);
	free(k->lines);
	free(k->line_weights);
}

/* The line that leads stays: one that has more than all others together cannot be missed. */
static void add_pick(struct picks *k, const struct sp_frame_ref *frame, uint64_t weight)
{
	uint32_t m = frame->method;

	k->weights[m] += weight;
	if (k->lines[m] == frame->line) {
		k->line_weights[m] += weight;
	} else if (k->line_weights[m] > weight) {
		k->line_weights[m] -= weight;
	} else {
		k->lines[m] = frame->line;
		k->line_weights[m] = weight - k->line_weights[m];
	}
	if (!k->best || k->weights[m] > k->weights[k->best])
		k->best = m;
}

/* Getting a monitor, also between two waits for it. */
static bool is_locking(const struct sp_facts *f, const struct sp_stack *s)
{
	for (uint32_t i = 0; i < s->count && s->frames[i].type >= SP_FRAME_NATIVE; i++) {
		const struct sp_method *m = sp_dict_get_method(f->p->dict, s->frames[i].method);
		const char *name = m ? sp_dict_get_string(f->p->dict, m->name_id, NULL) : "";

		if (strstr(name, "ObjectMonitor::") || strstr(name, "monitor_locking"))
			return true;
	}
	return false;
}

/* Whether a row is what a rule is about. A worker of Python, or a function, that is ready to run
 * and has no core computes too, only later. */
static bool counts(struct sp_facts *f, const struct sp_finding_rule *rule,
	struct sp_time_class_of *of, const struct sp_sample *row, const struct sp_stack *s)
{
	enum sp_time_class spent = sp_time_class_of_row(of, row);
	bool core = spent == SP_TIME_CLASS_CORE, blocks = sp_time_class_blocks(of, row->stack);

	switch (rule->spent) {
	case SP_TIME_CLASS_WORKER:
		return spent == SP_TIME_CLASS_WORKER || spent == SP_TIME_CLASS_WORKER_SERIAL ||
		       (core && in_python(s));
	case SP_TIME_CLASS_CPU:
		return (spent == SP_TIME_CLASS_CPU || (core && !blocks)) && !is_locking(f, s) &&
		       pick_called(f, s);
	case SP_TIME_CLASS_NETWORK:
		return (spent == SP_TIME_CLASS_NETWORK || spent == SP_TIME_CLASS_SLEEP ||
			       spent == SP_TIME_CLASS_CHILD ||
			       (core && blocks && !is_locking(f, s))) &&
		       pick_waiting(f, s);
	case SP_TIME_CLASS_LOCK:
		return spent == SP_TIME_CLASS_LOCK || spent == SP_TIME_CLASS_SPIN ||
		       (core && is_locking(f, s));
	default:
		return spent == rule->spent && !sp_finding_is_pipe(f, s);
	}
}

/* Whether a stage is one of those that the finding is about. */
static bool is_said_of(
	const struct sp_facts *f, const struct sp_finding_rule *rule, const struct sp_stage_row *r)
{
	return (double)f->kept[r - f->stages.rows] >= rule->share * (double)r->weight;
}

static bool is_said(
	const struct sp_facts *f, const struct sp_finding_rule *rule, const struct sp_task_run *t)
{
	const struct sp_stage_row *r = sp_finding_stage_of(f, t);

	return r && is_said_of(f, rule, r);
}

static int pick_all(
	struct sp_facts *f, const struct sp_finding_rule *rule, pick_fn *pick, struct picks *k)
{
	SP_AUTO_TIME_CLASS struct sp_time_class_of *spent = NULL;
	size_t n = sp_dict_methods(f->p->dict) + 1ul;

	k->weights = calloc(n, sizeof(*k->weights));
	k->lines = calloc(n, sizeof(*k->lines));
	k->line_weights = calloc(n, sizeof(*k->line_weights));
	if (!k->weights || !k->lines || !k->line_weights || sp_time_class_new(&spent, f->p) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < f->p->row_count; i++) {
		const struct sp_sample *row = &f->p->rows[i];
		const struct sp_task_run *t = sp_profile_task(f->p, row);
		const struct sp_frame_ref *frame;
		const struct sp_stack *s;

		if (row->event != f->event || !t || t->name.stage < 0)
			continue;
		s = sp_dict_get_stack(f->p->dict, row->stack);
		if (!s || !counts(f, rule, spent, row, s) || !is_said(f, rule, t))
			continue;
		frame = pick(f, s);
		if (frame && frame->method)
			add_pick(k, frame, row->weight);
	}
	return 0;
}

/* ". com.acme.Cache.get has 80 % of it, most of that at line 12"; nothing where no method has half,
 * or where it is the one that was @said. Returns the method, 0: none. */
static uint32_t say_frame(struct sp_facts *f, const struct sp_finding_rule *rule, pick_fn *pick,
	const char *before, uint32_t said, struct sp_finding *x)
{
	static const struct sp_style style = {.dotted = true, .stable = true};
	__attribute__((cleanup(picks_done))) struct picks k = {0};
	struct sp_frame_ref frame;

	if (pick_all(f, rule, pick, &k) < 0) {
		f->error = -ENOMEM;
		return 0;
	}
	if (!k.best || k.best == said || k.weights[k.best] * 2 < x->time_ns)
		return 0;
	frame = (struct sp_frame_ref){k.best, k.lines[k.best], -1,
		sp_dict_get_method(f->p->dict, k.best)->native ? SP_FRAME_PYTHON : SP_FRAME_C2};
	sp_buf_adds(&x->says, before);
	sp_frame_name(f->p->dict, &frame, &style, &x->says);
	sp_buf_addf(&x->says, " has %.0f %% of it", sp_percent(k.weights[k.best], x->time_ns));
	/* votes for the line are 20 % ahead: it has 60 % or more */
	if (frame.line > 0 && k.line_weights[k.best] * 5 >= k.weights[k.best])
		sp_buf_addf(&x->says, ", most of that at line %d", frame.line);
	return k.best;
}

/* Which of many has more than all others together, by one pass. */
struct votes {
	uint32_t id;
	uint64_t ahead, all;
};

static void vote(struct votes *v, uint32_t id, uint64_t weight)
{
	v->all += weight;
	if (v->id == id) {
		v->ahead += weight;
	} else if (v->ahead > weight) {
		v->ahead -= weight;
	} else {
		v->id = id;
		v->ahead = weight - v->ahead;
	}
}

/* Ahead by a fifth: it has six tenths or more. */
static bool leads(const struct votes *v)
{
	return v->id && v->ahead * 5 >= v->all;
}

/* What lock events of tasks, recorded beside, say most: the monitor's class, and who held it. */
static void say_monitor(struct sp_facts *f, struct sp_finding *x)
{
	static const struct sp_style style = {.dotted = true, .stable = true};
	struct votes classes = {0}, holders = {0};
	SP_AUTO_BUF struct sp_buf name = {0};

	for (size_t i = 0; i < f->p->row_count; i++) {
		const struct sp_sample *row = &f->p->rows[i];
		const struct sp_stack *s = sp_dict_get_stack(f->p->dict, row->stack);

		if (strcmp(sp_profile_event_name(f->p, row->event), "lock") != 0 ||
			!sp_profile_task(f->p, row) || !s || !s->count)
			continue;
		vote(&classes, s->frames[0].method, row->weight);
		if (row->holder)
			vote(&holders, row->holder, row->weight);
	}
	if (!leads(&classes))
		return;
	sp_frame_name(
		f->p->dict, &(struct sp_frame_ref){classes.id, -1, -1, SP_FRAME_C2}, &style, &name);
	sp_buf_addf(&x->says, ". The lock is a %s", sp_buf_str(&name));
	if (leads(&holders))
		sp_buf_addf(
			&x->says, ", held by %s", sp_dict_get_string(f->p->dict, holders.id, NULL));
}

/* Where a worker is: the function itself, or one that it calls. */
static const struct sp_frame_ref *pick_python_leaf(struct sp_facts *f, const struct sp_stack *s)
{
	if (!pick_udf(f, s))
		return NULL;
	for (uint32_t i = 0; i < s->count; i++)
		if (s->frames[i].type == SP_FRAME_PYTHON)
			return &s->frames[i];
	return NULL;
}

static const struct sp_frame_ref *pick_java_leaf(struct sp_facts *f, const struct sp_stack *s)
{
	for (uint32_t i = 0; pick_called(f, s) && i < s->count; i++)
		if (s->frames[i].type < SP_FRAME_NATIVE)
			return &s->frames[i];
	return NULL;
}

/* Sums into f->amounts, and what of it had no core into @core, by row of stages. */
static int sum_rows(struct sp_facts *f, const struct sp_finding_rule *rule, uint64_t *core)
{
	SP_AUTO_TIME_CLASS struct sp_time_class_of *spent = NULL;

	if (sp_time_class_new(&spent, f->p) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < f->p->row_count; i++) {
		const struct sp_sample *row = &f->p->rows[i];
		const struct sp_task_run *t = sp_profile_task(f->p, row);
		const struct sp_stack *s = sp_dict_get_stack(f->p->dict, row->stack);
		const struct sp_stage_row *r;

		if (row->event != f->event || !t || t->name.stage < 0 || !s)
			continue;
		r = counts(f, rule, spent, row, s) ? sp_finding_stage_of(f, t) : NULL;
		if (!r)
			continue;
		f->amounts[r - f->stages.rows] += row->weight;
		if (sp_time_class_of_row(spent, row) == SP_TIME_CLASS_CORE)
			core[r - f->stages.rows] += row->weight;
	}
	return 0;
}

static struct sp_finding *find(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	SP_AUTO_FREE uint64_t *core = calloc(f->stages.count + 1, sizeof(*core));
	struct sp_finding *x = NULL;
	uint64_t without = 0;

	free(f->kept);
	f->kept = f->amounts = calloc(f->stages.count + 1, sizeof(*f->kept));
	f->error = !f->kept || !core ? -ENOMEM : sum_rows(f, rule, core);
	if (f->error == 0)
		x = sp_finding_sum(f, rule, sp_finding_of_amounts);
	f->amounts = NULL;
	for (size_t i = 0; x && i < f->stages.count; i++)
		without += is_said_of(f, rule, &f->stages.rows[i]) ? core[i] : 0;
	if (x && without * 10 >= x->time_ns)
		sp_buf_addf(&x->says, "; for %.0f %% of it they had no core",
			sp_percent(without, x->time_ns));
	return x;
}

void sp_finding_lock(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	struct sp_finding *x = f->stages.waiting ? find(f, rule) : NULL;

	if (!x)
		return;
	say_frame(f, rule, pick_owner, ". ", 0, x);
	if (rule->spent == SP_TIME_CLASS_LOCK)
		say_monitor(f, x);
	sp_finding_next(x, rule);
}

static void say_function(struct sp_facts *f, const struct sp_finding_rule *rule, pick_fn *pick,
	pick_fn *leaf, const char *before, struct sp_finding *x)
{
	uint32_t function = say_frame(f, rule, pick, before, 0, x);

	if (function)
		say_frame(f, rule, leaf, ". In there ", function, x);
	sp_finding_next(x, rule);
}

/* Workers that have just been started import before they call the user's function. */
void sp_finding_python(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	struct sp_finding *x = find(f, rule);
	__attribute__((cleanup(picks_done))) struct picks k = {0};
	uint64_t imports = 0;

	if (!x)
		return;
	if (pick_all(f, rule, pick_import, &k) < 0)
		f->error = -ENOMEM;
	for (uint32_t m = 0; !f->error && m <= sp_dict_methods(f->p->dict); m++)
		imports += k.weights[m];
	if (imports * 10 >= x->time_ns)
		sp_buf_addf(&x->says,
			". For %.0f %% of it they import modules, before they call a function",
			sp_percent(imports, x->time_ns));
	if (imports * 2 < x->time_ns) {
		uint64_t whole = x->time_ns;

		x->time_ns -= imports; /* of these, functions have shares */
		say_function(f, rule, pick_udf, pick_python_leaf,
			imports * 10 >= whole ? ". Of the rest, the function " : ". The function ",
			x);
		x->time_ns = whole;
		return;
	}
	x->advice = "keep workers from one task to the next (spark.python.worker.reuse), import "
		    "less at the top of modules, and prefer few long tasks to many short ones";
	sp_finding_next(x, rule);
}

void sp_finding_called(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	struct sp_finding *x = find(f, rule);

	if (x)
		say_function(f, rule, pick_called, pick_java_leaf, ". The function ", x);
}

void sp_finding_blocked(struct sp_facts *f, const struct sp_finding_rule *rule)
{
	struct sp_finding *x = f->stages.waiting ? find(f, rule) : NULL;

	if (x)
		say_function(f, rule, pick_waiting, pick_waiting_leaf, ". The method ", x);
}
