/* A JVMTI agent for tests only: takes SIGPROF samples, copies registers and stack as the real
 * capture does, asks AsyncGetCallTrace about the same moment in the same handler, and unwinds the
 * copy later with our library in a thread of its own. At VM death it writes how often stacks were
 * whole and Java frames equal, and describes the first failures.
 *   -agentpath:liboracle.so=interval_us=1000,out=FILE,show=20,record=FILE,cases=40 */
#include "oracle.h"
#include "base/clock.h"
#include "recorder.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

struct oracle o = {.interval_us = 1000, .show = 10};

static void copy_regs(struct sp_snapshot *s, const ucontext_t *uc)
{
	static const int from[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP,
		REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
		REG_RIP};

	for (int i = 0; i < SP_REG_COUNT; i++)
		s->regs[i] = (uint64_t)uc->uc_mcontext.gregs[from[i]];
	s->known = SP_REG_ALL;
}

static void take(struct slot *slot, void *ucontext)
{
	struct sp_snapshot *s = &slot->snap;
	uint64_t sp, end = (uint64_t)pthread_self(), len;
	JNIEnv *env = NULL;

	memset(s, 0, sizeof(*s));
	copy_regs(s, ucontext);
	sp = s->regs[SP_REG_RSP];
	s->tid = (uint32_t)syscall(SYS_gettid);
	s->time_ns = sp_clock_mono_ns();
	s->stack_addr = sp - 128;
	s->stack_end = end;
	len = end > sp && end - sp < (64u << 20) ? end - s->stack_addr : 0;
	s->stack_len = len > STACK_MAX ? STACK_MAX : (uint32_t)len;
	memcpy(slot->stack, (void *)s->stack_addr, s->stack_len);
	s->stack = slot->stack;
	slot->trace.count = 0;
	if ((*o.vm)->GetEnv(o.vm, (void **)&env, JNI_VERSION_1_6) != 0 || !env)
		return;
	if (o.have_anchor) {
		const char *a = (const char *)env - o.env_offset + o.anchor.anchor;

		memcpy(&s->anchor.last_java_sp, a + o.anchor.sp, 8);
		memcpy(&s->anchor.last_java_pc, a + o.anchor.pc, 8);
		memcpy(&s->anchor.last_java_fp, a + o.anchor.fp, 8);
	}
	slot->trace.env = env;
	slot->trace.frames = slot->frames;
	if (!o.quiet)
		o.agct(&slot->trace, DEPTH, ucontext);
}

