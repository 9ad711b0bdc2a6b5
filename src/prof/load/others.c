/* See others.h. */
#include "prof/load/others.h"

#include "base/grow.h"
#include "base/saturate.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST  4096 /* of a file that is not what it seems */
#define SHOWN 5

void sp_others_done(struct sp_others *p)
{
	free(p->rows);
	*p = (struct sp_others){0};
}

/* The same number is another process once its name is another. */
static int add(struct sp_others *p, const struct sp_process_sum *s)
{
	struct sp_process_sum *at = NULL;

	for (size_t i = 0; i < p->count && !at; i++)
		if (p->rows[i].pid == s->pid && strcmp(p->rows[i].name, s->name) == 0)
			at = &p->rows[i];
	if (at) {
		at->cpu_ns = sp_saturate_add(at->cpu_ns, s->cpu_ns);
		at->rss = s->rss > at->rss ? s->rss : at->rss;
		return 0;
	}
	if (p->count >= MOST)
		return 0;
	if (sp_grow(&p->rows, &p->cap, p->count, sizeof(*p->rows), 16) < 0)
		return -ENOMEM;
	p->rows[p->count++] = *s;
	return 0;
}

static uint64_t number(const struct sp_jfr_event *e, const char *name)
{
	const struct sp_jfr_value *v = sp_jfr_value_of(e, name);

	return v && v->kind == SP_JFR_V_INT ? v->u : 0;
}

/* Those of async-profiler have no CPU time since the look before. */
int sp_others_add(struct sp_others *p, const struct sp_jfr_event *e)
{
	const struct sp_jfr_value *name = sp_jfr_value_of(e, "name");
	struct sp_process_sum s = {.pid = number(e, "pid"),
		.uid = number(e, "uid"),
		.cpu_ns = number(e, "cpuTime"),
		.rss = number(e, "vmRss")};

	if (!sp_jfr_value_of(e, "cpuTime"))
		return 0;
	p->looked = true;
	if (number(e, "target"))
		return 0;
	snprintf(s.name, sizeof(s.name), "%.*s",
		name && name->kind == SP_JFR_V_TEXT ? (int)name->len : 0, name ? name->s : "");
	return add(p, &s);
}

int sp_others_join(struct sp_others *p, const struct sp_others *other)
{
	int r = 0;

	p->looked |= other->looked;
	for (size_t i = 0; i < other->count && r == 0; i++)
		r = add(p, &other->rows[i]);
	return r;
}

static int by_cpu(const void *a, const void *b)
{
	const struct sp_process_sum *x = a, *y = b;

	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns < y->cpu_ns ? 1 : -1;
	return x->rss != y->rss ? (x->rss < y->rss ? 1 : -1)
				: (x->pid > y->pid) - (x->pid < y->pid);
}

void sp_others_note(struct sp_others *p, struct sp_profile *to)
{
	char text[SHOWN * 128 + 64], time[32], size[32];
	size_t n = p->count < SHOWN ? p->count : SHOWN, used;

	if (!p->looked)
		return;
	if (!n) {
		sp_profile_note(to, "no other process had 5 % of a core or of the memory (--proc)");
		return;
	}
	qsort(p->rows, p->count, sizeof(*p->rows), by_cpu);
	used = (size_t)snprintf(text, sizeof(text), "who else was here (--proc): ");
	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
			"%s%s (pid %" PRIu64 ", user %" PRIu64 "): %s of CPU time, up to %s",
			i ? "; " : "", p->rows[i].name, p->rows[i].pid, p->rows[i].uid,
			sp_duration_format(p->rows[i].cpu_ns, time, sizeof(time)),
			sp_size_format(p->rows[i].rss, size, sizeof(size)));
	if (p->count > n)
		snprintf(text + used, sizeof(text) - used, "; %zu more", p->count - n);
	sp_profile_note(to, text);
}
