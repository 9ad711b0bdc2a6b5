/* See hook_events.h. One function per kind of record. */
#include "hook_events.h"

#include "base/clock.h"
#include "hooks/alloc_hook.h"
#include "pool_idle.h"
#include "sig/hook_capture.h"

#include <string.h>

void sp_hook_events_sample(const struct sp_sig_record *rec, struct sp_raw_sample *ret)
{
	*ret = (struct sp_raw_sample){
		.weight = rec->weight, .state = SP_STATE_RUNNING, .syscall_nr = -1};
	ret->snap.tid = rec->tid;
	ret->snap.known = rec->kind == SP_HOOK_SAMPLE ? SP_REG_ALL : SP_HOOK_REGS;
	ret->snap.time_ns = rec->time_ns;
	memcpy(ret->snap.regs, rec->regs, sizeof(rec->regs));
	ret->snap.anchor = rec->anchor;
	ret->snap.stack_addr = rec->stack_addr;
	ret->snap.stack_end = rec->stack_end;
	ret->snap.stack_len = rec->stack_len;
	ret->snap.stack = rec->stack;
	ret->given = rec->given ? rec : NULL;
}

const char *sp_hook_events_name(const struct sp_sig_record *rec)
{
	return (const char *)rec->stack + rec->text_at + rec->text_len;
}

static uint32_t class_of(struct sp_hook_events *rs, const struct sp_sig_record *rec)
{
	static const char unknown[] = "[unknown]";

	if (!rec->text_len)
		return sp_dict_string(rs->dict, unknown, sizeof(unknown) - 1);
	return sp_dict_string(rs->dict, (const char *)rec->stack + rec->text_at, rec->text_len);
}

static bool write_alloc(
	struct sp_hook_events *rs, const struct sp_sig_record *rec, uint32_t thread, uint32_t stack)
{
	uint64_t size = rec->arg[0], weight = rec->arg[1];
	uint32_t class_id = class_of(rs, rec);
	union sp_jfr_val v[] = {{.u = rec->time_ns}, {.u = thread}, {.u = stack}, {.u = class_id},
		{.u = size}, {.u = weight + rec->arg[5]}};
	struct sp_live_object o = {.weak = (void *)rec->arg[2],
		.stack = stack,
		.thread = thread,
		.class_id = class_id,
		.size = size,
		.factor = rec->arg[3],
		.weight = weight * rec->arg[3],
		.time_ns = rec->time_ns,
		.collections = rec->arg[4]};

	if (!class_id)
		return false;
	if (o.weak)
		sp_live_objects_add(rs->live, rs->dict, &o);
	if (rs->args->allocs)
		sp_event_writer_event(rs->record, SP_JFR_ALLOC, v);
	return true;
}

static bool write_monitor(
	struct sp_hook_events *rs, const struct sp_sig_record *rec, uint32_t thread, uint32_t stack)
{
	union sp_jfr_val v[] = {{.u = rec->arg[0]}, {.u = rec->arg[1]}, {.u = thread}, {.u = stack},
		{.u = class_of(rs, rec)}, {.u = rs->holder}, {.u = rec->arg[2]}};

	if (!v[4].u)
		return false;
	sp_event_writer_event(rs->record, SP_JFR_MONITOR_ENTER, v);
	return true;
}

static bool write_park(
	struct sp_hook_events *rs, const struct sp_sig_record *rec, uint32_t thread, uint32_t stack)
{
	bool absolute = rec->arg[4];
	/* Not every park has a blocker. */
	uint32_t class_id = rec->text_len ? class_of(rs, rec) : 0;
	union sp_jfr_val v[] = {{.u = rec->arg[0]}, {.u = rec->arg[1]}, {.u = thread}, {.u = stack},
		{.u = class_id}, {.u = absolute ? 0 : rec->arg[3]},
		{.u = absolute ? rec->arg[3] : 0}, {.u = rec->arg[2]}};

	if (rec->text_len && !class_id)
		return false;
	sp_event_writer_event(rs->record,
		sp_pool_idle_stack(rs->dict, stack) ? SP_JFR_IDLE_PARK : SP_JFR_THREAD_PARK, v);
	return true;
}

static bool write_malloc(
	struct sp_hook_events *rs, const struct sp_sig_record *rec, uint32_t thread, uint32_t stack)
{
	union sp_jfr_val v[] = {{.u = rec->time_ns}, {.u = thread}, {.u = stack},
		{.u = rec->arg[0]}, {.u = rec->arg[2]}};
	uint64_t site = rec->arg[3];

	if (site && site <= SP_NATIVEMEM_SITES) {
		rs->callers->last[site - 1].stack = stack;
		rs->callers->last[site - 1].thread = thread;
		rs->callers->last[site - 1].epoch = rs->epoch;
	}
	sp_event_writer_event(rs->record, SP_JFR_MALLOC, v);
	return true;
}

