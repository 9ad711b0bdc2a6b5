/* The stages of one run: see run_stages.h. */
#include "prof/spark/run_stages.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/hash.h"
#include "prof/model/short_name.h"
#include "prof/model/tasks.h"
#include "prof/spark/loose_words.h"

/* Frames that nearly all samples have say nothing. */
static const float common = 0.8f;

unsigned sp_run_codegen_number(const char *name, size_t len, size_t *ret_start, size_t *ret_end)
{
	static const char word[] = "GeneratedIteratorForCodegenStage";
	const char *at = memmem(name, len, word, strlen(word));
	size_t i = at ? (size_t)(at - name) + strlen(word) : len;
	unsigned number = 0;

	if (!at)
		return 0;
	for (; i < len && isdigit((unsigned char)name[i]) && number < 100000000; i++)
		number = number * 10 + (unsigned)(name[i] - '0');
	*ret_start = (size_t)(at - name);
	*ret_end = i;
	return number;
}

double sp_run_alike(const float *a, const float *b, size_t dims)
{
	double ab = 0, aa = 0, bb = 0;

	for (size_t i = 0; i < dims; i++) {
		ab += (double)a[i] * (double)b[i];
		aa += (double)a[i] * (double)a[i];
		bb += (double)b[i] * (double)b[i];
	}
	return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0.5;
}

static char *loose_of(const char *title)
{
	SP_AUTO_BUF struct sp_buf b = {0};

	sp_loose_words(title, &b);
	return b.failed ? NULL : strdup(sp_buf_str(&b));
}

enum { TITLE_GROUP = 3, TITLES };

static void titles_of(const struct sp_profile *p, const struct sp_stage *a, const char *ret[TITLES])
{
	ret[0] = sp_dict_get_string(p->dict, a ? a->description : 0, NULL);
	ret[1] = sp_dict_get_string(p->dict, a ? a->name : 0, NULL);
	ret[2] = sp_dict_get_string(p->dict, a ? a->call_site : 0, NULL);
	ret[TITLE_GROUP] = sp_dict_get_string(p->dict, a ? a->group : 0, NULL);
}

static char *title_of(const struct sp_profile *p, const struct sp_stage *a)
{
	SP_AUTO_BUF struct sp_buf b = {0};
	const char *words[TITLES];

	titles_of(p, a, words);
	for (size_t i = 0; i < TITLES; i++)
		/* Spark makes a description of the call site where there is none. */
		if (*words[i] && !(b.len && strstr(sp_buf_str(&b), words[i])))
			sp_buf_addf(&b, "%s%s", b.len ? "; " : "", words[i]);
	return b.failed ? NULL : strdup(sp_buf_str(&b));
}

/* How much words say: who called, that Python did, or that a thread of Spark's did. */
static unsigned worth_of(const char *words)
{
	if (!*words)
		return 0;
	return sp_words_of_pool(words) ? 1 : sp_words_from_python(words) ? 2 : 3;
}

char *sp_run_title(const struct sp_profile *p, const struct sp_stage *a)
{
	SP_AUTO_BUF struct sp_buf b = {0}, one = {0};
	const char *words[TITLES];
	unsigned best = 0;

	titles_of(p, a, words);
	for (size_t i = 0; i < TITLE_GROUP; i++)
		best = worth_of(words[i]) > best ? worth_of(words[i]) : best;
	if (best <= 1 && a && a->sql >= 0)
		sp_buf_addf(&b, "SQL %" PRId64, a->sql);
	for (size_t i = 0; i < TITLES; i++) {
		if (i < TITLE_GROUP && (worth_of(words[i]) < best || (best <= 1 && b.len)))
			continue;
		sp_buf_clear(&one);
		sp_short_words(words[i], &one);
		if (one.len && !(b.len && strstr(sp_buf_str(&b), sp_buf_str(&one))))
			sp_buf_addf(&b, "%s%s", b.len ? "; " : "", sp_buf_str(&one));
	}
	return b.failed || one.failed ? NULL : strdup(sp_buf_str(&b));
}

static struct sp_run_row *row_of(struct sp_run_stages *s, const struct sp_task_run *t)
{
	struct sp_run_row *r;

	for (uint32_t i = s->count; i-- > 0;) {
		r = &s->rows[i];
		if (r->stage == t->name.stage && r->attempt == t->name.stage_attempt &&
			r->app == t->app)
			return r;
	}
	if (sp_grow_one(&s->rows, s->count, sizeof(*s->rows)) < 0)
		return NULL;
	r = &s->rows[s->count++];
	*r = (struct sp_run_row){
		.app = t->app, .stage = t->name.stage, .attempt = t->name.stage_attempt};
	r->about = sp_profile_find_stage(s->p, t->app, t->name.stage, t->name.stage_attempt);
	r->title = title_of(s->p, r->about);
	r->loose = r->title ? loose_of(r->title) : NULL;
	return r->loose ? r : NULL;
}

