/* Taking events of a recording into a profile: see load_event.h. Which event weighs what is one
 * table. Settings may come after the samples that they describe, so names and intervals are
 * settled at the end. */
#include "prof/load/load_event.h"
#include "prof/load/load_metadata.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/saturate.h"
#include "prof/load/class_leaf.h"
#include "prof/load/sample_task.h"
#include "prof/model/timeline.h"

enum what {
	SAMPLE = 1,
	LOCK_KIND,
	CALL_COUNT,
	SETTING,
	JVM,
	MODULE,
	COUNTS,
	LOST,
	SERIES,
	PROCESS,
	SPAN
};

/* What a sample's picked fields are. */
enum { WEIGHT, COUNT, CLASS, ADDRESS, HOLDER = ADDRESS, TIMED = WEIGHT };

/* How a type of the recording is read. */
struct kind {
	const char *type;
	enum what what;
	const char *event; /* samples: the event's name */
	enum sp_unit unit;
	bool duration;		       /* weighed by how long it took */
	bool measured;		       /* weighed by its first field */
	bool dump;		       /* only the last one counts */
	bool wall;		       /* of threads that run and threads that do not */
	bool times;		       /* its weight is that of each of its count */
	bool call;		       /* of a traced method: sparkprof.CallCount is about it */
	bool native_lock;	       /* sparkprof.NativeLockKind is about it */
	bool malloc;		       /* may be a leak */
	enum sp_frame_type class_type; /* of the class on top of the stack */
	const char
		*fields[SP_JFR_PICKS + 1]; /* weight, count, class, address or holder; "": none */
};

#define ALLOC "alloc", SP_UNIT_BYTES
#define LOCKS "lock", SP_UNIT_NS, true
static const struct kind kinds[] = {
	{"jdk.ExecutionSample", SAMPLE, "cpu", SP_UNIT_NS, .fields = {""}},
	{"jdk.NativeMethodSample", SAMPLE, "native", SP_UNIT_COUNT, .fields = {""}},
	{"jdk.CPUTimeSample", SAMPLE, "cpu-time", SP_UNIT_NS, .measured = true,
		.fields = {"samplingPeriod"}},
	{"profiler.WallClockSample", SAMPLE, "wall", SP_UNIT_NS, .measured = true, .wall = true,
		.fields = {"timeSpan", "samples"}},
	{"jdk.ObjectAllocationInNewTLAB", SAMPLE, ALLOC, .measured = true,
		.class_type = SP_FRAME_INLINED, .fields = {"tlabSize", "", "objectClass"}},
	{"jdk.ObjectAllocationOutsideTLAB", SAMPLE, ALLOC, .measured = true,
		.class_type = SP_FRAME_KERNEL, .fields = {"allocationSize", "", "objectClass"}},
	{"jdk.ObjectAllocationSample", SAMPLE, ALLOC, .measured = true,
		.class_type = SP_FRAME_KERNEL, .fields = {"weight", "", "objectClass"}},
	{"profiler.LiveObject", SAMPLE, "live", SP_UNIT_BYTES, .measured = true,
		.class_type = SP_FRAME_INLINED, .fields = {"allocationSize", "", "objectClass"}},
	{"sparkprof.LiveSoFar", SAMPLE, "live", SP_UNIT_BYTES, .measured = true, .dump = true,
		.class_type = SP_FRAME_INLINED, .fields = {"allocationSize", "", "objectClass"}},
	{"profiler.Malloc", SAMPLE, "nativemem", SP_UNIT_BYTES, .measured = true, .malloc = true,
		.fields = {"size", "", "", "address"}},
	{"jdk.JavaMonitorEnter", SAMPLE, LOCKS, .class_type = SP_FRAME_INLINED,
		.fields = {"", "", "monitorClass", "previousOwner"}},
	{"jdk.ThreadPark", SAMPLE, LOCKS, .class_type = SP_FRAME_INLINED,
		.fields = {"", "", "parkedClass"}},
	{"sparkprof.IdlePark", SAMPLE, "idle", SP_UNIT_NS, true, .class_type = SP_FRAME_INLINED,
		.fields = {"", "", "parkedClass"}},
	{"profiler.NativeLock", SAMPLE, "nativelock", SP_UNIT_NS, true, .native_lock = true,
		.class_type = SP_FRAME_INLINED, .fields = {""}},
	{"sparkprof.NativeLockKind", LOCK_KIND, "nativelock",
		.fields = {"", "", "lockClass", "previousOwner"}},
	{"jdk.MethodTrace", SAMPLE, "trace", SP_UNIT_NS, true, .times = true, .call = true,
		.fields = {"", "count"}},
	/* Of earlier recordings, and of calls that are counted: jdk.MethodTrace without a time. */
	{"sparkprof.MethodCall", SAMPLE, "calls", SP_UNIT_COUNT, .times = true,
		.fields = {"", "count"}},
	{"sparkprof.CallCount", CALL_COUNT, "calls", .fields = {"timed", "count"}},
	{"jdk.ActiveSetting", SETTING},
	{"jdk.JVMInformation", JVM},
	{"sparkprof.Module", MODULE},
	{"sparkprof.Counts", COUNTS},
	{"sparkprof.Lost", LOST},
	{"jdk.CPULoad", SERIES},
	{"jdk.GCHeapSummary", SERIES},
	{"jdk.CPUInformation", SERIES},
	{"jdk.ResidentSetSize", SERIES},
	{"jdk.GarbageCollection", SERIES},
	{"sparkprof.PythonProcess", SERIES},
	{"sparkprof.MemoryGroup", SERIES},
	{"jdk.ContainerCPUThrottling", SERIES},
	{"profiler.ProcessSample", PROCESS},
	{"profiler.Span", SPAN},
	{"sparkprof.Application", SPAN},
	{"sparkprof.ClassSource", SPAN},
	{"sparkprof.SqlPlan", SPAN},
	{"sparkprof.Stage", SPAN},
	{"sparkprof.Task", SPAN},
};
_Static_assert(SP_COUNT(kinds) <= SP_COUNT(((struct sp_loading *)0)->events), "kinds");