static bool write_free(struct sp_hook_events *rs, const struct sp_sig_record *rec, uint32_t thread)
{
	union sp_jfr_val v[] = {{.u = rec->time_ns}, {.u = thread}, {.u = 0}, {.u = rec->arg[0]}};

	sp_event_writer_event(rs->record, SP_JFR_FREE, v);
	return true;
}

/* The method itself is the innermost frame. */
static uint32_t leaf_method(struct sp_dict *dict, uint32_t stack)
{
	const struct sp_stack *s = sp_dict_get_stack(dict, stack);

	return s && s->count ? s->frames[0].method : 0;
}

static bool write_call(
	struct sp_hook_events *rs, const struct sp_sig_record *rec, uint32_t thread, uint32_t stack)
{
	union sp_jfr_val v[] = {
		{.u = rec->time_ns}, {.u = thread}, {.u = stack}, {.u = rec->arg[0]}};

	sp_event_writer_event(rs->record, SP_JFR_METHOD_CALL, v);
	return true;
}

static bool write_trace(
	struct sp_hook_events *rs, const struct sp_sig_record *rec, uint32_t thread, uint32_t stack)
{
	union sp_jfr_val v[] = {{.u = rec->arg[0]}, {.u = rec->arg[1]}, {.u = thread}, {.u = stack},
		{.u = leaf_method(rs->dict, stack)}, {.u = rec->arg[2]}};

	sp_event_writer_event(rs->record, SP_JFR_METHOD_TRACE, v);
	return true;
}

void sp_hook_events_rest(
	const struct sp_callers *callers, struct sp_event_writer *r, uint32_t epoch)
{
	for (uint32_t i = 0; i < SP_NATIVEMEM_SITES; i++) {
		union sp_jfr_val v[] = {{.u = sp_clock_mono_ns()}, {.u = callers->last[i].thread},
			{.u = callers->last[i].stack}, {.u = 0}, {.u = 0}};

		if (v[2].u && callers->last[i].epoch == epoch && sp_nativemem_rest(i, &v[4].u))
			sp_event_writer_event(r, SP_JFR_MALLOC, v);
	}
}

struct live_writing {
	struct sp_event_writer *record;
	uint64_t now_ns, collections;
	bool end;
};

/* Readers sum sizes up: theirs is what it stands for. */
static void write_live(void *ctx, const struct sp_live_object *o)
{
	const struct live_writing *w = ctx;
	union sp_jfr_val v[] = {{.u = w->now_ns}, {.u = o->thread}, {.u = o->stack},
		{.u = o->class_id}, {.u = o->weight}, {.u = o->time_ns}};
	union sp_jfr_val age[] = {{.u = w->now_ns}, {.u = o->class_id}, {.u = o->size},
		{.u = o->weight}, {.u = w->collections - o->collections}};

	sp_event_writer_event(w->record, w->end ? SP_JFR_LIVE : SP_JFR_LIVE_SO_FAR, v);
	if (w->end)
		sp_event_writer_event(w->record, SP_JFR_LIVE_AGE, age);
}

uint64_t sp_hook_events_live(struct sp_live_objects *live, struct sp_event_writer *r,
	struct sp_dict *dict, bool end, uint64_t *ret_lost)
{
	struct live_writing w = {r, sp_clock_mono_ns(), sp_alloc_collections(), end};

	return sp_live_objects_each(live, dict, write_live, &w, ret_lost);
}

uint8_t sp_hook_events_trim(uint32_t kind)
{
	switch (kind) {
	case SP_HOOK_ALLOC:
	case SP_HOOK_MONITOR:
		return SP_TRIM_JVM;
	case SP_HOOK_CALL:
		return SP_TRIM_CALL;
	case SP_HOOK_TRACE:
		return SP_TRIM_LEFT;
	default:
		return SP_TRIM_SELF;
	}
}

bool sp_hook_events_write(
	struct sp_hook_events *rs, const struct sp_sig_record *rec, uint32_t thread, uint32_t stack)
{
	switch (rec->kind) {
	case SP_HOOK_ALLOC:
		return write_alloc(rs, rec, thread, stack);
	case SP_HOOK_MONITOR:
		return write_monitor(rs, rec, thread, stack);
	case SP_HOOK_PARK:
		return write_park(rs, rec, thread, stack);
	case SP_HOOK_MALLOC:
		return write_malloc(rs, rec, thread, stack);
	case SP_HOOK_FREE:
		return write_free(rs, rec, thread);
	case SP_HOOK_CALL:
		return write_call(rs, rec, thread, stack);
	case SP_HOOK_TRACE:
		return write_trace(rs, rec, thread, stack);
	default:
		return false;
	}
}

void sp_hook_events_drop(struct sp_hook_events *rs, const struct sp_sig_record *rec)
{
	if (rec->kind == SP_HOOK_ALLOC && rec->arg[2])
		sp_live_objects_drop(rs->live, (void *)rec->arg[2]);
}
