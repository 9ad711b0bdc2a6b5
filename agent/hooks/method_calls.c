/* See method_calls.h. What methods call is in a class of the boot loader, so that every class
 * loader finds it: sparkprof.Calls, 287 bytes, the same for all builds of the agent. Java code, not
 * native, lets short calls go:
 *
 *     package sparkprof;
 *     public class Calls {
 *         private static long least;
 *         public static native void entered(int which);
 *         public static void left(long since, int which) {
 *             if (System.nanoTime() - since >= least)
 *                 told(since, which);
 *         }
 *         private static native void told(long since, int which);
 *     }
 */
#include "method_calls.h"

#include "base/clock.h"
#include "classfile/class_instrument.h"
#include "lock_hooks.h"
#include "retransform.h"
#include "sig/hook_capture.h"
#include "sig/rate_limit.h"
#include "vm/bootclass.h"
#include "vm/jni_util.h"
#include "vm/vthread_frames.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SHORT_NS 1000ull /* where there are too many, calls shorter than this are sampled first */

static const uint8_t calls_class[] = {0xca, 0xfe, 0xba, 0xbe, 0x00, 0x00, 0x00, 0x34, 0x00, 0x18,
	0x01, 0x00, 0x0f, 0x73, 0x70, 0x61, 0x72, 0x6b, 0x70, 0x72, 0x6f, 0x66, 0x2f, 0x43, 0x61,
	0x6c, 0x6c, 0x73, 0x07, 0x00, 0x01, 0x01, 0x00, 0x10, 0x6a, 0x61, 0x76, 0x61, 0x2f, 0x6c,
	0x61, 0x6e, 0x67, 0x2f, 0x4f, 0x62, 0x6a, 0x65, 0x63, 0x74, 0x07, 0x00, 0x03, 0x01, 0x00,
	0x10, 0x6a, 0x61, 0x76, 0x61, 0x2f, 0x6c, 0x61, 0x6e, 0x67, 0x2f, 0x53, 0x79, 0x73, 0x74,
	0x65, 0x6d, 0x07, 0x00, 0x05, 0x01, 0x00, 0x08, 0x6e, 0x61, 0x6e, 0x6f, 0x54, 0x69, 0x6d,
	0x65, 0x01, 0x00, 0x03, 0x28, 0x29, 0x4a, 0x0c, 0x00, 0x07, 0x00, 0x08, 0x0a, 0x00, 0x06,
	0x00, 0x09, 0x01, 0x00, 0x04, 0x74, 0x6f, 0x6c, 0x64, 0x01, 0x00, 0x05, 0x28, 0x4a, 0x49,
	0x29, 0x56, 0x0c, 0x00, 0x0b, 0x00, 0x0c, 0x0a, 0x00, 0x02, 0x00, 0x0d, 0x01, 0x00, 0x05,
	0x6c, 0x65, 0x61, 0x73, 0x74, 0x01, 0x00, 0x01, 0x4a, 0x0c, 0x00, 0x0f, 0x00, 0x10, 0x09,
	0x00, 0x02, 0x00, 0x11, 0x01, 0x00, 0x0d, 0x53, 0x74, 0x61, 0x63, 0x6b, 0x4d, 0x61, 0x70,
	0x54, 0x61, 0x62, 0x6c, 0x65, 0x01, 0x00, 0x04, 0x43, 0x6f, 0x64, 0x65, 0x01, 0x00, 0x07,
	0x65, 0x6e, 0x74, 0x65, 0x72, 0x65, 0x64, 0x01, 0x00, 0x04, 0x28, 0x49, 0x29, 0x56, 0x01,
	0x00, 0x04, 0x6c, 0x65, 0x66, 0x74, 0x00, 0x21, 0x00, 0x02, 0x00, 0x04, 0x00, 0x00, 0x00,
	0x01, 0x00, 0x0a, 0x00, 0x0f, 0x00, 0x10, 0x00, 0x00, 0x00, 0x03, 0x01, 0x09, 0x00, 0x15,
	0x00, 0x16, 0x00, 0x00, 0x00, 0x09, 0x00, 0x17, 0x00, 0x0c, 0x00, 0x01, 0x00, 0x14, 0x00,
	0x00, 0x00, 0x27, 0x00, 0x04, 0x00, 0x03, 0x00, 0x00, 0x00, 0x12, 0xb8, 0x00, 0x0a, 0x1e,
	0x65, 0xb2, 0x00, 0x12, 0x94, 0x9b, 0x00, 0x08, 0x1e, 0x1c, 0xb8, 0x00, 0x0e, 0xb1, 0x00,
	0x00, 0x00, 0x01, 0x00, 0x13, 0x00, 0x00, 0x00, 0x03, 0x00, 0x01, 0x11, 0x01, 0x0a, 0x00,
	0x0b, 0x00, 0x0c, 0x00, 0x00, 0x00, 0x00};