/* The state's name as reports show it. */
static const char *const state_names[SP_STATES] = {
	[SP_STATE_RUNNING] = "running",
	[SP_STATE_RUNNABLE] = "runnable",
	[SP_STATE_LOCK] = "lock",
	[SP_STATE_NET] = "net",
	[SP_STATE_DISK] = "disk",
	[SP_STATE_SLEEP] = "sleep",
	[SP_STATE_POLL] = "poll",
	[SP_STATE_BLOCKED] = "blocked",
};

static bool in_list(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; *p; p += strspn(p, ",")) {
		size_t len = strcspn(p, ",");

		if (len == n && strncasecmp(p, word, n) == 0)
			return true;
		p += len;
	}
	return false;
}

/* What Python did while its JVM waited is known by times. */
static bool has_times(const struct sp_loading *l)
{
	return !l->opts->timeless || (l->spans && l->spans->helped && !l->opts->python_both);
}

int sp_loading_init(struct sp_loading *l, const struct sp_load_opts *opts,
	struct sp_task_spans *spans, struct sp_symbols *symbols, pthread_mutex_t *lock)
{
	static const char *const first[] = {"cpu", "wall"};
	int r;

	memset(l, 0, sizeof(*l));
	l->opts = opts;
	l->spans = spans;
	l->symbols = symbols;
	l->lock = lock;
	l->known = sp_jfr_stack_cache_new(); /* none: slower */
	l->chosen = opts->from_ns || opts->to_ns || opts->states || opts->min_duration_ns ||
		    opts->thread;
	for (int i = 0; i < SP_STATES; i++)
		l->state_wanted[i] =
			!opts->states || (state_names[i] && in_list(opts->states, state_names[i]));
	r = opts->dict && opts->readers <= 1
		    ? sp_profile_new_with(&l->p, opts->dict)
		    : sp_profile_new(&l->p, opts->dict_cap ? opts->dict_cap : SP_LOAD_DICT_CAP);
	if (r == 0 && opts->dict)
		sp_profile_defer_dedup(l->p);
	else if (r == 0 && opts->several && !opts->dict_cap)
		sp_dict_large_pages(l->p->dict);
	if (r == 0 && has_times(l))
		sp_profile_expect(l->p, opts->start_ns, opts->end_ns, opts->bucket_ns);
	/* Formats with room for one event show the first: not the one that was sampled first. */
	for (size_t i = 0; i < SP_COUNT(first) && r == 0; i++)
		r = sp_profile_event(l->p, first[i], SP_UNIT_NS, 0, i > 0) < 0 ? -ENOMEM : 0;
	return r;
}

