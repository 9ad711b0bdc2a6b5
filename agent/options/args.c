/* Parses the agent's option string; see args.h. One table, one function per kind of value. */
#include "args.h"

#include "arg_values.h"
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
	uint64_t bare; /* what the word alone means, and 0 where that is below @min; 0: it needs a
			* value */
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
	{"wall", SP_ARG_NANOS, AT(wall_ns), SHORTEST_NS, 3600000000000ull, 50000000, true},
	{"alloc", SP_ARG_SIZE, AT(alloc), 1, 1ull << 40, 524287},
	{"lock", SP_ARG_NANOS, AT(lock_ns), 0, 3600000000000ull, 10000},
	{"nativemem", SP_ARG_SIZE, AT(nativemem), 0, 1ull << 40, 524288},
	{"methods", SP_ARG_TEXT, AT(methods), 0, 0},
	{"trace", SP_ARG_TEXT, AT(trace), 0, 0},
	{"live", SP_ARG_FLAG, AT(live), 0, 0},
	{"allocs", SP_ARG_FLAG, AT(allocs), 0, 0},
	{"nofree", SP_ARG_FLAG, AT(nofree), 0, 0},
	{"noredact", SP_ARG_FLAG, AT(noredact), 0, 0},
	{"capture", SP_ARG_TEXT, AT(capture), 0, 0},
	{"perf", SP_ARG_TEXT, AT(perf), 0, 0},
	{"jstackdepth", SP_ARG_DEPTH, AT(depth), 1, 8192, 0, true},
	{"memory", SP_ARG_SIZE, AT(memory), 2 << 20, 1 << 30},
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

/* Words of async-profiler, also of its older versions, that ask for nothing a recording lacks: what
 * is made of it, how that looks, how stacks are walked, where its log goes. */
static const char *const quiet_words[] = {"ann", "clock", "collapsed", "cstack", "dot", "features",
	"flamegraph", "flat", "framebuf", "height", "jfr", "jfropts", "lib", "log", "loglevel",
	"mcache", "memlimit", "minwidth", "nobatch", "norm", "otlp", "quiet", "reverse", "inverted",
	"safemode", "sig", "signal", "simple", "samples", "summary", "svg", "threads", "title",
	"total", "traces", "tree", "fdtransfer", "record-cpu", "width"};

/* Those that ask for more than is done here: the recording says so. */
static const char *const undone_words[] = {"allkernel", "alluser", "begin", "end", "exclude",
	"include", "jfrsync", "nativelock", "nostop", "proc", "ratelimit", "sched", "server",
	"target-cpu", "tlab", "ttsp"};