/* One per process: what the JVM calls has no pointer of ours. */
static struct {
	struct sp_capture *capture;
	struct sp_method_patterns counted, timed;
	_Atomic uint64_t seen[SP_METHODS_MAX]; /* calls, by name */
	struct sp_rate_limit limits[2];	       /* calls, traces */
	_Atomic uint64_t missed;	       /* calls that found the ring full */
	jclass hook, virtual;		       /* global references while they last */
	jfieldID least;
	uint64_t begun_ns;
} cl;

enum { CALLS, TRACES };

/* How many calls this one counts for; 0: it is not recorded. */
static uint64_t every(uint32_t which, uint64_t now_ns)
{
	uint64_t amount = cl.counted.names[which].amount;

	if (amount > 1 &&
		atomic_fetch_add_explicit(&cl.seen[which], 1, memory_order_relaxed) % amount)
		return 0;
	return amount * sp_rate_limit_pass(&cl.limits[CALLS], now_ns, sp_hook_capture_tight());
}

static void JNICALL entered(JNIEnv *env, jclass self, jint which)
{
	struct sp_hook_capture h = {.kind = SP_HOOK_CALL, .time_ns = sp_clock_mono_ns()};
	enum sp_hook_capture_outcome outcome;
	uint64_t count;

	if (!sp_hook_capture_enter(SP_HOOK_CALL))
		return;
	count = (uint32_t)which < cl.counted.count ? every((uint32_t)which, h.time_ns) : 0;
	if (count) {
		h.arg[0] = count + atomic_exchange(&cl.missed, 0);
		outcome = sp_hook_capture_report(&h);
		if (outcome != SP_HOOK_TAKEN)
			atomic_fetch_add(
				&cl.missed, h.arg[0] - (outcome == SP_HOOK_FULL ? 0 : count));
	}
	sp_hook_capture_leave();
}

/* How many calls one of @took_ns counts for: where there are too many, short ones are taken with
 * the probability of their length, so that sums of time keep what is long; 0: it is not recorded.
 */
static uint64_t weigh(uint64_t took_ns, uint64_t now_ns)
{
	uint32_t shift = sp_rate_limit_turn(&cl.limits[TRACES], now_ns);
	uint64_t unit = shift ? SHORT_NS << shift : 0, rest;

	took_ns += took_ns == 0;
	if (took_ns < unit && sp_rate_limit_random() % unit >= took_ns)
		return 0;
	sp_rate_limit_taken(&cl.limits[TRACES], sp_hook_capture_tight());
	if (took_ns >= unit)
		return 1;
	rest = unit % took_ns;
	return unit / took_ns + (sp_rate_limit_random() % took_ns < rest);
}

static void JNICALL told(JNIEnv *env, jclass self, jlong since, jint which)
{
	struct sp_hook_capture h = {.kind = SP_HOOK_TRACE, .time_ns = sp_clock_mono_ns()};

	if (which == SP_WEAVE_PARK) {
		sp_lock_hooks_parked(env, (uint64_t)since);
		return;
	}
	if (!sp_hook_capture_enter(SP_HOOK_TRACE))
		return;
	h.arg[0] = (uint64_t)since;
	h.arg[1] = h.time_ns - h.arg[0];
	/* A call that began before the recording was not timed by it. */
	if ((uint32_t)which < cl.timed.count && h.arg[0] >= cl.begun_ns && h.time_ns >= h.arg[0] &&
		h.arg[1] >= cl.timed.names[which].amount) {
		h.arg[2] = weigh(h.arg[1], h.time_ns);
		if (h.arg[2])
			sp_hook_capture_report(&h);
	}
	sp_hook_capture_leave();
}

/* The shortest time that anybody wants to hear of. */
static uint64_t least(void)
{
	uint64_t ns = cl.virtual ? 0 : INT64_MAX;

	for (uint32_t i = 0; i < cl.timed.count; i++)
		ns = cl.timed.names[i].amount < ns ? cl.timed.names[i].amount : ns;
	return ns;
}

