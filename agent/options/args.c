/* Fields of a recording: see args.h. One table, one function per kind of value. */
#include "args.h"

#include "arg_report.h"
#include "arg_values.h"
#include "args_internal.h"
#include "base/cleanup.h"
#include "base/units.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHORTEST_NS 100000 /* between two samples */

struct word {
	const char *name;
	enum sp_arg_kind kind;
	size_t offset, size; /* where it goes in struct sp_args; size of a text */
	uint64_t min, max;
	uint64_t bare; /* what the word alone means: 0 if below @min, 0: it needs a value */
	bool bends;    /* beyond @min and @max these are taken: async-profiler has no such bounds,
			* and its options are not worth losing a recording for */
};

#define AT(field) offsetof(struct sp_args, field), sizeof(((struct sp_args *)0)->field)

static const struct word words[] = {
	{"start", SP_ARG_FLAG, AT(start), 0, 0},
	{"stream", SP_ARG_FLAG, AT(stream), 0, 0},
	{"append", SP_ARG_FLAG, AT(append), 0, 0},
	{"event", SP_ARG_EVENT, AT(event), 0, 0},
	{"interval", SP_ARG_INTERVAL, AT(interval_ns), 1, UINT64_MAX},
	{"wall", SP_ARG_NANOS, AT(wall_ns), SHORTEST_NS, 3600000000000ull, SP_DEFAULT_WALL_NS,
		true},
	{"alloc", SP_ARG_SIZE, AT(alloc), 1, 1ull << 40, SP_DEFAULT_ALLOC},
	{"lock", SP_ARG_NANOS, AT(lock_ns), 0, 3600000000000ull, SP_DEFAULT_LOCK_NS},
	{"nativelock", SP_ARG_NANOS, AT(nativelock_ns), 0, 3600000000000ull, SP_DEFAULT_LOCK_NS},
	{"nativemem", SP_ARG_SIZE, AT(nativemem), 0, 1ull << 40, SP_DEFAULT_NATIVEMEM},
	{"methods", SP_ARG_TEXT, AT(methods), 0, 0},
	{"trace", SP_ARG_TEXT, AT(trace), 0, 0},
	{"live", SP_ARG_FLAG, AT(live), 0, 0},
	{"allocs", SP_ARG_FLAG, AT(allocs), 0, 0},
	{"nofree", SP_ARG_FLAG, AT(nofree), 0, 0},
	{"noredact", SP_ARG_FLAG, AT(noredact), 0, 0},
	{"cstack", SP_ARG_TEXT, AT(cstack), 0, 0},
	{"vtable", SP_ARG_FLAG, AT(vtable), 0, 0},
	{"comptask", SP_ARG_FLAG, AT(comptask), 0, 0},
	{"left", SP_ARG_FLAG, AT(left), 0, 0},
	{"ttsp", SP_ARG_FLAG, AT(ttsp), 0, 0},
	{"nostop", SP_ARG_FLAG, AT(nostop), 0, 0},
	{"begin", SP_ARG_TEXT, AT(begin), 0, 0},
	{"end", SP_ARG_TEXT, AT(end), 0, 0},
	{"alluser", SP_ARG_FLAG, AT(alluser), 0, 0},
	{"target-cpu", SP_ARG_TEXT, AT(target_cpu), 0, 0},
	{"kernel", SP_ARG_TEXT, AT(kernel), 0, 0},
	{"capture", SP_ARG_TEXT, AT(capture), 0, 0},
	{"perf", SP_ARG_TEXT, AT(perf), 0, 0},
	{"python", SP_ARG_TEXT, AT(python), 0, 0},
	{"jstackdepth", SP_ARG_DEPTH, AT(depth), 1, 8192, 0, true},
	{"depthleft", SP_ARG_DEPTH, AT(depth_left), 1, 8192},
	{"proc", SP_ARG_SECONDS, AT(proc_ns), 1000000000, 86400000000000ull, SP_DEFAULT_PROC_NS,
		true},
	{"memory", SP_ARG_SIZE, AT(memory), 2 << 20, 1 << 30},
	{"memlimit", SP_ARG_SIZE, AT(memory), 2 << 20, 1 << 30, SP_DEFAULT_MEMORY, true},
	{"chunksize", SP_ARG_SIZE, AT(chunk_bytes), 64 << 10, 1 << 30, 0, true},
	{"chunktime", SP_ARG_SECONDS, AT(chunk_ns), 1000000000, 30 * 86400000000000ull, 0, true},
	{"flush", SP_ARG_SECONDS, AT(flush_ns), 10000000, 3600000000000ull},
	{"timeout", SP_ARG_TIMEOUT, AT(timeout_ns), 0, UINT64_MAX},
	{"loop", SP_ARG_LOOP, AT(loop), 1000000000, UINT64_MAX},
	{"maxdisk", SP_ARG_SIZE, AT(maxdisk), 64 << 10, 1ull << 50},
	{"dfsinterval", SP_ARG_SECONDS, AT(dfs_ns), 1000000000, 86400000000000ull},
	{"fraction", SP_ARG_FRACTION, AT(fraction), 0, 1000000},
	{"file", SP_ARG_TEXT, AT(file), 0, 0},
	{"localdir", SP_ARG_TEXT, AT(localdir), 0, 0},
	{"filter", SP_ARG_TEXT, AT(filter), 0, 0},
	{"thread", SP_ARG_TEXT, AT(thread), 0, 0},
	{"driver-ui", SP_ARG_TEXT, AT(driver_ui), 0, 0},
};

