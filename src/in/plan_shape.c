/* See plan_shape.h. */
#include "in/plan_shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "prof/spark/loose_words.h"

enum { DEEPEST = 200, MOST_RDDS = 256 };

static void add_node(struct sp_json_reader node, unsigned depth, struct sp_buf *out)
{
	struct sp_json_reader children = sp_json_reader_get(node, "children"), child;
	SP_AUTO_FREE char *name = sp_json_reader_text(sp_json_reader_get(node, "nodeName"));
	SP_AUTO_FREE char *words = sp_json_reader_text(sp_json_reader_get(node, "simpleString"));
	size_t at = 0;

	if (depth == DEEPEST)
		return;
	if (name)
		sp_loose_words(name, out); /* "WholeStageCodegen (3)" */
	sp_buf_addc(out, ' ');
	if (words)
		sp_loose_words(words, out);
	sp_buf_addc(out, '(');
	while ((child = sp_json_reader_next(children, &at)).p)
		add_node(child, depth + 1, out);
	sp_buf_addc(out, ')');
}

char *sp_plan_shape(struct sp_json_reader plan)
{
	SP_AUTO_BUF struct sp_buf b = {0};
	char *shape;

	if (!plan.p)
		return NULL;
	add_node(plan, 0, &b);
	if (b.failed || asprintf(&shape, "%016llx",
				(unsigned long long)sp_hash_bytes(sp_buf_str(&b), b.len)) < 0)
		return NULL;
	return shape;
}

enum { MOST_PIPELINES = 256 };

struct pipelines {
	struct sp_buf text[MOST_PIPELINES]; /* by number */
	bool twice[MOST_PIPELINES];
};

/* Operators below "WholeStageCodegen (5)", as far as they are fused into it. */
static void add_fused(struct sp_json_reader node, unsigned depth, struct sp_buf *out)
{
	struct sp_json_reader children = sp_json_reader_get(node, "children"), child;
	SP_AUTO_FREE char *name = sp_json_reader_text(sp_json_reader_get(node, "nodeName"));
	size_t at = 0;

	if (depth == DEEPEST || !name || strcmp(name, "InputAdapter") == 0)
		return;
	/* "Scan parquet default.sales" */
	sp_buf_addf(out, "%s%.*s", out->len ? " ← " : "", (int)strcspn(name, " \n"), name);
	while ((child = sp_json_reader_next(children, &at)).p)
		add_fused(child, depth + 1, out);
}

static void find_pipelines(struct sp_json_reader node, unsigned depth, struct pipelines *p)
{
	static const char mark[] = "WholeStageCodegen (";
	struct sp_json_reader children = sp_json_reader_get(node, "children"), child;
	SP_AUTO_FREE char *name = sp_json_reader_text(sp_json_reader_get(node, "nodeName"));
	unsigned long number = 0;
	size_t at = 0;

	if (depth == DEEPEST)
		return;
	if (name && strncmp(name, mark, strlen(mark)) == 0)
		number = strtoul(name + strlen(mark), NULL, 10);
	if (number >= MOST_PIPELINES)
		number = 0;
	while ((child = sp_json_reader_next(children, &at)).p) {
		SP_AUTO_BUF struct sp_buf fused = {0};

		if (number) {
			add_fused(child, depth, &fused);
			p->twice[number] |=
				p->text[number].len &&
				strcmp(sp_buf_str(&fused), sp_buf_str(&p->text[number])) != 0;
			if (!p->text[number].len)
				sp_buf_adds(&p->text[number], sp_buf_str(&fused));
		}
		find_pipelines(child, depth + 1, p);
	}
}

char *sp_plan_pipelines(struct sp_json_reader plan)
{
	SP_AUTO_FREE struct pipelines *p = calloc(1, sizeof(*p));
	SP_AUTO_BUF struct sp_buf b = {0};

	if (!p || !plan.p)
		return NULL;
	find_pipelines(plan, 0, p);
	for (unsigned i = 1; i < MOST_PIPELINES; i++) {
		if (p->text[i].len)
			sp_buf_addf(&b, "%u %s\n", i, p->twice[i] ? "" : sp_buf_str(&p->text[i]));
		sp_buf_done(&p->text[i]);
	}
	return b.len && !b.failed ? strdup(sp_buf_str(&b)) : NULL;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The operator that made an RDD: its scope, a text that is JSON itself. */
static char *operator_of(struct sp_json_reader rdd)
{
	SP_AUTO_FREE char *scope = sp_json_reader_text(sp_json_reader_get(rdd, "Scope"));
	SP_AUTO_BUF struct sp_buf b = {0};
	SP_AUTO_FREE char *name = NULL;

	if (scope)
		name = sp_json_reader_text(sp_json_reader_get(
			sp_json_reader_value(scope, scope + strlen(scope)), "name"));
	if (!name)
		name = sp_json_reader_text(sp_json_reader_get(rdd, "Name"));
	if (name)
		sp_loose_words(name, &b);
	return b.failed ? NULL : strdup(sp_buf_str(&b));
}

char *sp_stage_operators(struct sp_json_reader rdds)
{
	char *names[MOST_RDDS];
	SP_AUTO_BUF struct sp_buf b = {0};
	struct sp_json_reader rdd;
	size_t n = 0, at = 0;

	while (n < MOST_RDDS && (rdd = sp_json_reader_next(rdds, &at)).p) {
		names[n] = operator_of(rdd);
		n += names[n] != NULL;
	}
	qsort(names, n, sizeof(*names), by_text);
	for (size_t i = 0; i < n; i++) {
		sp_buf_addf(&b, "%s%s", i ? ", " : "", names[i]);
		free(names[i]);
	}
	return n && !b.failed ? strdup(sp_buf_str(&b)) : NULL;
}