void sp_loading_done(struct sp_loading *l)
{
	sp_profile_free(l->p);
	free(l->thread_wanted);
	sp_jfr_stack_cache_free(l->known);
	sp_sample_task_free(l->roots);
	sp_class_leaf_free(l);
	sp_losses_done(&l->losses);
	sp_others_done(&l->others);
}

static bool event_asked(const struct sp_loading *l, const char *event)
{
	for (size_t i = 0; i < l->opts->event_count; i++)
		if (strcmp(l->opts->events[i], event) == 0)
			return true;
	return l->opts->event_count == 0;
}

/* Events with a fixed name need not be read at all where others are asked for. */
static bool event_wanted(const struct sp_loading *l, const struct kind *k)
{
	/* Threads with nothing to do are shown to who asks for them. */
	if (k->what == SAMPLE && l->opts->event_count == 0 && strcmp(k->event, "idle") == 0)
		return false;
	if (k->what == SPAN)
		return l->spans && !l->spans->read;
	if ((k->what != SAMPLE && k->what != LOCK_KIND) || l->opts->event_count == 0 ||
		strcmp(k->event, "cpu") == 0)
		return true;
	return event_asked(l, k->event) || (l->leaks && k->malloc) ||
	       (k->call && event_asked(l, "calls"));
}

static bool is_ours(const char *type)
{
	return strncmp(type, "sparkprof.", strlen("sparkprof.")) == 0;
}

/* Our recordings name tasks, and others may: most of those do not. */
int sp_loading_want(void *ctx, const char *type)
{
	struct sp_loading *l = ctx;

	l->ours |= is_ours(type);
	for (size_t i = 0; i < SP_COUNT(kinds); i++)
		if (strcmp(kinds[i].type, type) == 0)
			return !event_wanted(l, &kinds[i])			 ? 0
			       : kinds[i].what == SPAN && is_ours(kinds[i].type) ? -EAGAIN
										 : (int)i + 1;
	return 0;
}

const char *const *sp_loading_fields(void *ctx, int wanted)
{
	const struct kind *k = &kinds[wanted - 1];

	return k->what == SAMPLE || k->what == LOCK_KIND || k->what == CALL_COUNT ? k->fields
										  : NULL;
}

static uint32_t state_id(struct sp_loading *l, uint8_t state)
{
	if (state >= SP_STATES || !state_names[state])
		return 0;
	if (!l->states[state])
		l->states[state] =
			sp_dict_string(l->p->dict, state_names[state], strlen(state_names[state]));
	return l->states[state];
}

static bool thread_matches(const struct sp_loading *l, uint32_t thread)
{
	const struct sp_thread *t = sp_dict_get_thread(l->p->dict, thread);
	const char *name = t ? sp_dict_get_string(l->p->dict, t->name_id, NULL) : "";

	return fnmatch(l->opts->thread, name, 0) == 0;
}

static bool thread_wanted(struct sp_loading *l, uint32_t thread)
{
	if (!l->opts->thread)
		return true;
	if (sp_grow_zero(&l->thread_wanted, &l->thread_cap, thread, 1, 64) < 0)
		return thread_matches(l, thread);
	if (!l->thread_wanted[thread])
		l->thread_wanted[thread] = thread_matches(l, thread) ? 2 : 1;
	return l->thread_wanted[thread] == 2;
}

