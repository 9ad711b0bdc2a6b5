/* See line_table.h. */
#include "out/line_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Weight at a line of a method. */
struct part {
	struct sp_frame_ref frame;
	const char *name; /* borrowed from names[] */
	uint64_t weight;
};

struct parts {
	struct part *list; /* owned */
	size_t count;
	char **names; /* owned: by method id */
	size_t name_count;
};

static void parts_done(struct parts *s)
{
	free(s->list);
	for (size_t i = 0; i < s->name_count; i++)
		free(s->names[i]);
	free(s->names);
}

static int by_method(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->frame.method != y->frame.method)
		return x->frame.method < y->frame.method ? -1 : 1;
	return x->frame.line < y->frame.line ? -1 : x->frame.line > y->frame.line;
}

static int by_name(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	int n = strcmp(x->name, y->name);

	return n ? n : x->frame.line < y->frame.line ? -1 : x->frame.line > y->frame.line;
}

/* Those that are the same at once behind each other become one. */
static void join_parts(struct parts *s, int (*order)(const void *, const void *))
{
	size_t n = 0;

	if (s->count)
		qsort(s->list, s->count, sizeof(*s->list), order);
	for (size_t i = 0; i < s->count; i++) {
		if (n && order(&s->list[n - 1], &s->list[i]) == 0)
			s->list[n - 1].weight += s->list[i].weight;
		else
			s->list[n++] = s->list[i];
	}
	s->count = n;
}

static int collect_parts(
	struct parts *s, const struct sp_profile *p, unsigned event, const uint32_t *shown)
{
	s->list = calloc(p->row_count + 1, sizeof(*s->list));
	if (!s->list)
		return -ENOMEM;
	for (size_t i = 0; i < p->row_count; i++) {
		const struct sp_sample *x = &p->rows[i];
		const struct sp_stack *st = sp_dict_get_stack(p->dict, x->stack);

		if (x->event == event && (!shown || shown[i]) && st && st->count &&
			st->frames[0].line > 0 && x->weight)
			s->list[s->count++] = (struct part){st->frames[0], NULL, x->weight};
	}
	join_parts(s, by_method);
	return 0;
}

static int name_parts(struct parts *s, const struct sp_profile *p, const struct sp_style *style)
{
	SP_AUTO_BUF struct sp_buf name = {0};

	s->name_count = sp_dict_methods(p->dict) + 1ul;
	s->names = calloc(s->name_count, sizeof(*s->names));
	for (size_t i = 0; s->names && i < s->count; i++) {
		struct part *x = &s->list[i];
		uint32_t m = x->frame.method < s->name_count ? x->frame.method : 0;

		if (!s->names[m]) {
			sp_buf_clear(&name);
			sp_frame_name(p->dict, &x->frame, style, &name);
			s->names[m] = name.failed ? NULL : strdup(sp_buf_str(&name));
		}
		x->name = s->names[m];
		if (!x->name)
			return -ENOMEM;
	}
	return s->names ? 0 : -ENOMEM;
}

static int by_weight(const void *a, const void *b)
{
	const struct sp_line_weight *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int by_self(const void *a, const void *b)
{
	const struct sp_line_method *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int fill(struct sp_line_table *t, const struct parts *s)
{
	t->methods = calloc(s->count + 1, sizeof(*t->methods));
	t->lines = calloc(s->count + 1, sizeof(*t->lines));
	if (!t->methods || !t->lines)
		return -ENOMEM;
	for (size_t i = 0; i < s->count; i++) {
		const struct part *x = &s->list[i];
		struct sp_line_method *m = &t->methods[t->count];

		if (!t->count || strcmp(m[-1].name, x->name) != 0) {
			*m = (struct sp_line_method){
				.name = strdup(x->name), .frame = x->frame, .lines = &t->lines[i]};
			if (!m->name)
				return -ENOMEM;
			t->count++;
		} else {
			m--;
		}
		t->lines[i] = (struct sp_line_weight){x->frame.line, x->weight};
		m->weight += x->weight;
		m->count++;
	}
	for (size_t i = 0; i < t->count; i++)
		qsort(t->methods[i].lines, t->methods[i].count, sizeof(*t->lines), by_weight);
	if (t->count)
		qsort(t->methods, t->count, sizeof(*t->methods), by_self);
	return 0;
}

int sp_line_table_init(struct sp_line_table *t, const struct sp_profile *p, unsigned event,
	const uint32_t *shown, const struct sp_style *style)
{
	__attribute__((cleanup(parts_done))) struct parts s = {0};
	int r;

	*t = (struct sp_line_table){0};
	r = collect_parts(&s, p, event, shown);
	if (r == 0)
		r = name_parts(&s, p, style);
	if (r < 0)
		return r;
	join_parts(&s, by_name);
	return fill(t, &s);
}

void sp_line_table_done(struct sp_line_table *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->methods[i].name);
	free(t->methods);
	free(t->lines);
	*t = (struct sp_line_table){0};
}
