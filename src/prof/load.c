/* Reading a recording into a profile: see load.h. Which event weighs what is one table. Settings
 * may stand behind the samples that they describe, so names and intervals are settled at the end.
 */
#include "prof/load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "jfr/reader.h"
#include "prof/resolve.h"
#include "prof/timeline.h"

enum what { SAMPLE = 1, SETTING, JVM, MODULE, COUNTS, LOST, CPU_LOAD, HEAP, RSS, GC };

/* How a type of the recording is read. */
struct kind {
	const char *type;
	enum what what;
	const char *event; /* samples: the event's name */
	enum sp_unit unit;
	const char *weight; /* field that weighs it; NULL: one each; "duration": of the event */
	const char *count;  /* field that says how many samples it stands for */
};

static const struct kind kinds[] = {
	{"jdk.ExecutionSample", SAMPLE, "cpu", SP_UNIT_NS, NULL, NULL},
	{"jdk.NativeMethodSample", SAMPLE, "native", SP_UNIT_COUNT, NULL, NULL},
	{"profiler.WallClockSample", SAMPLE, "wall", SP_UNIT_NS, "timeSpan", "samples"},
	{"jdk.ObjectAllocationInNewTLAB", SAMPLE, "alloc", SP_UNIT_BYTES, "tlabSize", NULL},
	{"jdk.ObjectAllocationOutsideTLAB", SAMPLE, "alloc", SP_UNIT_BYTES, "allocationSize", NULL},
	{"jdk.ObjectAllocationSample", SAMPLE, "alloc", SP_UNIT_BYTES, "weight", NULL},
	{"jdk.JavaMonitorEnter", SAMPLE, "lock", SP_UNIT_NS, "duration", NULL},
	{"jdk.ThreadPark", SAMPLE, "lock", SP_UNIT_NS, "duration", NULL},
	{"jdk.ActiveSetting", SETTING},
	{"jdk.JVMInformation", JVM},
	{"sparkprof.Module", MODULE},
	{"sparkprof.Counts", COUNTS},
	{"sparkprof.Lost", LOST},
	{"jdk.CPULoad", CPU_LOAD},
	{"jdk.GCHeapSummary", HEAP},
	{"jdk.ResidentSetSize", RSS},
	{"jdk.GarbageCollection", GC},
};

#define REASONS 32

struct load {
	struct sp_profile *p;
	struct sp_symbols *symbols;
	char event[64]; /* setting: what jdk.ExecutionSample stands for */
	uint64_t interval, wall_interval;
	uint64_t lost; /* the recording's own sum, reasons or not */
	struct {
		char text[128];
		uint64_t count;
	} reasons[REASONS];
	uint32_t states[SP_STATES];
	int error;
};

static int want(void *ctx, const char *type)
{
	for (size_t i = 0; i < SP_COUNT(kinds); i++)
		if (strcmp(kinds[i].type, type) == 0)
			return (int)i + 1;
	return 0;
}

static const struct sp_jfr_value *field(const struct sp_jfr_event *e, const char *name)
{
	for (uint32_t i = 0; i < e->count; i++)
		if (strcmp(e->values[i].name, name) == 0)
			return &e->values[i];
	return NULL;
}

static uint64_t number(const struct sp_jfr_event *e, const char *name)
{
	const struct sp_jfr_value *v = field(e, name);

	return v && v->kind == SP_JFR_V_INT ? v->u : 0;
}

/* Copies a text field, cut to fit. Returns @buf, "" where there is none. */
static const char *text(const struct sp_jfr_event *e, const char *name, char *buf, size_t size)
{
	const struct sp_jfr_value *v = field(e, name);

	snprintf(buf, size, "%.*s", v && v->kind == SP_JFR_V_TEXT ? (int)v->len : 0, v ? v->s : "");
	return buf;
}

/* The state's name as reports show it. */
static uint32_t state_id(struct load *l, uint8_t state)
{
	static const char *const names[SP_STATES] = {
		[SP_STATE_RUNNING] = "running",
		[SP_STATE_RUNNABLE] = "runnable",
		[SP_STATE_LOCK] = "lock",
		[SP_STATE_NET] = "net",
		[SP_STATE_DISK] = "disk",
		[SP_STATE_SLEEP] = "sleep",
		[SP_STATE_POLL] = "poll",
		[SP_STATE_BLOCKED] = "blocked",
	};

	if (state >= SP_STATES || !names[state])
		return 0;
	if (!l->states[state])
		l->states[state] = sp_dict_string(l->p->dict, names[state], strlen(names[state]));
	return l->states[state];
}

