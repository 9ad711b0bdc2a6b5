/* Parses the agent's option string; see args.h. One table, one function per kind of value. */
#include "args.h"

#include "base/cleanup.h"
#include "base/units.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { TEXT, EVENT, TIME_NS, TIME_S, INTERVAL, SIZE, COUNT, DEPTH, FRACTION, FLAG };

struct word {
	const char *name;
	enum kind kind;
	size_t offset, size; /* where it goes in struct sp_args; size of a text */
	uint64_t min, max;
	uint64_t bare; /* what the word alone means; 0: it needs a value */
};

#define AT(field) offsetof(struct sp_args, field), sizeof(((struct sp_args *)0)->field)

static const struct word words[] = {
	{"start", FLAG, AT(start), 0, 0},
	{"stream", FLAG, AT(stream), 0, 0},
	{"append", FLAG, AT(append), 0, 0},
	{"event", EVENT, AT(event), 0, 0},
	{"interval", INTERVAL, AT(interval_ns), 1, UINT64_MAX},
	{"wall", TIME_NS, AT(wall_ns), 100000, 3600000000000ull, 50000000},
	{"alloc", SIZE, AT(alloc), 1, 1ull << 40, 524287},
	{"lock", TIME_NS, AT(lock_ns), 0, 3600000000000ull, 10000},
	{"nativemem", SIZE, AT(nativemem), 0, 1ull << 40, 524288},
	{"methods", TEXT, AT(methods), 0, 0},
	{"trace", TEXT, AT(trace), 0, 0},
	{"live", FLAG, AT(live), 0, 0},
	{"allocs", FLAG, AT(allocs), 0, 0},
	{"nofree", FLAG, AT(nofree), 0, 0},
	{"capture", TEXT, AT(capture), 0, 0},
	{"perf", TEXT, AT(perf), 0, 0},
	{"jstackdepth", DEPTH, AT(depth), 1, 8192},
	{"memory", SIZE, AT(memory), 2 << 20, 1 << 30},
	{"chunksize", SIZE, AT(chunk_bytes), 64 << 10, 1 << 30},
	{"chunktime", TIME_S, AT(chunk_ns), 1000000000, 30 * 86400000000000ull},
	{"flush", TIME_S, AT(flush_ns), 10000000, 3600000000000ull},
	{"timeout", TIME_S, AT(timeout_ns), 0, UINT64_MAX},
	{"loop", TIME_S, AT(loop_ns), 1000000000, UINT64_MAX},
	{"maxdisk", SIZE, AT(maxdisk), 64 << 10, 1ull << 50},
	{"dfsinterval", TIME_S, AT(dfs_ns), 1000000000, 86400000000000ull},
	{"fraction", FRACTION, AT(fraction), 0, 1000000},
	{"file", TEXT, AT(file), 0, 0},
	{"localdir", TEXT, AT(localdir), 0, 0},
	{"filter", TEXT, AT(filter), 0, 0},
	{"thread", TEXT, AT(thread), 0, 0},
	{"driver-ui", TEXT, AT(driver_ui), 0, 0},
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

static const struct {
	enum kind kind;
	const char *what;
} kinds[] = {
	{TIME_NS, "a time; write 10ms, 500us"},
	{TIME_S, "a time; write 30s, 10m"},
	{INTERVAL, "a time or a size; write 10ms, 500us, 512k"},
	{SIZE, "a size; write 512k, 12m"},
	{COUNT, "a number"},
	{DEPTH, "a number"},
	{FRACTION, "a part of one; write 0.1"},
};

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

/* "0.1" as a number of a million. */
static int parse_fraction(const char *value, uint64_t *ret)
{
	char *end;
	double d = strtod(value, &end);

	if (end == value || *end || !(d >= 0 && d <= 1))
		return -EINVAL;
	*ret = (uint64_t)(d * 1e6 + 0.5);
	return 0;
}

/* "2048", or "2048/64" as async-profiler has it. */
static int parse_depth(const char *value, uint64_t *ret)
{
	char digits[16] = "";
	size_t n = strcspn(value, "/");

	if (n < sizeof(digits))
		memcpy(digits, value, n);
	return sp_count_parse(digits, ret);
}

static int parse_number(const struct word *w, const char *value, uint64_t *ret)
{
	switch (w->kind) {
	case TIME_NS:
		return sp_duration_parse(value, 1, ret);
	case TIME_S:
		return sp_duration_parse(value, 1000000000, ret);
	case INTERVAL: /* a time; for events that weigh in bytes, a size */
		return sp_duration_parse(value, 1, ret) < 0 ? sp_size_parse(value, ret) : 0;
	case SIZE:
		return sp_size_parse(value, ret);
	case DEPTH:
		return parse_depth(value, ret);
	case FRACTION:
		return parse_fraction(value, ret);
	default:
		return sp_count_parse(value, ret);
	}
}

static int refuse(const struct word *w, const char *value, struct sp_err *err)
{
	for (size_t i = 0; i < SP_COUNT(kinds); i++)
		if (kinds[i].kind == w->kind)
			return sp_err_set(
				err, -EINVAL, "%s: '%s' is not %s", w->name, value, kinds[i].what);
	return sp_err_set(err, -EINVAL, "%s: '%s' is too long", w->name, value);
}

static const char *show(const struct word *w, uint64_t n, char *buf, size_t len)
{
	if (w->kind == TIME_NS || w->kind == TIME_S)
		return sp_duration_format(n, buf, len);
	if (w->kind == SIZE)
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

static int set_text(char *at, const struct word *w, const char *value, struct sp_err *err)
{
	if (strlen(value) >= w->size)
		return refuse(w, value, err);
	memcpy(at, value, strlen(value) + 1);
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

static int set_value(struct sp_args *a, const struct word *w, const char *value, struct sp_err *err)
{
	char *at = (char *)a + w->offset;
	uint64_t n;

	if (w->kind == FLAG) {
		if (value)
			return sp_err_set(err, -EINVAL, "%s takes no value", w->name);
		*(bool *)at = true;
		return 0;
	}
	if (!value && w->bare) {
		*(uint64_t *)at = w->bare;
		return 0;
	}
	if (!value || !*value)
		return sp_err_set(err, -EINVAL, "%s needs a value", w->name);
	if (w->kind == EVENT)
		return set_event(a, w, value, err);
	if (w->kind == TEXT)
		return set_text(at, w, value, err);
	if (parse_number(w, value, &n) < 0)
		return refuse(w, value, err);
	if (n < w->min || n > w->max)
		return refuse_range(w, value, err);
	if (w->size == 4)
		*(uint32_t *)at = (uint32_t)n;
	else
		*(uint64_t *)at = n;
	return 0;
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
	if (strcmp(a->event, "cpu") == 0 && a->interval_ns && a->interval_ns < 100000)
		return sp_err_set(err, -EINVAL, "interval: the shortest is 100us");
	return 0;
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
	size_t used = strlen(a->ignored);

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
	snprintf(a->ignored + used, sizeof(a->ignored) - used, "%s%s", used ? ", " : "", word);
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