static int bind(JNIEnv *env)
{
	JNINativeMethod m[] = {
		{"entered", "(I)V", (void *)entered}, {"told", "(JI)V", (void *)told}};
	jclass c = sp_bootclass(env, SP_REWRITE_CLASS, calls_class, sizeof(calls_class));

	if (c && (*env)->RegisterNatives(env, c, m, 2) == JNI_OK)
		cl.least = (*env)->GetStaticFieldID(env, c, "least", "J");
	if (!sp_jni_failed(env) && cl.least) {
		(*env)->SetStaticLongField(env, c, cl.least, (jlong)least());
		cl.hook = (*env)->NewGlobalRef(env, c);
	}
	(*env)->DeleteLocalRef(env, c);
	return cl.hook ? 0 : -ENOTSUP;
}

/* Where only parks of virtual threads are wanted, nothing is done before JDK 21. */
static bool find_virtual(JNIEnv *env)
{
	jclass c = cl.capture->args->lock_ns != SP_ARGS_NONE ? sp_vthread_frames_class(env) : NULL;

	cl.virtual = c ? (*env)->NewGlobalRef(env, c) : NULL;
	(*env)->DeleteLocalRef(env, c);
	return cl.virtual || cl.counted.count || cl.timed.count;
}

static int weave(JavaVM *vm, JNIEnv *env, struct sp_err *err)
{
	struct sp_retransform_plan plan = {.counted = &cl.counted,
		.timed = &cl.timed,
		.virtual = cl.virtual,
		.say = cl.capture->say,
		.ctx = cl.capture->say_ctx};
	int r = bind(env);

	if (r < 0)
		return sp_err_set(err, r, "this JVM does not take sparkprof's class");
	plan.hook = cl.hook;
	cl.begun_ns = sp_clock_mono_ns();
	atomic_fetch_or(&sp_sig.hooks, 1u << SP_HOOK_CALL | 1u << SP_HOOK_TRACE);
	r = sp_retransform_start(vm, env, &plan, err);
	return r < 0 ? sp_err_prefix(err, r, "Java methods") : 0;
}

static int start(void *ctx, JavaVM *vm, JNIEnv *env, struct sp_err *err)
{
	char text[sizeof(err->text) + 64];
	int r = find_virtual(env) ? weave(vm, env, err) : 0;

	if (r == 0 || cl.counted.count || cl.timed.count)
		return r;
	snprintf(text, sizeof(text), "lock: parks of virtual threads are not seen: %s", err->text);
	cl.capture->say(cl.capture->say_ctx, text);
	return 0;
}

static void tick(void *ctx, JNIEnv *env)
{
	if (cl.hook)
		sp_retransform_tick(env);
}

static void stop(void *ctx, JNIEnv *env)
{
	sp_retransform_stop(env);
	(*env)->DeleteGlobalRef(env, cl.virtual);
	cl.virtual = NULL;
	if (!cl.hook)
		return;
	/* For calls that are still under way in what the methods were. */
	(*env)->SetStaticLongField(env, cl.hook, cl.least, INT64_MAX);
	(*env)->DeleteGlobalRef(env, cl.hook);
	cl.hook = NULL;
	cl.least = NULL;
}

int sp_method_calls_check(const struct sp_args *args, struct sp_err *err)
{
	struct sp_method_patterns m = {.count = 0};
	int r = sp_method_patterns_parse(&m, args->methods, false, 1, err);

	m.count = 0;
	if (r == 0)
		r = sp_method_patterns_parse(&m, args->trace, true, 0, err);
	return r;
}

struct sp_jvm_guest sp_method_calls_guest(struct sp_capture *c)
{
	struct sp_err none;

	cl.capture = c;
	cl.counted.count = cl.timed.count = 0;
	sp_method_patterns_parse(&cl.counted, c->args->methods, false, 1, &none);
	sp_method_patterns_parse(&cl.timed, c->args->trace, true, 0, &none);
	for (int i = 0; i < SP_METHODS_MAX; i++)
		atomic_store(&cl.seen[i], 0);
	for (int i = 0; i < 2; i++)
		sp_rate_limit_init(&cl.limits[i], SP_CALLS_PER_SECOND);
	atomic_store(&cl.missed, 0);
	return (struct sp_jvm_guest){.start = start, .tick = tick, .stop = stop};
}

void sp_method_calls_missing(char *buf, size_t size)
{
	sp_method_patterns_missing(&cl.counted, buf, size);
	sp_method_patterns_missing(&cl.timed, buf, size);
}

uint64_t sp_method_calls_max_factor(void)
{
	return 1ull << atomic_load(&cl.limits[CALLS].peak);
}

uint64_t sp_method_calls_trace_max_factor(void)
{
	return 1ull << atomic_load(&cl.limits[TRACES].peak);
}
