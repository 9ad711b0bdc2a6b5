/* See alloc_hook.h. The callback runs in native state: it asks the JVM for the class's name and,
 * with
 * --live, for a weak reference, and copies its stack; all else is the collector's. */
#include "alloc_hook.h"

#include "alloc_interval_history.h"
#include "base/clock.h"
#include "sig/hook_capture.h"
#include "sig/rate_limit.h"
#include "sig/stack_copy.h"
#include "vm/other_agents.h"

#include <jvmti.h>

#include <errno.h>
#include <string.h>

/* One per process: JVMTI callbacks carry no pointer of ours. */
static struct {
	jvmtiEnv *ti; /* stays for the life of the JVM, as jvmside.c's does */
	uint64_t interval;
	struct sp_live_objects *live;
	struct sp_rate_limit limit;
	_Atomic uint64_t collections;
	_Atomic uint64_t missed; /* bytes of samples that found the ring full */
} al;

static void take_sample(jvmtiEnv *ti, JNIEnv *env, jobject object, jclass klass, jlong size)
{
	struct sp_hook_capture h = {.kind = SP_HOOK_ALLOC, .time_ns = sp_clock_mono_ns()};
	uint64_t factor = sp_rate_limit_pass(&al.limit, h.time_ns, sp_hook_capture_tight()),
		 more = 0;
	uint32_t drawn = sp_alloc_interval_next(sp_thread_pointer(), (uint32_t)al.interval);
	char *signature = NULL;
	enum sp_hook_capture_outcome outcome;
	jweak weak = NULL;

	if (!factor)
		return;
	if ((*ti)->GetClassSignature(ti, klass, &signature, NULL) == JVMTI_ERROR_NONE)
		sp_hook_capture_class(&h, signature);
	if (al.live && (more = sp_live_objects_admit(al.live)))
		weak = (*env)->NewWeakGlobalRef(env, object);
	h.arg[0] = (uint64_t)size;
	h.arg[1] = sp_alloc_weight((uint64_t)size, drawn) * factor;
	h.arg[2] = (uint64_t)weak;
	h.arg[3] = more;
	h.arg[4] = atomic_load_explicit(&al.collections, memory_order_relaxed);
	/* Sums stay right where the ring was full: the next one weighs for those before it. */
	h.arg[5] = atomic_exchange(&al.missed, 0);
	outcome = sp_hook_capture_report(&h);
	if (outcome != SP_HOOK_TAKEN)
		atomic_fetch_add(&al.missed, h.arg[5] + (outcome == SP_HOOK_FULL ? h.arg[1] : 0));
	if (outcome != SP_HOOK_TAKEN && weak)
		(*env)->DeleteWeakGlobalRef(env, weak);
	if (signature)
		(*ti)->Deallocate(ti, (unsigned char *)signature);
}

static void JNICALL on_alloc(
	jvmtiEnv *ti, JNIEnv *env, jthread thread, jobject object, jclass klass, jlong size)
{
	if (!sp_hook_capture_enter(SP_HOOK_ALLOC))
		return;
	take_sample(ti, env, object, klass, size);
	sp_hook_capture_leave();
}

static void JNICALL on_thread_start(jvmtiEnv *ti, JNIEnv *env, jthread thread)
{
	sp_alloc_interval_born(sp_thread_pointer(), (uint32_t)al.interval);
}

static void JNICALL on_thread_end(jvmtiEnv *ti, JNIEnv *env, jthread thread)
{
	sp_alloc_interval_ended(sp_thread_pointer());
}

/* At a safepoint: nothing of the JVM may be called. */
static void JNICALL on_collection(jvmtiEnv *ti)
{
	atomic_fetch_add_explicit(&al.collections, 1, memory_order_relaxed);
}

static void set_events(jvmtiEventMode mode)
{
	(*al.ti)->SetEventNotificationMode(al.ti, mode, JVMTI_EVENT_THREAD_START, NULL);
	(*al.ti)->SetEventNotificationMode(al.ti, mode, JVMTI_EVENT_THREAD_END, NULL);
	(*al.ti)->SetEventNotificationMode(al.ti, mode, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, NULL);
	if (al.live)
		(*al.ti)->SetEventNotificationMode(
			al.ti, mode, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH, NULL);
}

