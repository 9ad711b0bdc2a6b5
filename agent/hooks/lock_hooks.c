/* See lock_hooks.h. When a monitor is entered is kept by Java thread, not by OS thread: from JDK 24
 * on a virtual thread may leave its carrier while it waits (JEP 491). */
#include "lock_hooks.h"

#include "base/clock.h"
#include "sig/hook_capture.h"
#include "sig/rate_limit.h"
#include "vm/park_hook.h"
#include "vm/vm_statics.h"
#include "vm/vthread_frames.h"
#include "wait_weight.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WAITERS 4096u
#define PROBES	16u

struct waiter {
	_Atomic uint64_t thread; /* Java's number, 0: free */
	uint64_t since_ns, holder;
};

/* One per process: callbacks carry no pointer of ours. */
static struct {
	jvmtiEnv *ti; /* stays for the life of the JVM, as jvmside.c's does */
	struct sp_capture *capture;
	uint64_t ns, begun_ns;
	jfieldID thread_id, blocker;
	uint64_t pending, owner; /* from a JNIEnv to the monitor, from there to who has it; 0:
				  * not known */
	jclass virtual;		 /* class of virtual threads while it lasts; NULL: none */
	jmethodID sleeping;	 /* which of their methods parks and does not wait for anybody */
	sp_park_fn *park;	 /* the JVM's; never cleared, for threads may be in there */
	bool park_hooked;
	struct sp_rate_limit limits[2]; /* monitors, parks */
	_Atomic uint64_t missed[2];	/* time that found the ring full */
	struct waiter waiters[WAITERS];
} lk;

enum { MONITORS, PARKS };

static void note_waiter(uint64_t thread, uint64_t now_ns, uint64_t holder)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		struct waiter *w = &lk.waiters[(thread * 2654435761u + i) % WAITERS];
		uint64_t none = 0;

		if (atomic_load(&w->thread) == thread ||
			atomic_compare_exchange_strong(&w->thread, &none, thread)) {
			w->since_ns = now_ns;
			w->holder = holder;
			return;
		}
	}
}

/* When @thread began to wait, 0 unknown, and who held it then; forgets it. */
static uint64_t take_waiter(uint64_t thread, uint64_t *ret_holder)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		struct waiter *w = &lk.waiters[(thread * 2654435761u + i) % WAITERS];

		if (atomic_load(&w->thread) == thread) {
			uint64_t since = w->since_ns;

			*ret_holder = w->holder;
			atomic_store(&w->thread, 0);
			return since;
		}
	}
	return 0;
}

static bool is_virtual(JNIEnv *env, jthread thread)
{
	return lk.virtual && thread && (*env)->IsInstanceOf(env, thread, lk.virtual);
}

/* Apart from the others: what it needs of the stack would be copied with each of them. A park is
 * reported by two methods of ours. */
static __attribute__((noinline)) enum sp_hook_capture_outcome put_virtual(
	JNIEnv *env, int which, struct sp_hook_capture *h, jthread thread)
{
	enum sp_hook_capture_outcome outcome = SP_HOOK_UNWANTED;
	uint64_t id = (uint64_t)(*env)->GetLongField(env, thread, lk.thread_id);
	struct sp_vthread_frames v;

	if (sp_vthread_frames_ask(lk.ti, env, thread, id, which == PARKS ? 2 : 0, &v) == 0 &&
		!(which == PARKS && v.caller == lk.sleeping)) {
		h->virtual = &v.about;
		outcome = sp_hook_capture_report(h);
		h->virtual = NULL;
	}
	sp_vthread_frames_done(lk.ti, &v);
	return outcome;
}

static void report(JNIEnv *env, int which, struct sp_hook_capture *h, jobject on, jthread thread)
{
	jclass c = on ? (*env)->GetObjectClass(env, on) : NULL;
	uint64_t carried = atomic_exchange(&lk.missed[which], 0);
	enum sp_hook_capture_outcome outcome;
	char *signature = NULL;

	if (c && (*lk.ti)->GetClassSignature(lk.ti, c, &signature, NULL) == JVMTI_ERROR_NONE)
		sp_hook_capture_class(h, signature);
	if (on) /* a name for the object, never read through */
		h->arg[2] = *(uint64_t *)((uint64_t)on & ~(uint64_t)7);
	h->arg[1] += carried;
	outcome = is_virtual(env, thread) ? put_virtual(env, which, h, thread)
					  : sp_hook_capture_report(h);
	if (outcome != SP_HOOK_TAKEN)
		atomic_fetch_add(&lk.missed[which], outcome == SP_HOOK_FULL ? h->arg[1] : carried);
	if (signature)
		(*lk.ti)->Deallocate(lk.ti, (unsigned char *)signature);
	if (c)
		(*env)->DeleteLocalRef(env, c);
}