void sp_args_init(struct sp_args *a)
{
	memset(a, 0, sizeof(*a));
	memcpy(a->event, "cpu", 4);
	a->alloc = a->lock_ns = a->nativemem = SP_ARGS_NONE;
	a->depth = 2048;
	a->memory = 12u << 20;
	a->chunk_bytes = 100u << 20;
	a->chunk_ns = 3600000000000ull;
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

/* Events that hooks report: the word for each, where its amount is, and that by default. */
static const struct {
	const char *event;
	size_t offset;
	uint64_t amount;
} hooks[] = {
	{"alloc", offsetof(struct sp_args, alloc), 524287},
	{"live", offsetof(struct sp_args, alloc), 524287},
	{"lock", offsetof(struct sp_args, lock_ns), 10000},
	{"nativemem", offsetof(struct sp_args, nativemem), 524288},
};

/* Where the amount of an event of the hooks is; NULL: it is none. */
static uint64_t *amount_of(struct sp_args *a, const char *event)
{
	for (size_t i = 0; i < SP_COUNT(hooks); i++)
		if (strcmp(hooks[i].event, event) == 0)
			return (uint64_t *)((char *)a + hooks[i].offset);
	return NULL;
}

static void set_default(struct sp_args *a, const char *event)
{
	for (size_t i = 0; i < SP_COUNT(hooks); i++) {
		uint64_t *amount = (uint64_t *)((char *)a + hooks[i].offset);

		if (strcmp(hooks[i].event, event) == 0 && *amount == SP_ARGS_NONE)
			*amount = hooks[i].amount;
	}
	a->live |= strcmp(event, "live") == 0;
}

/* Said in the recording: words of async-profiler's that are not done as they stand. */
static void note(struct sp_args *a, const char *word, const char *value)
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

/* An event of the hooks stands beside another one; of the others the last counts. */
static int set_event(struct sp_args *a, const struct word *w, const char *value, struct sp_err *err)
{
	uint64_t *given = a->event_given ? amount_of(a, a->event) : NULL;
	uint64_t *beside = amount_of(a, value);

	if (a->event_given && beside) {
		set_default(a, value);
		return 0;
	}
	if (given)
		set_default(a, a->event);
	a->event_given = true;
	return set_text(a->event, w, value, err);
}

static int set_number(
	struct sp_args *a, const struct word *w, const char *value, struct sp_err *err)
{
	char *at = (char *)a + w->offset;
	uint64_t n;

	if (sp_arg_value_parse(w->kind, value, &n) < 0)
		return refuse(w, value, err);
	if (n == 0 && w->min && w->bare)
		n = w->bare;
	/* No depth at all is refused there too. */
	if (w->bends && (n || w->kind != SP_ARG_DEPTH) && (n < w->min || n > w->max)) {
		n = n < w->min ? w->min : w->max;
		note(a, w->name, value);
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
		note(a, w->name, NULL);
		return 0;
	}
	if (!value || !*value)
		return sp_err_set(err, -EINVAL, "%s needs a value", w->name);
	if (w->kind == SP_ARG_EVENT)
		return set_event(a, w, value, err);
	if (at == a->trace || at == a->methods)
		return add_text(at, w, value, err);
	return w->kind == SP_ARG_TEXT ? set_text(at, w, value, err) : set_number(a, w, value, err);
}

static bool filter_ok(const char *f)
{
	return strspn(f, "0123456789-,;: ") == strlen(f);
}

bool sp_args_hooks(const struct sp_args *a)
{
	return a->alloc != SP_ARGS_NONE || a->lock_ns != SP_ARGS_NONE ||
	       a->nativemem != SP_ARGS_NONE || a->methods[0] || a->trace[0];
}

bool sp_args_only_hooks(const struct sp_args *a)
{
	for (size_t i = 0; i < SP_COUNT(hooks); i++)
		if (strcmp(hooks[i].event, a->event) == 0)
			return true;
	return strcmp(a->event, "calls") == 0 || strcmp(a->event, "trace") == 0;
}

/* Without an event what stands beside one is alone, as with async-profiler. */
static void settle_event(struct sp_args *a)
{
	const char *event = a->wall_ns			   ? "wall"
			    : a->alloc != SP_ARGS_NONE	   ? "alloc"
			    : a->lock_ns != SP_ARGS_NONE   ? "lock"
			    : a->nativemem != SP_ARGS_NONE ? "nativemem"
			    : a->trace[0]		   ? "trace"
							   : "cpu";

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
	for (size_t i = 0; i < SP_COUNT(hooks); i++) {
		uint64_t *amount = (uint64_t *)((char *)a + hooks[i].offset);

		if (strcmp(hooks[i].event, a->event) == 0 && *amount == SP_ARGS_NONE)
			*amount = a->interval_ns ? a->interval_ns : hooks[i].amount;
	}
	a->live |= strcmp(a->event, "live") == 0;
	if (a->live && a->alloc == SP_ARGS_NONE)
		a->alloc = hooks[0].amount;
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

static int check(const struct sp_args *a, struct sp_err *err)
{
	if (*a->capture && strcmp(a->capture, "ring") != 0 && strcmp(a->capture, "signal") != 0)
		return sp_err_set(
			err, -EINVAL, "capture: '%s' is neither ring nor signal", a->capture);
	if (!filter_ok(a->filter))
		return sp_err_set(err, -EINVAL,
			"filter: '%s' is not a list of thread ids; write 120-127;132", a->filter);
	return 0;
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
			note(a, "interval", text);
			a->interval_ns = SHORTEST_NS;
		}
}

static bool among(const char *const *words_, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(words_[i], word) == 0)
			return true;
	return false;
}

static void set_all(struct sp_args *a)
{
	static const char *const beside[] = {"alloc", "live", "lock", "nativemem"};

	if (!a->wall_ns)
		a->wall_ns = 50000000;
	for (size_t i = 0; i < SP_COUNT(beside); i++)
		set_default(a, beside[i]);
	a->allocs = true;
	a->event_given = true;
}

/* A word that is no option of ours but may be one of async-profiler's. */
static int set_foreign(struct sp_args *a, const char *word, struct sp_err *err)
{
	if (strcmp(word, "cpu") == 0) {
		a->event_given = true;
		memcpy(a->event, "cpu", 4);
		return 0;
	}
	if (strcmp(word, "all") == 0) {
		set_all(a);
		return 0;
	}
	if (among(quiet_words, SP_COUNT(quiet_words), word))
		return 0;
	if (!among(undone_words, SP_COUNT(undone_words), word))
		return sp_err_set(err, -EINVAL, "'%s' is not an option of the agent", word);
	note(a, word, NULL);
	return 0;
}

/* Takes the next word off *text into @out, undoing "\,"; blanks before it do not count. */
static bool next_word(const char **text, char *out)
{
	const char *p = *text;

	if (!*p)
		return false;
	p += strspn(p, " \t");
	for (; *p && *p != ','; p++) {
		if (*p == '\\' && p[1] == ',')
			p++;
		*out++ = *p;
	}
	*out = 0;
	*text = *p ? p + 1 : p;
	return true;
}

int sp_args_parse(struct sp_args *a, const char *text, struct sp_err *err)
{
	SP_AUTO_FREE char *word = malloc(strlen(text) + 1);

	if (!word)
		return sp_err_set(err, -EINVAL, "out of memory");
	while (next_word(&text, word)) {
		char *value = strchr(word, '=');
		const struct word *w;
		int r;

		if (!*word)
			continue;
		if (value)
			*value++ = 0;
		w = find_word(word);
		r = w ? set_value(a, w, value, err) : set_foreign(a, word, err);
		if (r < 0)
			return r;
	}
	settle_event(a);
	settle_interval(a);
	settle_hooks(a);
	settle_methods(a);
	return check(a, err);
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
	return strcmp(a->event, "wall") == 0 ? 50000000 : 10000000;
}
