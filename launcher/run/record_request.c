/* The fields of a recording: see record_request.h. */
#include "record_request.h"

#include "base/cleanup.h"
#include "cli/event_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_hook(struct sp_record_options *o, const struct sp_call_event *e)
{
	const struct sp_record_hook *h = sp_record_hook_find(e->name);

	if (h)
		o->num[h->at] = e->given ? e->interval : h->amount;
}

/* Java methods, of -e with how many calls one counts for, and of --trace. */
static void add_methods(struct sp_record_request *r, const struct sp_call *call)
{
	for (size_t i = 0; i < call->n_events; i++) {
		const struct sp_call_event *e = &call->events[i];

		if (sp_event_is_method(e->name))
			sp_buf_addf(&r->methods, "%s%s:%llu", r->methods.len ? ";" : "", e->name,
				(unsigned long long)(e->given ? e->interval : 1));
	}
	for (size_t i = 0; i < call->trace.n; i++)
		sp_buf_addf(&r->trace, "%s%s", i ? ";" : "", call->trace.text[i]);
}

/* The agent's word for what is sampled where nothing but hooks reports. */
static const char *hook_word(const struct sp_call_event *hook)
{
	if (!hook)
		return "trace";
	return sp_event_is_method(hook->name) ? "calls" : hook->name;
}

static void add_events(struct sp_record_options *o, const struct sp_call *call)
{
	const struct sp_call_event *wall = NULL, *other = NULL, *hook = NULL;
	bool alloc = false, live = false;

	for (size_t i = 0; i < call->n_events; i++) {
		const struct sp_call_event *e = &call->events[i];

		alloc |= strcmp(e->name, "alloc") == 0;
		live |= strcmp(e->name, "live") == 0;
		if (strcmp(e->name, "wall") == 0) {
			wall = e;
		} else if (sp_event_is_hook(e->name)) {
			hook = e;
			add_hook(o, e);
		} else {
			other = e;
		}
	}
	if (live || call->live)
		o->num[SP_RECORD_FLAGS] |= SP_RECORD_LIVE;
	if (live && alloc && !call->live)
		o->num[SP_RECORD_FLAGS] |= SP_RECORD_ALLOCS;
	if (other && wall)
		o->num[SP_RECORD_WALL_NS] = wall->interval ? wall->interval : SP_DEFAULT_WALL_NS;
	other = other ? other : wall;
	o->text[SP_RECORD_EVENT] = other ? other->name : hook_word(hook);
	o->num[SP_RECORD_INTERVAL] = other ? other->interval : 0;
}

/* --loop: the agent names and opens the files, as it does where nobody attached. */
static void add_loop(struct sp_record_request *r, const struct sp_call *call)
{
	SP_AUTO_FREE char *cwd = getcwd(NULL, 0);
	const char *file = call->outputs[0].path;

	sp_buf_addf(&r->loop, "%s ", call->loop);
	for (const char *c = cwd; file[0] != '/' && c && *c; c++)
		sp_buf_adds(&r->loop, *c == '%' ? "%%" : (char[]){*c, 0});
	sp_buf_addf(&r->loop, "%s%s", file[0] == '/' ? "" : "/", file);
	r->loop.failed |= !cwd;
	r->fields.text[SP_RECORD_LOOP] = sp_buf_str(&r->loop);
}

bool sp_call_samples_python(const struct sp_call *call)
{
	return call->action == SP_ACTION_COLLECT && call->python != SP_PYTHON_OFF &&
	       (call->native || call->blocking);
}