static void waited(JNIEnv *env, int which, struct sp_hook_capture *h, jobject on, jthread thread)
{
	uint64_t now = sp_clock_mono_ns(), since = h->arg[0];

	/* A wait that began before the recording is not of it. */
	if (since < lk.begun_ns || now <= since)
		return;
	h->arg[1] = sp_wait_weight(&lk.limits[which], lk.ns, now - since, now);
	if (h->arg[1])
		report(env, which, h, on, thread);
}

/* Before a thread waits HotSpot writes down in it what for, and that monitor stays until it has
 * it: two loads, where JVMTI's GetObjectMonitorUsage stops all threads. Values that are no thread
 * (nobody, somebody who took it before it was contended) are small. */
static uint64_t holder(JNIEnv *env)
{
	char *monitor = lk.owner ? *(char *volatile *)((char *)env + lk.pending) : NULL;
	uint64_t who = monitor ? *(volatile uint64_t *)(monitor + lk.owner) : 0;

	return who > 2 ? who : 0;
}

static void JNICALL on_enter(jvmtiEnv *ti, JNIEnv *env, jthread thread, jobject object)
{
	if (!sp_hook_capture_enter(SP_HOOK_MONITOR))
		return;
	note_waiter((uint64_t)(*env)->GetLongField(env, thread, lk.thread_id), sp_clock_mono_ns(),
		holder(env));
	sp_hook_capture_leave();
}

static void JNICALL on_entered(jvmtiEnv *ti, JNIEnv *env, jthread thread, jobject object)
{
	struct sp_hook_capture h = {.kind = SP_HOOK_MONITOR};

	if (!sp_hook_capture_enter(SP_HOOK_MONITOR))
		return;
	h.arg[0] =
		take_waiter((uint64_t)(*env)->GetLongField(env, thread, lk.thread_id), &h.arg[3]);
	waited(env, MONITORS, &h, object, thread);
	sp_hook_capture_leave();
}

/* What the calling thread is about to park on: a local reference or NULL. *ret_recorded: it is a
 * virtual thread that could not leave its carrier; sp_lock_hooks_parked() hears of it. */
static jobject find_blocker(JNIEnv *env, bool *ret_recorded)
{
	jobject blocker = NULL;
	jthread self;

	if (!sp_hook_capture_enter(SP_HOOK_PARK))
		return NULL;
	if ((*lk.ti)->GetCurrentThread(lk.ti, &self) == JVMTI_ERROR_NONE) {
		*ret_recorded = is_virtual(env, self);
		blocker = *ret_recorded ? NULL : (*env)->GetObjectField(env, self, lk.blocker);
		(*env)->DeleteLocalRef(env, self);
	}
	sp_hook_capture_leave();
	return blocker;
}

/* In the place of Unsafe.park; threads may be in here long after the recording. */
static void JNICALL on_park(JNIEnv *env, jobject unsafe, jboolean absolute, jlong time)
{
	struct sp_hook_capture h = {.kind = SP_HOOK_PARK};
	bool recorded = false;
	jobject blocker = find_blocker(env, &recorded);

	h.arg[0] = sp_clock_mono_ns();
	lk.park(env, unsafe, absolute, time);
	if (recorded || !sp_hook_capture_enter(SP_HOOK_PARK))
		return;
	h.arg[3] = (uint64_t)time;
	h.arg[4] = absolute;
	waited(env, PARKS, &h, blocker, NULL);
	sp_hook_capture_leave();
}

void sp_lock_hooks_parked(JNIEnv *env, uint64_t since_ns)
{
	struct sp_hook_capture h = {.kind = SP_HOOK_PARK, .arg = {since_ns}};
	jobject blocker = NULL;
	jthread self;

	if (!sp_hook_capture_enter(SP_HOOK_PARK))
		return;
	if (lk.virtual && (*lk.ti)->GetCurrentThread(lk.ti, &self) == JVMTI_ERROR_NONE) {
		blocker = (*env)->GetObjectField(env, self, lk.blocker);
		waited(env, PARKS, &h, blocker, self);
		(*env)->DeleteLocalRef(env, blocker);
		(*env)->DeleteLocalRef(env, self);
	}
	sp_hook_capture_leave();
}

static void set_events(jvmtiEventMode mode)
{
	jvmtiEnv *ti = lk.ti;

	(*ti)->SetEventNotificationMode(ti, mode, JVMTI_EVENT_MONITOR_CONTENDED_ENTER, NULL);
	(*ti)->SetEventNotificationMode(ti, mode, JVMTI_EVENT_MONITOR_CONTENDED_ENTERED, NULL);
}

static int find_fields(JNIEnv *env)
{
	jclass c = (*env)->FindClass(env, "java/lang/Thread");

	lk.thread_id = c ? (*env)->GetFieldID(env, c, "tid", "J") : NULL;
	lk.blocker = lk.thread_id ? (*env)->GetFieldID(env, c, "parkBlocker", "Ljava/lang/Object;")
				  : NULL;
	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
	if (c)
		(*env)->DeleteLocalRef(env, c);
	return lk.thread_id && lk.blocker ? 0 : -ENOTSUP;
}