/* Only one agent at a time may sample allocations. */
static int refuse_second_sampler(const jvmtiCapabilities *potential, struct sp_err *err)
{
	char who[256];

	if (!potential->can_generate_sampled_object_alloc_events &&
		sp_other_agents(who, sizeof(who)) > 0)
		return sp_err_set(err, -EBUSY,
			"alloc: another agent of this JVM samples its allocations (loaded: %s): "
			"stop it first",
			who);
	return sp_err_set(
		err, -ENOTSUP, "alloc: this JVM does not sample allocations; JDK 11 and later do");
}

/* Where nobody has sampled yet, see alloc_interval_history.h. */
static uint32_t drawn_before(jvmtiEnv *ti, bool first)
{
	char *version = NULL;
	bool is_11;

	if ((*ti)->GetSystemProperty(ti, "java.vm.specification.version", &version) !=
		JVMTI_ERROR_NONE)
		return SP_DRAWN_JVM;
	is_11 = strcmp(version, "11") == 0;
	(*ti)->Deallocate(ti, (unsigned char *)version);
	return first && is_11 ? SP_DRAWN_NO_TABLE : SP_DRAWN_JVM;
}

static int start(void *ctx, JavaVM *vm, JNIEnv *env, struct sp_err *err)
{
	jvmtiEventCallbacks cb = {.SampledObjectAlloc = on_alloc,
		.GarbageCollectionFinish = on_collection,
		.ThreadStart = on_thread_start,
		.ThreadEnd = on_thread_end};
	jvmtiCapabilities potential, caps;
	bool first = !al.ti;

	if (!al.ti && (*vm)->GetEnv(vm, (void **)&al.ti, JVMTI_VERSION_1_2) != JNI_OK) {
		al.ti = NULL;
		return sp_err_set(
			err, -ENOTSUP, "alloc: the JVM does not offer its tool interface");
	}
	memset(&potential, 0, sizeof(potential));
	memset(&caps, 0, sizeof(caps));
	(*al.ti)->GetPotentialCapabilities(al.ti, &potential);
	caps.can_generate_sampled_object_alloc_events = 1;
	caps.can_generate_garbage_collection_events = al.live != NULL;
	if (!potential.can_generate_sampled_object_alloc_events ||
		(*al.ti)->AddCapabilities(al.ti, &caps) != JVMTI_ERROR_NONE)
		return refuse_second_sampler(&potential, err);
	(*al.ti)->SetEventCallbacks(al.ti, &cb, sizeof(cb));
	sp_alloc_interval_begin(drawn_before(al.ti, first));
	(*al.ti)->SetHeapSamplingInterval(al.ti, (jint)al.interval);
	atomic_fetch_or(&sp_sig.hooks, 1u << SP_HOOK_ALLOC);
	set_events(JVMTI_ENABLE);
	return 0;
}

static void tick(void *ctx, JNIEnv *env)
{
	if (al.live)
		sp_live_objects_tick(al.live, env);
}

static void stop(void *ctx, JNIEnv *env)
{
	jvmtiCapabilities caps;

	if (!al.ti)
		return;
	memset(&caps, 0, sizeof(caps));
	(*al.ti)->GetCapabilities(al.ti, &caps);
	if (caps.can_generate_sampled_object_alloc_events) {
		set_events(JVMTI_DISABLE);
		(*al.ti)->SetHeapSamplingInterval(al.ti, SP_DRAWN_JVM);
	}
	(*al.ti)->RelinquishCapabilities(al.ti, &caps);
	if (al.live)
		sp_live_objects_release(al.live, env);
}

struct sp_jvm_guest sp_alloc_guest(uint64_t interval, struct sp_live_objects *live)
{
	/* The JVM takes an int. */
	al.interval = interval < INT32_MAX ? interval : INT32_MAX;
	al.live = live;
	sp_rate_limit_init(&al.limit, SP_ALLOC_PER_SECOND);
	atomic_store(&al.collections, 0);
	atomic_store(&al.missed, 0);
	return (struct sp_jvm_guest){.start = start, .tick = tick, .stop = stop};
}

uint64_t sp_alloc_collections(void)
{
	return atomic_load(&al.collections);
}

uint64_t sp_alloc_max_factor(void)
{
	return 1ull << atomic_load(&al.limit.peak);
}