int sp_record_request_init(struct sp_record_request *r, const struct sp_call *call, bool stream)
{
	static const char *const captures[] = {"", "ring", "signal"};
	static const char *const pythons[] = {"", "", "on", "off"};
	static const char *const stacks[] = {"", "no", "fp", "dwarf", "lbr", "vm", "vmx"};
	struct sp_record_options *o = &r->fields;

	memset(r, 0, sizeof(*r));
	o->num[SP_RECORD_ALLOC] = o->num[SP_RECORD_LOCK_NS] = SP_RECORD_NONE;
	o->num[SP_RECORD_NATIVELOCK_NS] = o->num[SP_RECORD_NATIVEMEM] = SP_RECORD_NONE;
	o->num[SP_RECORD_FLAGS] =
		(call->nofree ? SP_RECORD_NOFREE : 0u) |
		(call->no_redact ? SP_RECORD_NOREDACT : 0u) |
		(call->all_user ? SP_RECORD_ALLUSER : 0u) | (call->ttsp ? SP_RECORD_TTSP : 0u) |
		(call->vtable ? SP_RECORD_VTABLE : 0u) |
		(call->comptask ? SP_RECORD_COMPTASK : 0u) |
		(call->action != SP_ACTION_COLLECT ? SP_RECORD_LEFT : 0u) |
		(call->nostop ? SP_RECORD_NOSTOP : 0u) | (stream ? SP_RECORD_STREAM : 0u) |
		(call->action == SP_ACTION_RESUME ? SP_RECORD_APPEND : 0u);
	add_events(o, call);
	add_methods(r, call);
	o->num[SP_RECORD_DEPTH] = call->depth.most;
	if (call->depth.left < call->depth.most)
		o->num[SP_RECORD_DEPTH_LEFT] = call->depth.left;
	o->num[SP_RECORD_PROC_NS] = call->proc_ns;
	o->num[SP_RECORD_MEMORY] = call->memory;
	o->num[SP_RECORD_CHUNK_BYTES] = call->chunk_bytes;
	o->num[SP_RECORD_CHUNK_NS] = call->chunk_ns;
	if (call->action != SP_ACTION_COLLECT)
		o->num[SP_RECORD_TIMEOUT_NS] = call->timeout_ns;
	o->text[SP_RECORD_METHODS] = sp_buf_str(&r->methods);
	o->text[SP_RECORD_TRACE] = sp_buf_str(&r->trace);
	o->text[SP_RECORD_CSTACK] = stacks[call->cstack];
	o->text[SP_RECORD_KERNEL] = call->kernel == SP_KERNEL_OFF ? "off" : "";
	o->text[SP_RECORD_CAPTURE] = captures[call->capture];
	o->text[SP_RECORD_PYTHON] =
		sp_call_samples_python(call) ? "launcher" : pythons[call->python];
	o->text[SP_RECORD_FILTER] = call->filter;
	o->text[SP_RECORD_THREAD] = call->thread;
	o->text[SP_RECORD_TARGET_CPU] = call->target_cpu;
	o->text[SP_RECORD_BEGIN] = call->begin;
	o->text[SP_RECORD_END] = call->end;
	o->text[SP_RECORD_DRIVER_UI] = call->driver_ui;
	if (call->loop)
		add_loop(r, call);
	return r->methods.failed || r->trace.failed || r->loop.failed ? -ENOMEM : 0;
}

void sp_record_request_done(struct sp_record_request *r)
{
	sp_buf_done(&r->methods);
	sp_buf_done(&r->trace);
	sp_buf_done(&r->loop);
}

static void list(struct sp_buf *ret, const char *name, bool is_there)
{
	if (is_there)
		sp_buf_addf(ret, "%s%s", ret->len ? ", " : "", name);
}

void sp_record_request_events(const struct sp_record_options *o, struct sp_buf *ret)
{
	static const char *const alone[] = {"calls", "trace"};
	uint64_t flags = o->num[SP_RECORD_FLAGS];
	bool hook = false;

	if (!o->text[SP_RECORD_EVENT] || !o->text[SP_RECORD_EVENT][0])
		return;
	hook = sp_record_hook_find(o->text[SP_RECORD_EVENT]);
	for (size_t i = 0; i < SP_COUNT(alone); i++)
		hook |= strcmp(alone[i], o->text[SP_RECORD_EVENT]) == 0;
	list(ret, o->text[SP_RECORD_EVENT], !hook);
	list(ret, "wall", o->num[SP_RECORD_WALL_NS]);
	list(ret, "alloc",
		o->num[SP_RECORD_ALLOC] != SP_RECORD_NONE &&
			(!(flags & SP_RECORD_LIVE) || flags & SP_RECORD_ALLOCS));
	list(ret, "live", flags & SP_RECORD_LIVE);
	list(ret, "lock", o->num[SP_RECORD_LOCK_NS] != SP_RECORD_NONE);
	list(ret, "nativelock", o->num[SP_RECORD_NATIVELOCK_NS] != SP_RECORD_NONE);
	list(ret, "nativemem", o->num[SP_RECORD_NATIVEMEM] != SP_RECORD_NONE);
	list(ret, o->text[SP_RECORD_METHODS], o->text[SP_RECORD_METHODS][0]);
	list(ret, "trace", o->text[SP_RECORD_TRACE][0]);
}