static int add_sample(struct load *l, const struct kind *k, const struct sp_jfr_event *e)
{
	struct sp_sample s = {.stack = e->stack, .thread = e->thread, .count = 1, .weight = 1};
	int event = sp_profile_event(l->p, k->event, k->unit, 0, k->weight != NULL);

	if (event < 0)
		return event;
	s.event = (uint32_t)event;
	s.state = state_id(l, e->state);
	if (k->count)
		s.count = number(e, k->count);
	if (k->weight)
		s.weight =
			strcmp(k->weight, "duration") == 0 ? e->duration_ns : number(e, k->weight);
	return sp_profile_add_at(
		l->p, &s, e->start_ns, k->weight && k->unit == SP_UNIT_NS ? s.weight : 0);
}

/* A share of all cores in thousandths of a percent. */
static uint64_t share(const struct sp_jfr_event *e, const char *name)
{
	const struct sp_jfr_value *v = field(e, name);
	double f = v && v->kind == SP_JFR_V_FLOAT ? v->f : 0;

	return f > 0 && f <= 1 ? (uint64_t)(f * 100000) : f > 1 ? 100000 : 0;
}

static int read_series(struct load *l, const struct kind *k, const struct sp_jfr_event *e)
{
	int r;

	switch (k->what) {
	case CPU_LOAD:
		r = sp_profile_point(l->p, SP_SERIES_CPU_JVM, e->start_ns,
			share(e, "jvmUser") + share(e, "jvmSystem"));
		return r < 0 ? r
			     : sp_profile_point(l->p, SP_SERIES_CPU_MACHINE, e->start_ns,
				       share(e, "machineTotal"));
	case HEAP:
		return sp_profile_point(l->p, SP_SERIES_HEAP, e->start_ns, number(e, "heapUsed"));
	case RSS:
		return sp_profile_point(l->p, SP_SERIES_RSS, e->start_ns, number(e, "size"));
	default:
		return sp_profile_point(l->p, SP_SERIES_GC, e->start_ns, number(e, "sumOfPauses"));
	}
}

static void read_setting(struct load *l, const struct sp_jfr_event *e)
{
	char name[32], value[64];

	text(e, "name", name, sizeof(name));
	text(e, "value", value, sizeof(value));
	if (strcmp(name, "event") == 0)
		snprintf(l->event, sizeof(l->event), "%s", value);
	else if (strcmp(name, "interval") == 0)
		l->interval = strtoull(value, NULL, 10);
	else if (strcmp(name, "wall") == 0)
		l->wall_interval = strtoull(value, NULL, 10);
}

static void read_jvm(struct load *l, const struct sp_jfr_event *e)
{
	char name[128], version[256], line[400];
	uint64_t pid = number(e, "pid");
	int n;

	text(e, "jvmName", name, sizeof(name));
	text(e, "jvmVersion", version, sizeof(version));
	n = snprintf(line, sizeof(line), "%s%s%s", name, name[0] && version[0] ? " " : "", version);
	if (n > 0)
		l->p->runtime_id = sp_dict_string(l->p->dict, line, (size_t)n);
	n = snprintf(line, sizeof(line), "pid %" PRIu64, pid);
	if (pid)
		l->p->target_id = sp_dict_string(l->p->dict, line, (size_t)n);
}

/* Counts in a recording are sums since its start, so the last one is the largest. */
static void read_lost(struct load *l, const struct sp_jfr_event *e)
{
	char reason[sizeof(l->reasons[0].text)];
	uint64_t count = number(e, "count");

	text(e, "reason", reason, sizeof(reason));
	for (size_t i = 0; i < REASONS; i++) {
		if (l->reasons[i].text[0] && strcmp(l->reasons[i].text, reason) != 0)
			continue;
		snprintf(l->reasons[i].text, sizeof(l->reasons[i].text), "%s", reason);
		if (count > l->reasons[i].count)
			l->reasons[i].count = count;
		return;
	}
}

static int read_module(struct load *l, const struct sp_jfr_event *e)
{
	char path[4096];

	if (!l->symbols)
		return 0;
	text(e, "path", path, sizeof(path));
	return sp_symbols_add_module(l->symbols, path, number(e, "device"), number(e, "inode"));
}

static int take_event(void *ctx, const struct sp_jfr_event *e)
{
	struct load *l = ctx;
	const struct kind *k = &kinds[e->wanted - 1];
	uint64_t lost;

	switch (k->what) {
	case SAMPLE:
		return l->error = add_sample(l, k, e);
	case SETTING:
		read_setting(l, e);
		break;
	case JVM:
		read_jvm(l, e);
		break;
	case MODULE:
		return l->error = read_module(l, e);
	case COUNTS:
		lost = number(e, "lost");
		l->lost = lost > l->lost ? lost : l->lost;
		break;
	case LOST:
		read_lost(l, e);
		break;
	default:
		return l->error = read_series(l, k, e);
	}
	return 0;
}

static void settle_lost(struct load *l)
{
	uint64_t told = 0;

	for (size_t i = 0; i < REASONS; i++) {
		told += l->reasons[i].count;
		sp_profile_lost(l->p, l->reasons[i].text, l->reasons[i].count);
	}
	if (l->lost > told)
		sp_profile_lost(l->p, "reason not told", l->lost - told);
}