/* Samples of CPU time have no state of their own: who is sampled runs. */
static uint8_t state_of(const struct kind *k, const struct sp_jfr_event *e)
{
	uint8_t state = e->state < SP_STATES ? e->state : SP_STATE_UNKNOWN;

	return state == SP_STATE_UNKNOWN && k == kinds ? SP_STATE_RUNNING : state;
}

static bool in_time(const struct sp_loading *l, const struct sp_jfr_event *e)
{
	const struct sp_load_opts *o = l->opts;

	return (!o->from_ns || e->start_ns >= o->from_ns) && (!o->to_ns || e->start_ns <= o->to_ns);
}

static bool sample_wanted(struct sp_loading *l, const struct kind *k, const struct sp_jfr_event *e)
{
	const struct sp_load_opts *o = l->opts;
	uint64_t took = k->duration ? e->duration_ns : e->picked[WEIGHT];

	if (!in_time(l, e))
		return false;
	if (o->states && !l->state_wanted[state_of(k, e)])
		return false;
	/* async-profiler gives running threads no time span: they wait for nothing */
	if (o->min_duration_ns && k->unit == SP_UNIT_NS && (k->duration || k->measured) &&
		took < o->min_duration_ns)
		return false;
	return thread_wanted(l, e->thread);
}

int sp_loading_flush(struct sp_loading *l)
{
	size_t n = l->pending_count;

	l->pending_count = 0;
	return !has_times(l) ? sp_profile_add_many(l->p, l->pending, n)
			     : sp_profile_add_many_at(l->p, l->pending, l->times, n);
}

/* On an executor most threads wait for work, in no task. */
static bool is_outside(const struct sp_loading *l, const struct kind *k, const struct sp_sample *s)
{
	return l->tasks_only && !s->task && k->wall;
}

/* It was added just before. */
static uint64_t picked_of(
	const struct sp_loading *l, const struct kind *k, const struct sp_jfr_event *e, int which)
{
	bool is_same_wait = k->native_lock && l->lock_kind.start_ns == e->start_ns &&
			    l->lock_kind.thread == e->thread;

	return is_same_wait ? l->lock_kind.picked[which] : e->picked[which];
}

/* The profile's event of such samples, made at the first. Returns its number or -errno. */
static int event_of(struct sp_loading *l, int wanted)
{
	const struct kind *k = &kinds[wanted - 1];
	int event;

	if (l->events[wanted - 1])
		return l->events[wanted - 1] - 1;
	event = sp_profile_event(l->p, k->event, k->unit, 0, k->measured || k->duration);
	if (event >= 0)
		l->events[wanted - 1] = event + 1;
	return event;
}

static void weigh(const struct kind *k, const struct sp_jfr_event *e, struct sp_sample *s)
{
	if (k->fields[WEIGHT] && k->fields[COUNT] && k->fields[COUNT][0])
		s->count = e->picked[COUNT];
	if (k->duration)
		s->weight = e->duration_ns;
	else if (k->measured)
		s->weight = e->picked[WEIGHT];
	/* Other recordings of such events have no count: each is one. */
	s->count += k->times && s->count == 0;
	s->weight *= k->times ? s->count : 1;
}

/* Puts the class that it is about on top of its stack. */
static int add_class(struct sp_loading *l, const struct kind *k, const struct sp_jfr_event *e,
	struct sp_sample *s)
{
	uint32_t class_id = (uint32_t)picked_of(l, k, e, CLASS);

	if (k->duration) /* of locks; others pick nothing there */
		s->holder = (uint32_t)picked_of(l, k, e, HOLDER);
	if (!class_id || !s->stack)
		return 0;
	s->stack = sp_class_leaf_stack(l, s->stack, class_id, k->class_type);
	return s->stack ? 0 : -ENOMEM;
}

/* *ret_early_ns: so much of its weight was before its task. */
static int find_task(struct sp_loading *l, const struct kind *k, const struct sp_jfr_event *e,
	struct sp_sample *s, uint64_t *ret_early_ns)
{
	int r = sp_sample_task_find(
		l, e, k->wall ? s->weight : 0, &s->task, &s->thread, ret_early_ns);