/* A JNIEnv is part of its JavaThread, in the same place in each. */
static void find_owner(JNIEnv *env)
{
	uint64_t pending = sp_vm_statics_offset("JavaThread", "_current_pending_monitor");
	jclass c = (*env)->FindClass(env, "java/lang/Thread");
	jfieldID eetop = c ? (*env)->GetFieldID(env, c, "eetop", "J") : NULL;
	jthread self = NULL;

	lk.owner = 0;
	if (!pending) /* up to JDK 15 */
		pending = sp_vm_statics_offset("Thread", "_current_pending_monitor");
	if (pending && eetop && (*lk.ti)->GetCurrentThread(lk.ti, &self) == JVMTI_ERROR_NONE) {
		lk.pending =
			(uint64_t)(*env)->GetLongField(env, self, eetop) + pending - (uint64_t)env;
		lk.owner = sp_vm_statics_offset("ObjectMonitor", "_owner");
	}
	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
	(*env)->DeleteLocalRef(env, self);
	(*env)->DeleteLocalRef(env, c);
}

static void find_virtual(JNIEnv *env)
{
	jclass c = sp_vthread_frames_class(env);

	lk.sleeping = c ? (*env)->GetMethodID(env, c, "sleepNanos", "(J)V") : NULL;
	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
	lk.virtual = c ? (*env)->NewGlobalRef(env, c) : NULL;
	(*env)->DeleteLocalRef(env, c);
}

static void hook_park(JNIEnv *env)
{
	struct sp_err why = {{0}};
	char text[200];

	lk.park_hooked = sp_park_hook(lk.ti, env, on_park, &lk.park, &why) == 0;
	if (lk.park_hooked)
		return;
	snprintf(text, sizeof(text),
		"lock: only monitors are seen, not java.util.concurrent's locks: %s", why.text);
	lk.capture->say(lk.capture->say_ctx, text);
}

static int start(void *ctx, JavaVM *vm, JNIEnv *env, struct sp_err *err)
{
	jvmtiEventCallbacks cb = {.MonitorContendedEnter = on_enter,
		.MonitorContendedEntered = on_entered,
		.MonitorWait = sp_park_callback};
	jvmtiCapabilities caps;

	if (!lk.ti && (*vm)->GetEnv(vm, (void **)&lk.ti, JVMTI_VERSION_1_2) != JNI_OK) {
		lk.ti = NULL;
		return sp_err_set(err, -ENOTSUP, "lock: the JVM does not offer its tool interface");
	}
	memset(&caps, 0, sizeof(caps));
	caps.can_generate_monitor_events = 1;
	if ((*lk.ti)->AddCapabilities(lk.ti, &caps) != JVMTI_ERROR_NONE || find_fields(env) < 0)
		return sp_err_set(err, -ENOTSUP, "lock: this JVM does not report monitor events");
	(*lk.ti)->SetEventCallbacks(lk.ti, &cb, sizeof(cb));
	find_owner(env);
	find_virtual(env);
	lk.begun_ns = sp_clock_mono_ns();
	atomic_fetch_or(&sp_sig.hooks, 1u << SP_HOOK_MONITOR | 1u << SP_HOOK_PARK);
	set_events(JVMTI_ENABLE);
	hook_park(env);
	return 0;
}

static void stop(void *ctx, JNIEnv *env)
{
	jvmtiCapabilities caps;

	if (!lk.ti)
		return;
	if (lk.park_hooked)
		sp_park_unhook(lk.ti, env, on_park, lk.park);
	lk.park_hooked = false;
	set_events(JVMTI_DISABLE);
	memset(&caps, 0, sizeof(caps));
	(*lk.ti)->GetCapabilities(lk.ti, &caps);
	(*lk.ti)->RelinquishCapabilities(lk.ti, &caps);
	(*env)->DeleteGlobalRef(env, lk.virtual);
	lk.virtual = NULL;
}

struct sp_jvm_guest sp_lock_hooks_guest(uint64_t ns, struct sp_capture *c)
{
	lk.ns = ns;
	lk.capture = c;
	for (int i = 0; i < 2; i++) {
		sp_rate_limit_init(&lk.limits[i], SP_LOCK_PER_SECOND);
		atomic_store(&lk.missed[i], 0);
	}
	for (uint32_t i = 0; i < WAITERS; i++)
		atomic_store(&lk.waiters[i].thread, 0);
	return (struct sp_jvm_guest){.start = start, .stop = stop};
}

uint64_t sp_lock_hooks_max_factor(void)
{
	uint32_t a = atomic_load(&lk.limits[0].peak), b = atomic_load(&lk.limits[1].peak);

	return 1ull << (a > b ? a : b);
}
