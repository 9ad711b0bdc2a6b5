/* See jvmti_thread.h. Callbacks count themselves in and out, so that stopping can wait for the
 * last. */
#include "jvmti_thread.h"

#include "base/clock.h"
#include "host/own_thread.h"
#include "host/sched_slice.h"
#include "spark/task_tracker.h"
#include "vm/jni_util.h"
#include "vm/jvmti_util.h"
#include "vm/thread_name_hook.h"

#include <jvmti.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NAME_PERIOD_NS 1000000000ull

/* One per process: JVMTI callbacks carry no pointer of ours. */
static struct {
	JavaVM *vm;
	jvmtiEnv *ti;
	struct sp_jvmti_thread_events ev;
	_Atomic uint32_t on, inside;
	jfieldID eetop, thread_id;
	struct sp_own_thread *thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool ready, stop, wake;
	bool renames;			   /* reported at once, not asked for */
	bool identified;		   /* or there is nothing to learn */
	uint64_t ticks_wanted, ticks_done; /* under the lock */
	int status;
	struct sp_err err; /* a guest's */
} js = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* By the monotonic clock: the machine's time may be set while we wait. */
static void init_cond(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&js.cond, &attr);
	pthread_condattr_destroy(&attr);
}

static bool enter(void)
{
	atomic_fetch_add(&js.inside, 1);
	if (atomic_load(&js.on))
		return true;
	atomic_fetch_sub(&js.inside, 1);
	return false;
}

static void leave(void)
{
	atomic_fetch_sub(&js.inside, 1);
}

/* A look at Spark's tasks is wanted before the next second. */
static void wake(void)
{
	pthread_mutex_lock(&js.lock);
	js.wake = true;
	pthread_cond_broadcast(&js.cond);
	pthread_mutex_unlock(&js.lock);
}

static void on_rename(JNIEnv *env, jobject thread, const char *name)
{
	uint64_t now = sp_clock_mono_ns(), jt;
	uint32_t tid;

	if (!enter())
		return;
	jt = (uint64_t)(*env)->GetLongField(env, thread, js.eetop);
	tid = jt ? sp_threads_renamed(js.ev.threads, jt, name, now) : 0;
	if (tid && sp_task_tracker_named(env, thread, tid, name, now, true))
		wake();
	leave();
}

/* A thread that starts when the JVM begins to end, some time before it does: YARN leaves a quarter
 * of a second. */
