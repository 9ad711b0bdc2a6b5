/* See mixed_stack.h. From 3.11 on one call of the evaluator runs Python functions that call each
 * other; before, each has a call of its own. */
#include "py/mixed_stack.h"

#include <string.h>

static bool is_evaluator(const struct sp_pynative_frame *f)
{
	static const char name[] = "_PyEval_EvalFrameDefault";

	return f->name && strncmp(f->name, name, sizeof(name) - 1) == 0;
}

struct mix {
	const struct sp_pystack *python;
	uint32_t next; /* Python frame */
	struct sp_pymixed_frame *ret;
	size_t count, cap;
};

static void add_native(struct mix *m, const struct sp_pynative_frame *f)
{
	if (m->count < m->cap)
		m->ret[m->count++] = (struct sp_pymixed_frame){.native = *f};
}

/* Python frames down to the one that C code called; false: there are none left. */
static bool add_run(struct mix *m)
{
	bool any = m->next < m->python->count, end = false;

	while (m->next < m->python->count && !end) {
		const struct sp_pyframe *f = &m->python->frames[m->next++];

		if (m->count < m->cap)
			m->ret[m->count++] =
				(struct sp_pymixed_frame){.code = f->code, .line = f->line};
		end = f->entry;
	}
	return any;
}

static size_t runs_of(const struct sp_pystack *s)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->count; i++)
		n += s->frames[i].entry || i + 1 == s->count;
	return n;
}

size_t sp_pymixed(const struct sp_pystack *python, const struct sp_pynative_frame *native, size_t n,
	bool whole, struct sp_pymixed_frame *ret, size_t cap)
{
	struct mix m = {.python = python, .ret = ret, .cap = cap};
	size_t calls = 0, runs = runs_of(python), bare, more;

	for (size_t i = 0; i < n; i++)
		calls += is_evaluator(&native[i]);
	bare = whole && calls > runs ? calls - runs : 0; /* calls that have no frame yet */
	more = whole && runs > calls ? runs - calls : 0; /* runs above the first that is known */
	for (size_t i = 0; i < n; i++) {
		if (!is_evaluator(&native[i]) || bare) {
			bare -= bare && is_evaluator(&native[i]);
			add_native(&m, &native[i]);
			continue;
		}
		for (; more; more--)
			add_run(&m);
		if (!add_run(&m))
			add_native(&m, &native[i]);
	}
	while (add_run(&m))
		;
	return m.count;
}