void sp_args_init(struct sp_args *a)
{
	memset(a, 0, sizeof(*a));
	memcpy(a->event, "cpu", 4);
	a->alloc = a->lock_ns = a->nativelock_ns = a->nativemem = SP_ARGS_NONE;
	a->depth = SP_DEFAULT_DEPTH;
	a->memory = SP_DEFAULT_MEMORY;
	a->chunk_bytes = SP_DEFAULT_CHUNK_BYTES;
	a->chunk_ns = SP_DEFAULT_CHUNK_NS;
	a->flush_ns = 1000000000ull;
	a->dfs_ns = 30000000000ull;
	a->fraction = 1000000;
}

static const struct word *find_word(const char *name)
{
	if (strcmp(name, "depth") == 0)
		name = "jstackdepth";
	for (size_t i = 0; i < SP_COUNT(words); i++)
		if (strcmp(words[i].name, name) == 0)
			return &words[i];
	return NULL;
}

static int refuse(const struct word *w, const char *value, struct sp_err *err)
{
	if (w->kind == SP_ARG_TEXT || w->kind == SP_ARG_EVENT)
		return sp_err_set(err, -EINVAL, "%s: '%s' is too long", w->name, value);
	return sp_err_set(
		err, -EINVAL, "%s: '%s' is not %s", w->name, value, sp_arg_value_what(w->kind));
}

static const char *show(const struct word *w, uint64_t n, char *buf, size_t len)
{
	if (w->kind == SP_ARG_NANOS || w->kind == SP_ARG_SECONDS || w->kind == SP_ARG_LOOP)
		return sp_duration_format(n, buf, len);
	if (w->kind == SP_ARG_SIZE)
		return sp_size_format(n, buf, len);
	snprintf(buf, len, "%llu", (unsigned long long)n);
	return buf;
}

static int refuse_range(const struct word *w, const char *value, struct sp_err *err)
{
	char least[32], most[32];

	return sp_err_set(err, -EINVAL, "%s: '%s' is not between %s and %s", w->name, value,
		show(w, w->min, least, sizeof(least)), show(w, w->max, most, sizeof(most)));
}

