/* See hooks.h. */
#include "hooks.h"

#include "alloc_hook.h"
#include "lock_hooks.h"
#include "method_calls.h"
#include "native_locks.h"
#include "nativemem.h"
#include "options/memory_shares.h"
#include "sig/hook_capture.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

int sp_hooks_prepare(struct sp_capture *c, struct sp_live_objects **ret_live, struct sp_err *err)
{
	int r = 0;

	*ret_live = NULL;
	if (!sp_args_hooks(c->args))
		return 0;
	r = sp_method_calls_check(c->args, err);
	if (r < 0)
		return r;
	/* The kernel's rings and this one share what there is for rings. */
	if (strcmp(c->args->capture, "ring") == 0)
		c->memory /= 2;
	r = sp_engine_ring(c, err);
	if (r == 0 && c->args->live &&
		(r = sp_live_objects_new(ret_live, c->args->memory / SP_SHARE_LIVE)) < 0)
		return sp_err_set(err, r, "out of memory for live objects");
	return r;
}

void sp_hooks_invite(
	struct sp_capture *c, struct sp_live_objects *live, struct sp_jvmti_thread_events *ev)
{
	if (c->args->alloc != SP_ARGS_NONE)
		ev->guests[ev->guest_count++] = sp_alloc_guest(c->args->alloc, live);
	if (c->args->lock_ns != SP_ARGS_NONE)
		ev->guests[ev->guest_count++] = sp_lock_hooks_guest(c->args->lock_ns, c);
	if (c->args->nativemem != SP_ARGS_NONE)
		ev->guests[ev->guest_count++] =
			sp_nativemem_guest(c->args->nativemem, !c->args->nofree, c);
	if (c->args->nativelock_ns != SP_ARGS_NONE)
		ev->guests[ev->guest_count++] = sp_native_locks_guest(c->args->nativelock_ns, c);
	/* with lock: parks of virtual threads */
	if (c->args->methods[0] || c->args->trace[0] || c->args->lock_ns != SP_ARGS_NONE)
		ev->guests[ev->guest_count++] = sp_method_calls_guest(c);
}

static void say_thinned(
	struct sp_capture *c, const char *event, uint32_t per_second, uint64_t thinned)
{
	char text[160];

	if (thinned <= 1)
		return;
	snprintf(text, sizeof(text),
		"%s: more than %u events a second, so only some were recorded (at worst 1 in "
		"%llu); sums are corrected for that",
		event, per_second, (unsigned long long)thinned);
	c->say(c->say_ctx, text);
}

void sp_hooks_silence(struct sp_capture *c)
{
	struct timespec ms = {0, 1000000};

	atomic_store(&sp_sig.hooks, 0);
	for (int i = 0; atomic_load(&sp_sig.inflight) && i < 2000; i++)
		nanosleep(&ms, NULL);
	if (c->args->alloc != SP_ARGS_NONE)
		say_thinned(c, "alloc", SP_ALLOC_PER_SECOND, sp_alloc_max_factor());
	if (c->args->lock_ns != SP_ARGS_NONE)
		say_thinned(c, "lock", SP_LOCK_PER_SECOND, sp_lock_hooks_max_factor());
	if (c->args->nativemem != SP_ARGS_NONE)
		say_thinned(c, "nativemem", SP_NATIVEMEM_PER_SECOND, sp_nativemem_max_factor());
	if (c->args->nativelock_ns != SP_ARGS_NONE)
		say_thinned(
			c, "nativelock", SP_NATIVE_LOCKS_PER_SECOND, sp_native_locks_max_factor());
	if (c->args->methods[0])
		say_thinned(c, "calls", SP_CALLS_PER_SECOND, sp_method_calls_max_factor());
	if (c->args->trace[0])
		say_thinned(c, "trace", SP_CALLS_PER_SECOND, sp_method_calls_trace_max_factor());
}
