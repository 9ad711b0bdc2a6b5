/* See hook_events.h. One function per kind of record. */
#include "hook_events.h"

#include "base/clock.h"
#include "hooks/alloc_hook.h"
#include "jfr/event_fields.h"
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
		sp_event_writer_event(rs->record,
			SP_JFR_EVENT(ALLOC, .startTime.u = rec->time_ns, .eventThread.u = thread,
				.stackTrace.u = stack, .objectClass.u = class_id,
				.allocationSize.u = size, .tlabSize.u = weight + rec->arg[5]));
	return true;
}

static bool write_monitor(
	struct sp_hook_events *rs, const struct sp_sig_record *rec, uint32_t thread, uint32_t stack)
{
	uint32_t class_id = class_of(rs, rec);

	if (!class_id)
		return false;
	sp_event_writer_event(rs->record,
		SP_JFR_EVENT(MONITOR_ENTER, .startTime.u = rec->arg[0], .duration.u = rec->arg[1],
			.eventThread.u = thread, .stackTrace.u = stack, .monitorClass.u = class_id,
			.previousOwner.u = rs->holder, .address.u = rec->arg[2]));
	return true;
}

static bool write_park(
	struct sp_hook_events *rs, const struct sp_sig_record *rec, uint32_t thread, uint32_t stack)
{
	bool absolute = rec->arg[4];
	/* Not every park has a blocker. */
	uint32_t class_id = rec->text_len ? class_of(rs, rec) : 0;

	if (rec->text_len && !class_id)
		return false;
	sp_event_writer_event(rs->record,
		sp_pool_idle_stack(rs->dict, stack) ? SP_JFR_IDLE_PARK : SP_JFR_THREAD_PARK,
		SP_JFR_VALUES(THREAD_PARK, .startTime.u = rec->arg[0], .duration.u = rec->arg[1],
			.eventThread.u = thread, .stackTrace.u = stack, .parkedClass.u = class_id,
			.timeout.u = absolute ? 0 : rec->arg[3],
			.until.u = absolute ? rec->arg[3] : 0, .address.u = rec->arg[2]));
	return true;
}

static bool write_native_lock(
	struct sp_hook_events *rs, const struct sp_sig_record *rec, uint32_t thread, uint32_t stack)
{
	uint32_t class_id = class_of(rs, rec);

	if (!class_id)
		return false;
	sp_event_writer_event(rs->record,
		SP_JFR_EVENT(NATIVE_LOCK_KIND, .startTime.u = rec->arg[0], .eventThread.u = thread,
			.lockClass.u = class_id, .previousOwner.u = rs->holder));
	sp_event_writer_event(rs->record,
		SP_JFR_EVENT(NATIVE_LOCK, .startTime.u = rec->arg[0], .duration.u = rec->arg[1],
			.eventThread.u = thread, .stackTrace.u = stack, .address.u = rec->arg[2]));
	return true;
}

static bool write_malloc(
	struct sp_hook_events *rs, const struct sp_sig_record *rec, uint32_t thread, uint32_t stack)
{
	uint64_t site = rec->arg[3];

	if (site && site <= SP_NATIVEMEM_SITES) {
		rs->callers->last[site - 1].stack = stack;
		rs->callers->last[site - 1].thread = thread;
		rs->callers->last[site - 1].epoch = rs->epoch;
	}
	sp_event_writer_event(rs->record,
		SP_JFR_EVENT(MALLOC, .startTime.u = rec->time_ns, .eventThread.u = thread,
			.stackTrace.u = stack, .address.u = rec->arg[0], .size.u = rec->arg[2]));
	return true;
}

static bool write_free(struct sp_hook_events *rs, const struct sp_sig_record *rec, uint32_t thread)
{
	sp_event_writer_event(
		rs->record, SP_JFR_EVENT(FREE, .startTime.u = rec->time_ns, .eventThread.u = thread,
				    .address.u = rec->arg[0]));
	return true;
}

static bool write_window(
	struct sp_hook_events *rs, const struct sp_sig_record *rec, uint32_t thread)
{
	sp_event_writer_event(rs->record,
		SP_JFR_EVENT(WINDOW, .startTime.u = rec->arg[0],
			.duration.u = rec->time_ns - rec->arg[0], .eventThread.u = thread));
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
	bool timed = rec->kind == SP_HOOK_TRACE;
	uint64_t start_ns = timed ? rec->arg[0] : rec->time_ns;
	uint64_t count = timed ? rec->arg[2] : rec->arg[0];

	if (!timed || count != 1)
		sp_event_writer_event(rs->record,
			SP_JFR_EVENT(CALL_COUNT, .startTime.u = start_ns, .eventThread.u = thread,
				.count.u = count, .timed.u = timed));
	sp_event_writer_event(rs->record,
		SP_JFR_EVENT(METHOD_TRACE, .startTime.u = start_ns,
			.duration.u = timed ? rec->arg[1] : 0, .eventThread.u = thread,
			.stackTrace.u = stack, .method.u = leaf_method(rs->dict, stack)));
	return true;
}

void sp_hook_events_rest(
	const struct sp_callers *callers, struct sp_event_writer *r, uint32_t epoch)
{
	for (uint32_t i = 0; i < SP_NATIVEMEM_SITES; i++) {
		uint64_t size, stack = callers->last[i].stack;

		if (stack && callers->last[i].epoch == epoch && sp_nativemem_rest(i, &size))
			sp_event_writer_event(
				r, SP_JFR_EVENT(MALLOC, .startTime.u = sp_clock_mono_ns(),
					   .eventThread.u = callers->last[i].thread,
					   .stackTrace.u = stack, .size.u = size));
	}
}

struct live_writing {
	struct sp_event_writer *record;
	uint64_t now_ns, collections;
	bool end;
};

/* Readers sum sizes up: the size is what the object represents. */
static void write_live(void *ctx, const struct sp_live_object *o)
{
	const struct live_writing *w = ctx;

	sp_event_writer_event(w->record, w->end ? SP_JFR_LIVE : SP_JFR_LIVE_SO_FAR,
		SP_JFR_VALUES(LIVE, .startTime.u = w->now_ns, .eventThread.u = o->thread,
			.stackTrace.u = o->stack, .objectClass.u = o->class_id,
			.allocationSize.u = o->weight, .allocationTime.u = o->time_ns));
	if (w->end)
		sp_event_writer_event(w->record,
			SP_JFR_EVENT(LIVE_AGE, .startTime.u = w->now_ns,
				.objectClass.u = o->class_id, .objectSize.u = o->size,
				.weight.u = o->weight, .gcAge.u = w->collections - o->collections));
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
	case SP_HOOK_NATIVE_LOCK:
		return write_native_lock(rs, rec, thread, stack);
	case SP_HOOK_MALLOC:
		return write_malloc(rs, rec, thread, stack);
	case SP_HOOK_FREE:
		return write_free(rs, rec, thread);
	case SP_HOOK_WINDOW:
		return write_window(rs, rec, thread);
	case SP_HOOK_CALL:
	case SP_HOOK_TRACE:
		return write_call(rs, rec, thread, stack);
	default:
		return false;
	}
}

void sp_hook_events_drop(struct sp_hook_events *rs, const struct sp_sig_record *rec)
{
	if (rec->kind == SP_HOOK_ALLOC && rec->arg[2])
		sp_live_objects_drop(rs->live, (void *)rec->arg[2]);
}