/* Where the amount of an event of the hooks is; NULL: it is none. */
static uint64_t *amount_of(struct sp_args *a, const char *event)
{
	const struct sp_record_hook *h = sp_record_hook_find(event);

	return h ? (uint64_t *)((char *)a + find_word(h->word)->offset) : NULL;
}

/* Sets the amount of @event, where it has one that was not given, to @amount, or its default. */
static void set_amount(struct sp_args *a, const char *event, uint64_t amount)
{
	uint64_t *at = amount_of(a, event);

	if (at && *at == SP_ARGS_NONE)
		*at = amount ? amount : sp_record_hook_find(event)->amount;
	a->live |= strcmp(event, "live") == 0;
}

void sp_args_note(struct sp_args *a, const char *word, const char *value)
{
	size_t used = strlen(a->ignored);

	snprintf(a->ignored + used, sizeof(a->ignored) - used, "%s%s%s%s", used ? ", " : "", word,
		value && *value ? "=" : "", value ? value : "");
}

static int set_text(char *at, const struct word *w, const char *value, struct sp_err *err)
{
	if (strlen(value) >= w->size)
		return refuse(w, value, err);
	memcpy(at, value, strlen(value) + 1);
	return 0;
}

/* Methods may be given again. */
static int add_text(char *at, const struct word *w, const char *value, struct sp_err *err)
{
	size_t used = strlen(at);

	if (used + 1 + strlen(value) >= w->size)
		return refuse(w, value, err);
	snprintf(at + used, w->size - used, "%s%s", used ? ";" : "", value);
	return 0;
}

/* An event of the hooks is added to another one; of the others the last counts. */
static int set_event(struct sp_args *a, const struct word *w, const char *value, struct sp_err *err)
{
	uint64_t *given = a->event_given ? amount_of(a, a->event) : NULL;
	uint64_t *beside = amount_of(a, value);

	if (a->event_given && beside) {
		set_amount(a, value, 0);
		return 0;
	}
	if (given)
		set_amount(a, a->event, 0);
	a->event_given = true;
	return set_text(a->event, w, value, err);
}

/* @value: how it was written. */
static int put_number(
	struct sp_args *a, const struct word *w, const char *value, uint64_t n, struct sp_err *err)
{
	char *at = (char *)a + w->offset;

	if (n == 0 && w->min && w->bare)
		n = w->bare;
	/* No depth at all is refused there too. */
	if (w->bends && (n || w->kind != SP_ARG_DEPTH) && (n < w->min || n > w->max)) {
		n = n < w->min ? w->min : w->max;
		sp_args_note(a, w->name, value);
	}
	/* A loop of no length is none. */
	if ((n < w->min || n > w->max) && (n || w->kind != SP_ARG_LOOP))
		return refuse_range(w, value, err);
	if (w->size == 4)
		*(uint32_t *)at = (uint32_t)n;
	else
		*(uint64_t *)at = n;
	return 0;
}

static int set_number(
	struct sp_args *a, const struct word *w, const char *value, struct sp_err *err)
{
	uint64_t n;

	if (sp_arg_value_parse(w->kind, value, &n) < 0)
		return refuse(w, value, err);
	return put_number(a, w, value, n, err);
}

/* 2048, or 200/40: of a stack with more than 200 frames only 40. */
static int set_depth(struct sp_args *a, const struct word *w, const char *value, struct sp_err *err)
{
	const char *slash = strchr(value, '/');
	uint64_t left = 0;
	int r = set_number(a, w, value, err);

	if (r < 0 || !slash)
		return r;
	if (sp_count_parse(slash + 1, &left) < 0 || !left)
		return sp_err_set(err, -EINVAL, "%s: '%s' is not %s", w->name, value,
			sp_arg_value_what(w->kind));
	a->depth_left = left;
	return 0;
}