static int list_stages(struct sp_run_stages *s)
{
	for (size_t i = 0; i < s->p->task_count; i++) {
		const struct sp_task_run *t = &s->p->tasks[i];
		struct sp_run_row *r;

		if (t->name.stage < 0)
			continue;
		r = row_of(s, t);
		if (!r)
			return -ENOMEM;
		r->tasks += !t->helper && t->start_ns;
		if (t->start_ns && (!r->start_ns || t->start_ns < r->start_ns))
			r->start_ns = t->start_ns;
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct sp_run_row *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->stage != y->stage)
		return x->stage < y->stage ? -1 : 1;
	return x->attempt < y->attempt ? -1 : x->attempt > y->attempt;
}

/* Of the JDK, Scala and compilers: any stage may need them, the first one more than the next. */
static bool is_anybodys(const char *cls)
{
	static const char *const starts[] = {"java/", "javax/", "jdk/", "sun/", "scala/",
		"org/codehaus/", "org/apache/spark/sql/catalyst/expressions/codegen/",
		"org/apache/spark/executor/", "org/apache/spark/scheduler/",
		"org/apache/spark/serializer/"};

	for (size_t i = 0; i < SP_COUNT(starts); i++)
		if (strncmp(cls, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

/* The place of a method, whatever numbers its class has in this JVM; -1: it does not separate one
 * stage from another. */
static int16_t place_of(const struct sp_dict *d, uint32_t method)
{
	const struct sp_method *m = sp_dict_get_method(d, method);
	size_t cls_len, name_len, start, end;
	const char *cls, *name;
	uint64_t h;

	if (!m || !m->name_id || m->native == 1 || m->native == SP_NATIVE_FINAL)
		return -1;
	cls = sp_dict_get_string(d, m->class_id, &cls_len);
	name = sp_dict_get_string(d, m->name_id, &name_len);
	if (is_anybodys(cls))
		return -1;
	cls_len = sp_short_name_stable(cls, cls_len);
	h = sp_hash_bytes(name, name_len);
	if (sp_run_codegen_number(cls, cls_len, &start, &end))
		h ^= sp_hash_bytes(cls + end, cls_len - end);
	else
		h ^= sp_hash_bytes(cls, cls_len) * 3;
	return (int16_t)((h ^ h >> 32) % SP_RUN_DIMS);
}

static void add_stack(float *did, const struct sp_stack *st, const int16_t *places, float weight)
{
	uint64_t seen[SP_RUN_DIMS / 64] = {0};

	for (uint32_t i = 0; st && i < st->count; i++) {
		int16_t at = places[st->frames[i].method];

		if (at < 0 || (seen[at / 64] & 1ull << at % 64))
			continue;
		seen[at / 64] |= 1ull << at % 64;
		did[at] += weight;
	}
}

/* Whether every stage has that place in most of its samples. */
static bool is_common(const struct sp_run_stages *s, size_t place)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->rows[i].did[place] < common * (float)s->rows[i].samples)
			return false;
	return s->count > 1;
}

/* What is done at all counts, and how much of it less. */
static void leave_common(struct sp_run_stages *s)
{
	for (size_t k = 0; k < SP_RUN_DIMS; k++) {
		bool all = is_common(s, k);

		for (uint32_t i = 0; i < s->count; i++)
			s->rows[i].did[k] = all ? 0 : sqrtf(s->rows[i].did[k]);
	}
}

static int sum_samples(struct sp_run_stages *s)
{
	const struct sp_profile *p = s->p;
	size_t methods = sp_dict_methods(p->dict) + 1ul;
	SP_AUTO_FREE int16_t *places = malloc(methods * sizeof(*places));

	if (!places)
		return -ENOMEM;
	for (uint32_t i = 0; i < methods; i++)
		places[i] = place_of(p->dict, i);
	for (size_t i = 0; i < p->row_count; i++) {
		const struct sp_sample *x = &p->rows[i];
		uint32_t stage = sp_run_stage_of(s, x);

		if (stage == s->count)
			continue;
		s->rows[stage].samples += x->count;
		add_stack(s->rows[stage].did, sp_dict_get_stack(p->dict, x->stack), places,
			(float)x->count);
	}
	leave_common(s);
	return 0;
}

int sp_run_stages_init(struct sp_run_stages *s, struct sp_profile *p)
{
	int r;

	*s = (struct sp_run_stages){.p = p};
	s->of_task = calloc(p->task_count + 1, sizeof(*s->of_task));
	r = s->of_task ? list_stages(s) : -ENOMEM;
	if (r < 0)
		return r;
	if (s->count)
		qsort(s->rows, s->count, sizeof(*s->rows), by_start);
	for (size_t i = 0; i < p->task_count; i++)
		if (p->tasks[i].name.stage >= 0)
			s->of_task[i] = (uint32_t)(row_of(s, &p->tasks[i]) - s->rows) + 1;
	return sum_samples(s);
}

void sp_run_stages_done(struct sp_run_stages *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		free(s->rows[i].title);
		free(s->rows[i].loose);
	}
	free(s->rows);
	free(s->of_task);
}