static void word(struct sp_buf *ret, const char *name, uint64_t value, uint64_t none)
{
	if (value != none)
		sp_buf_addf(ret, ",%s=%llu", name, (unsigned long long)value);
}

void sp_record_request_words(const struct sp_record_options *o, struct sp_buf *ret)
{
	static const struct {
		const char *name;
		enum sp_record_text at;
	} texts[] = {{"methods", SP_RECORD_METHODS}, {"trace", SP_RECORD_TRACE},
		{"cstack", SP_RECORD_CSTACK}, {"kernel", SP_RECORD_KERNEL},
		{"capture", SP_RECORD_CAPTURE}, {"python", SP_RECORD_PYTHON},
		{"filter", SP_RECORD_FILTER}, {"thread", SP_RECORD_THREAD},
		{"target-cpu", SP_RECORD_TARGET_CPU}, {"begin", SP_RECORD_BEGIN},
		{"end", SP_RECORD_END}, {"driver-ui", SP_RECORD_DRIVER_UI}};
	uint64_t flags = o->num[SP_RECORD_FLAGS];

	if (o->text[SP_RECORD_GIVEN] && o->text[SP_RECORD_GIVEN][0]) {
		sp_buf_adds(ret, o->text[SP_RECORD_GIVEN]);
		return;
	}
	if (!o->text[SP_RECORD_EVENT] || !o->text[SP_RECORD_EVENT][0])
		return;
	sp_buf_addf(ret, "start,event=%s", o->text[SP_RECORD_EVENT]);
	word(ret, "interval", o->num[SP_RECORD_INTERVAL], 0);
	word(ret, "wall", o->num[SP_RECORD_WALL_NS], 0);
	word(ret, "alloc", o->num[SP_RECORD_ALLOC], SP_RECORD_NONE);
	sp_buf_adds(ret, flags & SP_RECORD_LIVE ? ",live" : "");
	word(ret, "lock", o->num[SP_RECORD_LOCK_NS], SP_RECORD_NONE);
	word(ret, "nativelock", o->num[SP_RECORD_NATIVELOCK_NS], SP_RECORD_NONE);
	word(ret, "nativemem", o->num[SP_RECORD_NATIVEMEM], SP_RECORD_NONE);
	sp_buf_adds(ret, flags & SP_RECORD_NOFREE ? ",nofree" : "");
	sp_buf_adds(ret, flags & SP_RECORD_ALLUSER ? ",alluser" : "");
	sp_buf_adds(ret, flags & SP_RECORD_TTSP ? ",ttsp" : "");
	sp_buf_adds(ret, flags & SP_RECORD_NOSTOP ? ",nostop" : "");
	sp_buf_adds(ret, flags & SP_RECORD_VTABLE ? ",vtable" : "");
	sp_buf_adds(ret, flags & SP_RECORD_COMPTASK ? ",comptask" : "");
	for (size_t i = 0; i < SP_COUNT(texts); i++)
		if (o->text[texts[i].at] && o->text[texts[i].at][0] &&
			strcmp(o->text[texts[i].at], "launcher") != 0)
			sp_buf_addf(ret, ",%s=%s", texts[i].name, o->text[texts[i].at]);
	word(ret, "jstackdepth", o->num[SP_RECORD_DEPTH], 0);
	if (o->num[SP_RECORD_DEPTH_LEFT])
		sp_buf_addf(ret, "/%llu", (unsigned long long)o->num[SP_RECORD_DEPTH_LEFT]);
	if (o->num[SP_RECORD_PROC_NS])
		sp_buf_addf(ret, ",proc=%lluns", (unsigned long long)o->num[SP_RECORD_PROC_NS]);
	word(ret, "memory", o->num[SP_RECORD_MEMORY], 0);
	word(ret, "chunksize", o->num[SP_RECORD_CHUNK_BYTES], 0);
	sp_buf_addf(ret, ",chunktime=%lluns", (unsigned long long)o->num[SP_RECORD_CHUNK_NS]);
	if (o->num[SP_RECORD_TIMEOUT_NS])
		sp_buf_addf(
			ret, ",timeout=%lluns", (unsigned long long)o->num[SP_RECORD_TIMEOUT_NS]);
}