static int set_value(struct sp_args *a, const struct word *w, const char *value, struct sp_err *err)
{
	char *at = (char *)a + w->offset;

	if (w->kind == SP_ARG_FLAG) {
		if (value)
			return sp_err_set(err, -EINVAL, "%s takes no value", w->name);
		*(bool *)at = true;
		return 0;
	}
	if (!value && w->bare) {
		*(uint64_t *)at = w->bare;
		return 0;
	}
	/* Only threads that a program has named to async-profiler: here nobody can. */
	if (at == a->filter && (!value || !*value)) {
		sp_args_note(a, w->name, NULL);
		return 0;
	}
	if (!value || !*value)
		return sp_err_set(err, -EINVAL, "%s needs a value", w->name);
	if (w->kind == SP_ARG_EVENT)
		return set_event(a, w, value, err);
	if (at == a->trace || at == a->methods)
		return add_text(at, w, value, err);
	if (w->kind == SP_ARG_DEPTH)
		return set_depth(a, w, value, err);
	return w->kind == SP_ARG_TEXT ? set_text(at, w, value, err) : set_number(a, w, value, err);
}

bool sp_args_hooks(const struct sp_args *a)
{
	return a->alloc != SP_ARGS_NONE || a->lock_ns != SP_ARGS_NONE ||
	       a->nativelock_ns != SP_ARGS_NONE || a->nativemem != SP_ARGS_NONE || a->methods[0] ||
	       a->trace[0];
}

bool sp_args_only_hooks(const struct sp_args *a)
{
	return sp_record_hook_find(a->event) || strcmp(a->event, "calls") == 0 ||
	       strcmp(a->event, "trace") == 0;
}

/* Without an event what is added to one is alone, as with async-profiler. */
static void settle_event(struct sp_args *a)
{
	const char *event = a->wall_ns ? "wall" : a->trace[0] ? "trace" : "cpu";

	for (size_t i = SP_RECORD_HOOKS; i-- > 0 && !a->wall_ns;)
		if (*amount_of(a, sp_record_hooks[i].event) != SP_ARGS_NONE)
			event = sp_record_hooks[i].event;
	if (a->event_given)
		return;
	memcpy(a->event, event, strlen(event) + 1);
	if (a->wall_ns) {
		a->interval_ns = a->wall_ns;
		a->wall_ns = 0;
	}
}

/* event=alloc says the same as alloc=SIZE, and nothing else is sampled. */
static void settle_hooks(struct sp_args *a)
{
	set_amount(a, a->event, a->interval_ns);
	if (a->live)
		set_amount(a, "live", 0);
	if (!a->live)
		a->allocs = a->alloc != SP_ARGS_NONE;
}

/* event=java.util.HashMap.put says the same as methods=java.util.HashMap.put; a perf event has a
 * colon or no dot. */
static void settle_methods(struct sp_args *a)
{
	size_t used = strlen(a->methods);

	if (strchr(a->event, '.') && !strchr(a->event, ':')) {
		snprintf(a->methods + used, sizeof(a->methods) - used, "%s%s", used ? ";" : "",
			a->event);
		if (a->interval_ns && used + 32 < sizeof(a->methods))
			snprintf(a->methods + strlen(a->methods),
				sizeof(a->methods) - strlen(a->methods), ":%llu",
				(unsigned long long)a->interval_ns);
		memcpy(a->event, "calls", 6);
	}
}

/* An interval in time of the launcher's is never shorter, async-profiler's may be. */
static void settle_interval(struct sp_args *a)
{
	static const char *const clocks[] = {"cpu", "ctimer", "itimer", "wall"};
	char text[32];

	if (!a->interval_ns || a->interval_ns >= SHORTEST_NS)
		return;
	for (size_t i = 0; i < SP_COUNT(clocks); i++)
		if (strcmp(a->event, clocks[i]) == 0) {
			snprintf(text, sizeof(text), "%lluns", (unsigned long long)a->interval_ns);
			sp_args_note(a, "interval", text);
			a->interval_ns = SHORTEST_NS;
		}
}