static void on_signal(int sig, siginfo_t *info, void *ucontext)
{
	int saved = errno;
	uint64_t head = o.head;

	if (!o.on)
		return;
	for (;;) {
		if (head - o.tail >= SLOTS) {
			__atomic_fetch_add(&o.dropped, 1, __ATOMIC_RELAXED);
			break;
		}
		if (!__atomic_compare_exchange_n(
			    &o.head, &head, head + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		take(&o.slots[head % SLOTS], ucontext);
		__atomic_store_n(&o.slots[head % SLOTS].ready, 1, __ATOMIC_RELEASE);
		break;
	}
	errno = saved;
}

static void *collect(void *arg)
{
	struct timespec nap = {0, 5000000};

	o.collector_tid = (int)syscall(SYS_gettid);
	while (!o.stop || o.tail != o.head) {
		nanosleep(&nap, NULL);
		sp_mem_live_refresh(o.live);
		sp_modules_refresh(o.modules, false);
		sp_method_names_batch(o.names, true);
		while (o.tail != o.head) {
			struct slot *slot = &o.slots[o.tail % SLOTS];

			if (!__atomic_load_n(&slot->ready, __ATOMIC_ACQUIRE))
				break;
			judge(slot);
			slot->ready = 0;
			__atomic_fetch_add(&o.tail, 1, __ATOMIC_RELEASE);
		}
	}
	return NULL;
}

struct task {
	int tid;
	uint64_t cpu_ns;
};

static int list_tasks(struct task *t, int count, int max)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	while (d && n < max && (e = readdir(d)))
		if (atoi(e->d_name) > 0) {
			uint64_t seen = 0;

			for (int i = 0; i < count; i++)
				if (t[i].tid == atoi(e->d_name))
					seen = t[i].cpu_ns;
			t[n + max] = (struct task){atoi(e->d_name), seen};
			n++;
		}
	if (d)
		closedir(d);
	memcpy(t, t + max, (size_t)n * sizeof(*t));
	return n;
}

/* Signals every thread that has run since the last look: timers of the kernel tick too seldom. */
static void *sample(void *arg)
{
	static struct task t[2 * 1024];
	struct timespec nap = {0, o.interval_us * 1000l};
	int self = (int)syscall(SYS_gettid), count = 0;

	for (unsigned round = 0; !o.stop; round++) {
		if (round % 20 == 0)
			count = list_tasks(t, count, 1024);
		for (int i = 0; i < count; i++) {
			uint64_t now = sp_clock_read((clockid_t)((~(unsigned)t[i].tid << 3) | 6));

			/* a blocked thread that our own signal woke has run a few microseconds */
			if (now < t[i].cpu_ns + 60000 || t[i].tid == self ||
				t[i].tid == o.collector_tid || t[i].tid == getpid())
				continue;
			t[i].cpu_ns = now;
			syscall(SYS_tgkill, getpid(), t[i].tid, SIGPROF);
		}
		nanosleep(&nap, NULL);
	}
	return NULL;
}

static bool open_library(void)
{
	struct sp_err err = {""};
	int r = sp_mem_live_new(&o.live, 0, NULL);

	if (r == 0)
		r = sp_modules_new(&o.modules, sp_mem_live_mem(o.live));
	if (r == 0)
		r = sp_modules_refresh(o.modules, true);
	if (r >= 0)
		r = sp_hotspot_new(&o.hotspot, sp_mem_live_mem(o.live), o.modules, &err);
	if (r == 0)
		r = sp_unwinder_new(&o.unwinder, sp_mem_live_mem(o.live), o.modules, o.hotspot, 0);
	if (r == 0)
		r = sp_method_names_new(&o.names, sp_mem_live_mem(o.live), o.hotspot, 0);
	if (r < 0)
		fprintf(o.f, "oracle: cannot start: %d %s\n", r, err.text);
	return r == 0;
}

static bool is_another(void *ctx, uint64_t thread)
{
	return thread != *(const uint64_t *)ctx;
}

/* What a list costs in which all threads but one are known. */
static void list_again(uint64_t mine, uint32_t tid)
{
	struct sp_mem_stats before, after;
	struct sp_java_thread t = {0};
	int n;

	sp_mem_live_stats(o.live, &before);
	n = sp_hotspot_threads(o.hotspot, is_another, &mine, &t, 1);
	sp_mem_live_stats(o.live, &after);
	fprintf(o.f, "again: unknown %d itself %d reads %d\n", n, t.tid == tid,
		(int)(after.reads - before.reads));
}

static void find_anchor(JNIEnv *env)
{
	struct sp_java_thread t[256];
	int n = sp_hotspot_threads(o.hotspot, NULL, NULL, t, 256);
	uint32_t tid = (uint32_t)syscall(SYS_gettid);

	for (int i = 0; i < n && i < 256; i++) {
		if (t[i].tid != tid)
			continue;
		o.env_offset = (long)((uint64_t)env - t[i].thread);
		sp_hotspot_anchor(o.hotspot, &o.anchor);
		list_again(t[i].thread, tid);
		o.have_anchor = o.env_offset > 0 && o.env_offset < 4096;
	}
	fprintf(o.f, "threads %d anchor %d offset %ld version %d\n", n, o.have_anchor, o.env_offset,
		sp_hotspot_version(o.hotspot));
}

static void JNICALL on_init(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
	struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_RESTART | SA_SIGINFO};
	sigset_t all, old;

	if (!open_library())
		return;
	find_anchor(env);
	o.same_ids = sp_hotspot_version(o.hotspot) < 26;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	o.on = true;
	sigaction(SIGPROF, &sa, NULL);
	pthread_create(&o.collector, NULL, collect, NULL);
	pthread_create(&o.sampler, NULL, sample, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void JNICALL on_death(jvmtiEnv *jvmti, JNIEnv *env)
{
	struct sp_mem_stats ms;

	o.on = false;
	o.stop = true;
	if (!o.unwinder)
		return;
	pthread_join(o.sampler, NULL);
	pthread_join(o.collector, NULL);
	for (int i = 0; i < SP_WHY_COUNT; i++)
		if (o.reasons[i])
			fprintf(o.f, "reason %s: %lu\n", sp_unwind_reason_text(i), o.reasons[i]);
	if (o.record[0])
		o.recorded = (uint64_t)sp_recorder_write(o.record, sp_mem_live_mem(o.live));
	sp_mem_live_stats(o.live, &ms);
	fprintf(o.f, "reads %lu hits %lu faults %lu; bytes: unwinder %zu modules %zu names %zu\n",
		ms.reads, ms.hits, ms.faults, sp_unwinder_bytes(o.unwinder),
		sp_modules_bytes(o.modules), sp_method_names_bytes(o.names));
	fprintf(o.f, "names %lu stale %lu lines %lu; anchors %lu; recorded %lu; mounted %lu\n",
		o.names_ok, o.names_stale, o.lines, o.anchors, o.recorded, o.vthreads);
	fprintf(o.f,
		"samples %lu dropped %lu whole %.4f%% broken %lu truncated %lu depth %lu unknown "
		"%.4f%% frames/sample %.1f ns/sample %.0f\n",
		o.samples, o.dropped, percent(o.whole, o.samples), o.broken, o.truncated,
		o.depth_cap, percent(o.unknown_samples, o.samples),
		(double)o.frames / (double)(o.samples + !o.samples),
		(double)o.unwind_ns / (double)(o.samples + !o.samples));
	fprintf(o.f,
		"agct answered %lu equal %.4f%% (leaf bci %lu) near %lu entering %lu stopped %lu "
		"explained %.4f%% differ %lu silent %.3f%%\n",
		o.answered, percent(o.equal, o.answered), o.leaf_bci, o.near, o.entering, o.stopped,
		percent(o.answered - o.differ, o.answered), o.differ,
		percent(o.no_answer, o.java_samples));
	fclose(o.f);
}

/* AsyncGetCallTrace gives jmethodIDs, which exist only once they were asked for. */
static void JNICALL on_prepare(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass klass)
{
	jmethodID *methods;
	jint count;

	if ((*jvmti)->GetClassMethods(jvmti, klass, &count, &methods) == 0)
		(*jvmti)->Deallocate(jvmti, (unsigned char *)methods);
}

static void JNICALL on_load(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass klass)
{
}

static void prepare_all(jvmtiEnv *jvmti, JNIEnv *env)
{
	jclass *classes;
	jint count;

	if ((*jvmti)->GetLoadedClasses(jvmti, &count, &classes) != 0)
		return;
	for (jint i = 0; i < count; i++)
		on_prepare(jvmti, env, NULL, classes[i]);
	(*jvmti)->Deallocate(jvmti, (unsigned char *)classes);
}

static void JNICALL on_vm_init(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
	prepare_all(jvmti, env);
	on_init(jvmti, env, thread);
}

static void option(const char *key, const char *value)
{
	if (!strcmp(key, "interval_us"))
		o.interval_us = atoi(value);
	else if (!strcmp(key, "out"))
		snprintf(o.out, sizeof(o.out), "%s", value);
	else if (!strcmp(key, "show"))
		o.show = atoi(value);
	else if (!strcmp(key, "record"))
		snprintf(o.record, sizeof(o.record), "%s", value);
	else if (!strcmp(key, "agct"))
		o.quiet = atoi(value) == 0;
	else if (!strcmp(key, "cases"))
		o.cases = atoi(value);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	static const jvmtiEvent events[] = {JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_DEATH,
		JVMTI_EVENT_CLASS_PREPARE, JVMTI_EVENT_CLASS_LOAD};
	jvmtiEventCallbacks cb = {.VMInit = on_vm_init,
		.VMDeath = on_death,
		.ClassPrepare = on_prepare,
		.ClassLoad = on_load};
	char *save = NULL, *copy = strdup(options ? options : "");
	jvmtiEnv *jvmti;

	for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		char *eq = strchr(p, '=');

		if (eq) {
			*eq = 0;
			option(p, eq + 1);
		}
	}
	free(copy);
	o.vm = vm;
	o.f = o.out[0] ? fopen(o.out, "w") : stderr;
	o.agct = (agct_fn *)dlsym(RTLD_DEFAULT, "AsyncGetCallTrace");
	o.slots = mmap(NULL, SLOTS * sizeof(struct slot), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!o.f || !o.agct || o.slots == MAP_FAILED ||
		(*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_1_2) != 0)
		return 1;
	(*jvmti)->SetEventCallbacks(jvmti, &cb, sizeof(cb));
	for (unsigned i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		(*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, events[i], NULL);
	return 0;
}