	if (r < 0)
		return r;
	if (l->opts->tasks_only == SP_TASKS_AND_ALL)
		*ret_early_ns = 0;
	s->weight -= *ret_early_ns;
	l->outside.weight = sp_saturate_add(l->outside.weight, *ret_early_ns);
	if (sp_task_spans_fold(l->spans, &s->task))
		s->thread = 0;
	return 0;
}

static int add_sample(struct sp_loading *l, int wanted, const struct sp_jfr_event *e)
{
	const struct kind *k = &kinds[wanted - 1];
	struct sp_sample *s = &l->pending[l->pending_count]; /* in its place: not copied */
	uint64_t early_ns = 0;
	int event, r;

	if ((l->chosen && !sample_wanted(l, k, e)) || (k->dump && l->dump_ns != e->start_ns))
		return 0;
	event = event_of(l, wanted);
	if (event < 0)
		return event;
	*s = (struct sp_sample){.stack = e->stack, .thread = e->thread, .count = 1, .weight = 1};
	s->event = (uint32_t)event;
	s->state = state_id(l, state_of(k, e));
	weigh(k, e, s);
	r = add_class(l, k, e, s);
	if (r == 0 && l->spans)
		r = find_task(l, k, e, s, &early_ns);
	if (r == 0 && l->leaks && k->malloc)
		r = sp_loading_leak(l, e->start_ns, e->picked[ADDRESS], s);
	if (r < 0)
		return r;
	if (is_outside(l, k, s)) {
		l->outside.count = sp_saturate_add(l->outside.count, s->count);
		l->outside.weight = sp_saturate_add(l->outside.weight, s->weight);
		return 0;
	}
	l->times[l->pending_count++] = (struct sp_timed){e->start_ns + early_ns,
		(k->measured || k->duration) && k->unit == SP_UNIT_NS ? s->weight : 0};
	return l->pending_count < SP_PROFILE_BATCH ? 0 : sp_loading_flush(l);
}

static int wanted_of(const char *type)
{
	for (size_t i = 0; i < SP_COUNT(kinds); i++)
		if (strcmp(kinds[i].type, type) == 0)
			return (int)i + 1;
	return 0;
}

/* A traced call. Its count, and whether it is counted only, was told just before. */
static int add_call(struct sp_loading *l, const struct sp_jfr_event *e)
{
	struct sp_jfr_event call = *e;
	int wanted = e->wanted;

	if (l->call_count.start_ns == e->start_ns && l->call_count.thread == e->thread) {
		call.picked[COUNT] = l->call_count.picked[COUNT];
		if (!l->call_count.picked[TIMED])
			wanted = wanted_of("sparkprof.MethodCall");
		l->call_count.start_ns = 0;
	}
	return event_asked(l, kinds[wanted - 1].event) ? add_sample(l, wanted, &call) : 0;
}

int sp_loading_event(void *ctx, const struct sp_jfr_event *e)
{
	struct sp_loading *l = ctx;

	switch (kinds[e->wanted - 1].what) {
	case SAMPLE:
		l->dump_met |= kinds[e->wanted - 1].dump;
		if (l->dump_met && !l->dump_ns)
			return -EAGAIN;
		return l->error = kinds[e->wanted - 1].call ? add_call(l, e)
							    : add_sample(l, e->wanted, e);
	case CALL_COUNT:
		l->call_count = *e;
		break;
	case LOCK_KIND:
		l->lock_kind = *e;
		break;
	case SETTING:
		sp_load_metadata_setting(l, e);
		break;
	case JVM:
		sp_load_metadata_jvm(l, e);
		break;
	case MODULE:
		return l->error = sp_load_metadata_module(l, e);
	case COUNTS:
		return l->error = sp_load_metadata_counts(l, e);
	case LOST:
		return l->error = sp_load_metadata_lost(l, e);
	case PROCESS:
		return l->error = in_time(l, e) ? sp_others_add(&l->others, e) : 0;
	case SPAN:
		return -EAGAIN; /* samples before it cannot know their tasks */
	default:
		return l->error = sp_load_metadata_series(l, kinds[e->wanted - 1].type, e);
	}
	return 0;
}