void sp_args_set_all(struct sp_args *a)
{
	if (!a->wall_ns)
		a->wall_ns = SP_DEFAULT_WALL_NS;
	for (size_t i = 0; i < SP_RECORD_HOOKS; i++)
		set_amount(a, sp_record_hooks[i].event, 0);
	a->allocs = true;
	a->event_given = true;
}

bool sp_args_gated(const struct sp_args *a)
{
	return a->ttsp || a->begin[0];
}

static void drop_text(struct sp_args *a, const char *word, char *text)
{
	if (*text)
		sp_args_note(a, word, NULL);
	*text = 0;
}

/* What the timers of threads sample can be picked by the moment; async-profiler picks more. */
static void settle_gate(struct sp_args *a)
{
	bool timed = strcmp(a->event, "cpu") == 0 || strcmp(a->event, "ctimer") == 0;

	/* --ttsp by its long name. */
	if (strcmp(a->begin, "SafepointSynchronize::begin") == 0 &&
		strcmp(a->end, "RuntimeService::record_safepoint_synchronized") == 0) {
		a->ttsp = true;
		a->begin[0] = a->end[0] = 0;
	}
	if (!timed || a->wall_ns || a->ttsp)
		drop_text(a, "begin", a->begin);
	if (!a->begin[0]) {
		drop_text(a, "end", a->end);
		if (a->nostop)
			sp_args_note(a, "nostop", NULL);
		a->nostop = false;
	}
	if (timed && !a->wall_ns)
		return;
	if (a->ttsp)
		sp_args_note(a, "ttsp", NULL);
	a->ttsp = false;
}

/* Only events of the kernel's can be of one CPU. async-profiler's -1 is any. */
static void settle_cpu(struct sp_args *a)
{
	bool timer = strcmp(a->event, "ctimer") == 0 || strcmp(a->event, "itimer") == 0;
	bool wall = a->wall_ns || strcmp(a->event, "wall") == 0;

	if (a->target_cpu[0] == '-')
		a->target_cpu[0] = 0;
	if (timer || wall || sp_args_gated(a) || sp_args_only_hooks(a))
		drop_text(a, "target-cpu", a->target_cpu);
}

int sp_args_settle(struct sp_args *a, struct sp_err *err)
{
	const char *more = sp_arg_report_settle(a);

	settle_event(a);
	settle_interval(a);
	settle_hooks(a);
	settle_methods(a);
	settle_gate(a);
	settle_cpu(a);
	if (*more)
		sp_args_note(a, more, NULL);
	return sp_args_check(a, err);
}

int sp_args_put_number(struct sp_args *a, const char *word, uint64_t n, struct sp_err *err)
{
	const struct word *w = find_word(word);
	char value[32];

	return put_number(a, w, show(w, n, value, sizeof(value)), n, err);
}

int sp_args_put_text(struct sp_args *a, const char *word, const char *value, struct sp_err *err)
{
	const struct word *w = find_word(word);

	return *value ? set_text((char *)a + w->offset, w, value, err) : 0;
}

int sp_args_put_word(struct sp_args *a, const char *word, const char *value, struct sp_err *err)
{
	const struct word *w = find_word(word);

	return w ? set_value(a, w, value, err) : -ENOENT;
}

const void *sp_args_at(const struct sp_args *a, const char *word)
{
	return (const char *)a + find_word(word)->offset;
}

bool sp_args_has_tid(const struct sp_args *a, uint32_t tid)
{
	const char *p = a->filter;

	while (*p) {
		char *end;
		unsigned long from = strtoul(p, &end, 10), to = from;

		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		if (end > p && tid >= from && tid <= to)
			return true;
		p = *end ? end + 1 : end;
	}
	return !*a->filter;
}

uint64_t sp_args_interval(const struct sp_args *a)
{
	if (a->interval_ns)
		return a->interval_ns;
	return strcmp(a->event, "wall") == 0 ? SP_DEFAULT_WALL_NS : SP_DEFAULT_INTERVAL_NS;
}