static bool is_ending(const char *name)
{
	static const char *const names[] = {"SIGTERM handler", "SIGINT handler", "SIGHUP handler",
		"CoarseGrainedExecutorBackend-stop-executor"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void JNICALL on_thread_start(jvmtiEnv *ti, JNIEnv *env, jthread thread)
{
	struct sp_task_name engine;
	jvmtiThreadInfo info;

	if (!enter())
		return;
	memset(&info, 0, sizeof(info));
	if ((*ti)->GetThreadInfo(ti, thread, &info) == JVMTI_ERROR_NONE) {
		uint64_t jt = (uint64_t)(*env)->GetLongField(env, thread, js.eetop);
		uint64_t id = (uint64_t)(*env)->GetLongField(env, thread, js.thread_id);

		sp_threads_started(js.ev.threads, jt,
			jt && js.ev.anchor_offset ? jt + js.ev.anchor_offset : 0, id, info.name,
			NULL);
		sp_thread_lives_note(js.ev.lives, info.name, false);
		if (info.name &&
			(sp_task_name_feeder(info.name) ||
				sp_task_name_engine(info.name, &engine)) &&
			sp_task_tracker_named(env, thread, (uint32_t)syscall(SYS_gettid), info.name,
				sp_clock_mono_ns(), true))
			wake();
		if (js.ev.ending && info.name && is_ending(info.name))
			js.ev.ending(js.ev.ctx);
		sp_jvmti_dispose_info(ti, env, &info);
	}
	leave();
}

static void JNICALL on_thread_end(jvmtiEnv *ti, JNIEnv *env, jthread thread)
{
	jvmtiThreadInfo info;

	if (!enter())
		return;
	memset(&info, 0, sizeof(info));
	if ((*ti)->GetThreadInfo(ti, thread, &info) == JVMTI_ERROR_NONE) {
		sp_thread_lives_note(js.ev.lives, info.name, true);
		sp_threads_ended(js.ev.threads, info.name);
		sp_jvmti_dispose_info(ti, env, &info);
	} else {
		sp_threads_ended(js.ev.threads, NULL);
	}
	sp_task_tracker_ended((uint32_t)syscall(SYS_gettid), sp_clock_mono_ns());
	leave();
}

static void JNICALL on_code_unloaded(jvmtiEnv *ti, jmethodID method, const void *addr)
{
	if (!enter())
		return;
	js.ev.code_unloaded(js.ev.ctx, (uint64_t)addr);
	leave();
}

static void JNICALL on_stub(jvmtiEnv *ti, const char *name, const void *addr, jint length)
{
	if (!enter())
		return;
	js.ev.stub_generated(js.ev.ctx, name, (uint64_t)addr, (uint64_t)addr + (uint64_t)length);
	leave();
}

static void JNICALL on_vm_death(jvmtiEnv *ti, JNIEnv *env)
{
	if (!enter())
		return;
	js.ev.vm_death(js.ev.ctx);
	/* A thread of the JVM that stays in native code delays its exit by 300 ms (VM_Exit). */
	pthread_mutex_lock(&js.lock);
	js.stop = true;
	pthread_cond_broadcast(&js.cond);
	pthread_mutex_unlock(&js.lock);
	leave();
}

/* A name that was asked for, not reported: of a thread that had it before we came, or that another
 * one named. */
static void found_name(JNIEnv *env, jthread thread, uint64_t jt, uint64_t id,
	const jvmtiThreadInfo *info, bool first, uint64_t asked)
{
	char group[48];
	uint32_t tid;

	sp_jvmti_group_name(js.ti, env, info->thread_group, group, sizeof(group));
	tid = sp_threads_name(js.ev.threads, jt, id, info->name, group, asked);
	if (tid && info->name && (first || !js.renames))
		sp_task_tracker_found(env, thread, tid, info->name, asked, first);
}

/* Asks every Java thread's present name. Where renames are not reported, a name that ends within
 * the second is lost except for the one that ThreadEnd sees. */
static void refresh_names(JNIEnv *env, bool first)
{
	jthread *threads = NULL;
	jint count = 0;

	if ((*js.ti)->GetAllThreads(js.ti, &count, &threads) != JVMTI_ERROR_NONE)
		return;
	/* a reference for each: more than 32 are to be announced, which -Xcheck:jni looks at */
	if ((*env)->EnsureLocalCapacity(env, count + 16) < 0)
		sp_jni_failed(env);
	for (jint i = 0; i < count; i++) {
		jvmtiThreadInfo info;
		uint64_t asked = sp_clock_mono_ns();

		memset(&info, 0, sizeof(info));
		if ((*js.ti)->GetThreadInfo(js.ti, threads[i], &info) == JVMTI_ERROR_NONE) {
			uint64_t jt = (uint64_t)(*env)->GetLongField(env, threads[i], js.eetop);
			uint64_t id = (uint64_t)(*env)->GetLongField(env, threads[i], js.thread_id);

			if (jt)
				found_name(env, threads[i], jt, id, &info, first, asked);
			sp_jvmti_dispose_info(js.ti, env, &info);
		}
		(*env)->DeleteLocalRef(env, threads[i]);
	}
	(*js.ti)->Deallocate(js.ti, (unsigned char *)threads);
}

static int find_fields(JNIEnv *env)
{
	jclass c = (*env)->FindClass(env, "java/lang/Thread");

	js.eetop = c ? (*env)->GetFieldID(env, c, "eetop", "J") : NULL;
	js.thread_id = c && js.eetop ? (*env)->GetFieldID(env, c, "tid", "J") : NULL;
	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
	if (c)
		(*env)->DeleteLocalRef(env, c);
	return js.eetop && js.thread_id ? 0 : -ENOTSUP;
}

static void set_events(JNIEnv *env, jvmtiEventMode mode)
{
	jvmtiEnv *ti = js.ti;

	(*ti)->SetEventNotificationMode(ti, mode, JVMTI_EVENT_THREAD_START, NULL);
	if (mode == JVMTI_ENABLE || !sp_jni_doubles_states(env))
		(*ti)->SetEventNotificationMode(ti, mode, JVMTI_EVENT_THREAD_END, NULL);
	(*ti)->SetEventNotificationMode(ti, mode, JVMTI_EVENT_VM_DEATH, NULL);
	if (js.ev.code_unloaded)
		(*ti)->SetEventNotificationMode(ti, mode, JVMTI_EVENT_COMPILED_METHOD_UNLOAD, NULL);
	if (js.ev.stub_generated)
		(*ti)->SetEventNotificationMode(ti, mode, JVMTI_EVENT_DYNAMIC_CODE_GENERATED, NULL);
}

static void hook(JNIEnv *env)
{
	jvmtiEventCallbacks cb = {
		.ThreadStart = on_thread_start,
		.ThreadEnd = on_thread_end,
		.CompiledMethodUnload = on_code_unloaded,
		.DynamicCodeGenerated = on_stub,
		.VMDeath = on_vm_death,
	};
	jvmtiCapabilities caps;
	jvmtiEnv *ti = js.ti;

	memset(&caps, 0, sizeof(caps));
	caps.can_generate_compiled_method_load_events = 1;
	if ((*ti)->AddCapabilities(ti, &caps) != JVMTI_ERROR_NONE)
		js.ev.code_unloaded = NULL;
	(*ti)->SetEventCallbacks(ti, &cb, sizeof(cb));
	atomic_store(&js.on, 1);
	set_events(env, JVMTI_ENABLE);
	if (js.ev.stub_generated)
		(*ti)->GenerateEvents(ti, JVMTI_EVENT_DYNAMIC_CODE_GENERATED);
}

/* The environment stays, empty: HotSpot forgets a thread's JVMTI state at its end only while there
 * is an environment. Without one the states of threads that end are left behind, and the next
 * environment, ours or anybody's, writes into the memory that those threads had. */
static void unhook(JNIEnv *env)
{
	struct timespec ms = {0, 1000000};
	jvmtiCapabilities caps;

	if (!js.ti)
		return;
	if (js.renames)
		sp_thread_name_unhook(env);
	js.renames = false;
	atomic_store(&js.on, 0);
	set_events(env, JVMTI_DISABLE);
	/* A callback under way still needs what the session has. */
	while (atomic_load(&js.inside))
		nanosleep(&ms, NULL);
	sp_task_tracker_stop(env);
	memset(&caps, 0, sizeof(caps));
	(*js.ti)->GetCapabilities(js.ti, &caps);
	(*js.ti)->RelinquishCapabilities(js.ti, &caps);
}

static int start_guests(JNIEnv *env)
{
	int r = 0;

	for (uint32_t i = 0; i < js.ev.guest_count && r == 0; i++)
		r = js.ev.guests[i].start(js.ev.guests[i].ctx, js.vm, env, &js.err);
	return r;
}

static void stop_guests(JNIEnv *env)
{
	for (uint32_t i = js.ev.guest_count; i > 0; i--)
		js.ev.guests[i - 1].stop(js.ev.guests[i - 1].ctx, env);
}

static void tick_guests(JNIEnv *env)
{
	uint64_t wanted;

	pthread_mutex_lock(&js.lock);
	wanted = js.ticks_wanted;
	pthread_mutex_unlock(&js.lock);
	for (uint32_t i = 0; i < js.ev.guest_count; i++)
		if (js.ev.guests[i].tick)
			js.ev.guests[i].tick(js.ev.guests[i].ctx, env);
	pthread_mutex_lock(&js.lock);
	js.ticks_done = wanted;
	pthread_cond_broadcast(&js.cond);
	pthread_mutex_unlock(&js.lock);
}

static bool guests_wanted(void)
{
	bool wanted;

	pthread_mutex_lock(&js.lock);
	wanted = js.ticks_wanted != js.ticks_done;
	pthread_mutex_unlock(&js.lock);
	return wanted;
}

void sp_jvmti_thread_tick(void)
{
	uint64_t mine;

	pthread_mutex_lock(&js.lock);
	mine = ++js.ticks_wanted;
	pthread_cond_broadcast(&js.cond);
	while (js.ticks_done < mine && !js.stop)
		pthread_cond_wait(&js.cond, &js.lock);
	pthread_mutex_unlock(&js.lock);
}

static void announce(int status)
{
	pthread_mutex_lock(&js.lock);
	js.status = status;
	js.ready = true;
	pthread_cond_broadcast(&js.cond);
	pthread_mutex_unlock(&js.lock);
}

/* Sleeps up to @ns. Returns true when it is to stop. */
static bool wait_stop(uint64_t ns)
{
	struct timespec at;
	uint64_t end = sp_clock_mono_ns() + ns;
	bool stop;

	at.tv_sec = (time_t)(end / 1000000000);
	at.tv_nsec = (long)(end % 1000000000);
	pthread_mutex_lock(&js.lock);
	if (!js.stop && !js.wake && js.ticks_wanted == js.ticks_done)
		pthread_cond_timedwait(&js.cond, &js.lock, &at);
	js.wake = false;
	stop = js.stop;
	pthread_mutex_unlock(&js.lock);
	return stop;
}

/* A driver's application has its id, and an executor's its name, only when Spark is there: looked
 * for until then. */
static void identify(JNIEnv *env)
{
	struct sp_spark_identity id;

	if (js.identified)
		return;
	js.identified = !sp_spark_identity_read(env, js.ti, &id) ||
			(sp_spark_identity_whole(&id) && id.app_name[0]);
	sp_spark_identity_put(js.ev.identity, &id);
}

/* Names once a second, tasks as often as they want it, until it is to stop. */
static void poll_until_stopped(JNIEnv *env)
{
	uint64_t next = sp_clock_mono_ns() + NAME_PERIOD_NS, now, soon;

	do {
		soon = sp_task_tracker_tick(env, js.ti);
		now = sp_clock_mono_ns();
		if (now >= next || guests_wanted())
			tick_guests(env);
		if (now >= next) {
			refresh_names(env, false);
			identify(env);
			/* Ten thousand threads take milliseconds to ask: at most 1 % of the time.
			 */
			next = sp_clock_mono_ns() + NAME_PERIOD_NS +
			       100 * (sp_clock_mono_ns() - now);
			now = sp_clock_mono_ns();
		}
	} while (!wait_stop(soon && soon < next - now ? soon : next - now));
}

static void *run(void *arg)
{
	JavaVMAttachArgs attach = {JNI_VERSION_1_6, "sparkprof", NULL};
	JNIEnv *env;
	int r;

	sp_threads_exclude_self(js.ev.threads);
	sp_sched_slice_raise_priority();
	if ((*js.vm)->AttachCurrentThreadAsDaemon(js.vm, (void **)&env, &attach) != JNI_OK) {
		announce(-EAGAIN);
		return NULL;
	}
	r = js.ti ? 0 : sp_jni_tools(js.vm, &js.ti);
	if (r == 0)
		r = find_fields(env);
	if (r == 0)
		hook(env);
	if (r == 0) {
		js.renames = sp_thread_name_hook(env, on_rename) == 0;
		refresh_names(env, true);
		js.identified = false;
		identify(env);
		if (js.ev.properties)
			sp_jvmti_properties(js.ti, js.ev.redact, js.ev.properties);
	}
	if (r == 0)
		r = start_guests(env);
	announce(r);
	if (r == 0)
		poll_until_stopped(env);
	stop_guests(env);
	unhook(env);
	(*js.vm)->DetachCurrentThread(js.vm);
	return NULL;
}

int sp_jvmti_thread_start(JavaVM *vm, const struct sp_jvmti_thread_events *ev, struct sp_err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int r;

	pthread_once(&once, init_cond);
	js.vm = vm;
	js.ev = *ev;
	js.ready = js.stop = js.wake = false;
	sp_task_tracker_start(ev->tasks);
	js.ticks_wanted = js.ticks_done = 0;
	js.err.text[0] = '\0';
	js.status = 0;
	r = sp_own_thread_start(&js.thread, "sparkprof-jvm", SP_STACK_JAVA, run, NULL);
	if (r < 0)
		return sp_err_set(err, r, "cannot start a thread in the target: %s", strerror(-r));
	pthread_mutex_lock(&js.lock);
	while (!js.ready)
		pthread_cond_wait(&js.cond, &js.lock);
	r = js.status;
	pthread_mutex_unlock(&js.lock);
	if (r < 0) {
		sp_own_thread_join(js.thread);
		if (js.err.text[0]) {
			*err = js.err;
			return r;
		}
		return sp_err_set(
			err, r, "the JVM does not offer its tool interface: %s", strerror(-r));
	}
	return 0;
}

void sp_jvmti_thread_stop(void)
{
	pthread_mutex_lock(&js.lock);
	js.stop = true;
	pthread_cond_broadcast(&js.cond);
	pthread_mutex_unlock(&js.lock);
	sp_own_thread_join(js.thread);
}