/* Weights of events that count alike: samples times the interval. */
static void weigh_alike(struct sp_profile *p, unsigned event)
{
	struct sp_event *e = &p->events[event];

	if (e->interval == 0) {
		e->unit = SP_UNIT_COUNT; /* how long a sample stands for is not known */
		return;
	}
	for (size_t i = 0; i < p->row_count; i++)
		if (p->rows[i].event == event)
			p->rows[i].weight = p->rows[i].count * e->interval;
	e->weight = e->samples * e->interval;
}

/* async-profiler gives running threads no time span: such a sample stands for its intervals. */
static void weigh_missing(struct sp_profile *p, unsigned event)
{
	struct sp_event *e = &p->events[event];

	for (size_t i = 0; i < p->row_count; i++) {
		if (p->rows[i].event != event || p->rows[i].weight > 0)
			continue;
		p->rows[i].weight = p->rows[i].count * e->interval;
		e->weight += p->rows[i].weight;
	}
}

static bool is_time(const char *event)
{
	static const char *const names[] = {
		"cpu", "itimer", "ctimer", "wall", "cpu-clock", "task-clock"};

	for (size_t i = 0; i < SP_COUNT(names); i++)
		if (strcmp(names[i], event) == 0)
			return true;
	return false;
}

/* A wall recording names its event "wall"; where it has samples of running threads beside, these
 * stay "cpu". */
static void settle_events(struct load *l)
{
	struct sp_profile *p = l->p;
	bool has_wall = false;

	for (unsigned i = 0; i < p->event_count; i++)
		has_wall |= strcmp(sp_dict_get_string(p->dict, p->events[i].name_id, NULL),
				    "wall") == 0;
	for (unsigned i = 0; i < p->event_count; i++) {
		struct sp_event *e = &p->events[i];
		const char *name = sp_dict_get_string(p->dict, e->name_id, NULL);

		if (strcmp(name, "wall") == 0) {
			e->interval = l->wall_interval ? l->wall_interval : l->interval;
		} else if (strcmp(name, "cpu") == 0) {
			if (l->event[0] && !(has_wall && strcmp(l->event, "wall") == 0))
				e->name_id = sp_dict_string(p->dict, l->event, strlen(l->event));
			e->unit = !l->event[0] || is_time(l->event) ? SP_UNIT_NS : SP_UNIT_COUNT;
			e->interval = l->interval;
		}
		if (e->measured)
			weigh_missing(p, i);
		else
			weigh_alike(p, i);
	}
}

static int find_symbol(
	void *ctx, const char *module, const char *build_id, uint64_t addr, const char **ret_name)
{
	return sp_symbols_find(ctx, module, build_id, addr, ret_name);
}

/* What the reader left behind becomes a whole profile. @r is what it returned. */
static int settle(struct load *l, int r, const struct sp_jfr_stats *st, struct sp_err *err)
{
	if (l->error < 0)
		return sp_err_set(
			err, l->error, "the recording is too large: %s", strerror(-l->error));
	if (r < 0 && (r != -EBADMSG || st->events == 0))
		return err->text[0] ? r : sp_err_set(err, r, "cannot be read: %s", strerror(-r));
	if (r == -EBADMSG)
		sp_profile_note(l->p, err->text);
	if (st->unfinished)
		sp_profile_note(l->p, "the recording ends early: its writer was killed");
	if (st->dropped)
		sp_profile_lost(l->p, "more than a report can hold", st->dropped);
	l->p->start_ns = st->start_ns;
	l->p->duration_ns = st->end_ns > st->start_ns ? st->end_ns - st->start_ns : 0;
	settle_events(l);
	settle_lost(l);
	if (l->symbols && sp_profile_resolve(l->p, find_symbol, l->symbols) < 0)
		return sp_err_set(err, -ENOMEM, "not enough memory to name native functions");
	return 0;
}

int sp_load(int fd, struct sp_symbols *symbols, struct sp_profile **ret, struct sp_err *err)
{
	SP_AUTO_FREE struct load *l = calloc(1, sizeof(*l));
	struct sp_jfr_visitor v = {.ctx = l, .want = want, .event = take_event};
	struct sp_jfr_stats st = {0};
	struct sp_err local;
	int r;

	if (!err)
		err = &local;
	err->text[0] = 0;
	if (!l)
		return sp_err_set(err, -ENOMEM, "not enough memory for the recording");
	l->symbols = symbols;
	r = sp_profile_new(&l->p, SP_LOAD_DICT_CAP);
	if (r < 0)
		return sp_err_set(err, r, "not enough memory for the recording");
	r = sp_jfr_read(fd, l->p->dict, &v, &st, err);
	r = settle(l, r, &st, err);
	if (r < 0) {
		sp_profile_free(l->p);
		return r;
	}
	*ret = l->p;
	return 0;
}
