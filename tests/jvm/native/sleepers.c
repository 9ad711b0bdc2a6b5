/* A JVMTI agent for tests only: reads blocked threads where they stand (stack pointer and pc from
 * /proc/self/task/TID/syscall, nothing else), unwinds them and compares their Java frames with
 * JVMTI's GetStackTrace of the same thread. A thread whose CPU clock moved meanwhile is left out.
 *   -agentpath:libsleepers.so=out=FILE */
#include "unwind/method_names.h"
#include "unwind/unwind.h"

#include "base/clock.h"

#include <fcntl.h>
#include <jvmti.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define DEPTH	  2048
#define STACK_MAX (512u << 10)
#define THREADS	  4096

static struct {
	JavaVM *vm;
	jvmtiEnv *jvmti;
	FILE *f;
	pthread_t thread;
	volatile bool stop;
	int show;
	struct sp_mem_live *live;
	struct sp_modules *modules;
	struct sp_hotspot *hotspot;
	struct sp_unwinder *unwinder;
	struct sp_method_names *names;
	uint64_t looks, whole, broken, moved, equal, differ;
	uint64_t reasons[SP_WHY_COUNT];
} o = {.show = 10};

static struct sp_frame frames[DEPTH];
static struct sp_java_thread threads[THREADS];

static clockid_t cpu_clock(uint32_t tid)
{
	return (clockid_t)((~tid << 3) | 6);
}

/* "nr args… sp pc"; false while it runs. */
static bool read_blocked(uint32_t tid, uint64_t *sp, uint64_t *pc)
{
	char path[64], text[256];
	unsigned long long a[8];
	ssize_t n;
	int nr, fd;

	snprintf(path, sizeof(path), "/proc/self/task/%u/syscall", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	if (sscanf(text, "%d %llx %llx %llx %llx %llx %llx %llx %llx", &nr, &a[0], &a[1], &a[2],
		    &a[3], &a[4], &a[5], &a[6], &a[7]) != 9)
		return false;
	*sp = a[6];
	*pc = a[7];
	return true;
}

static bool take(const struct sp_java_thread *t, struct sp_snapshot *s, uint8_t *stack)
{
	struct sp_anchor_layout l;
	struct iovec to[2], from[2];
	uint64_t sp, pc, anchor[8] = {0};

	if (!read_blocked(t->tid, &sp, &pc) || sp >= t->stack_base ||
		t->stack_base - sp > STACK_MAX)
		return false;
	sp_hotspot_anchor(o.hotspot, &l);
	memset(s, 0, sizeof(*s));
	s->tid = t->tid;
	s->known = 1u << SP_REG_RSP | 1u << SP_REG_PC;
	s->regs[SP_REG_RSP] = sp;
	s->regs[SP_REG_PC] = pc;
	s->time_ns = sp_clock_mono_ns();
	s->stack_addr = sp;
	s->stack_end = t->stack_base;
	s->stack_len = (uint32_t)(t->stack_base - sp);
	s->stack = stack;
	to[0] = (struct iovec){stack, s->stack_len};
	from[0] = (struct iovec){(void *)sp, s->stack_len};
	to[1] = (struct iovec){anchor, 64};
	from[1] = (struct iovec){(void *)(t->thread + l.anchor), 64};
	if (process_vm_readv(getpid(), to, 2, from, 2, 0) != (ssize_t)s->stack_len + 64)
		return false;
	s->anchor.last_java_sp = anchor[l.sp / 8];
	s->anchor.last_java_pc = anchor[l.pc / 8];
	s->anchor.last_java_fp = anchor[l.fp / 8];
	return true;
}

static void print_frames(const struct sp_unwind_result *r)
{
	for (uint32_t i = 0; i < r->count && i < 40; i++) {
		const struct sp_frame *f = &frames[i];
		const struct sp_module *mod = sp_modules_get(o.modules, f->module);
		struct sp_name *name;
		char buf[128] = "";

		if (f->kind == SP_FRAME_KIND_JAVA && sp_method_names_get(o.names, f, &name) == 0) {
			fprintf(o.f, "    J %s.%s @%d\n", name->class_name, name->name, f->bci);
			continue;
		}
		if (f->kind == SP_FRAME_KIND_STUB)
			sp_unwind_stub_name(o.unwinder, f, buf, sizeof(buf));
		else
			sp_modules_name(o.modules, f->pc - 1, buf, sizeof(buf));
		fprintf(o.f, "    %d %s+%lx %s\n", f->kind, mod ? mod->name : "?", (long)f->offset,
			buf);
	}
}

static void describe(
	const char *what, const struct sp_snapshot *s, const struct sp_unwind_result *r)
{
	if (o.show-- <= 0)
		return;
	fprintf(o.f, "== %s: tid %u %s (%s) stop pc %lx sp %lx; pc %lx sp %lx anchor %lx %lx %lx\n",
		what, s->tid, sp_unwind_status_text(r->status), sp_unwind_reason_text(r->reason),
		(long)r->stop_pc, (long)r->stop_sp, (long)s->regs[SP_REG_PC],
		(long)s->regs[SP_REG_RSP], (long)s->anchor.last_java_sp,
		(long)s->anchor.last_java_pc, (long)s->anchor.last_java_fp);
	print_frames(r);
}

static bool same(const struct sp_unwind_result *r, const jvmtiFrameInfo *theirs, jint count)
{
	jint n = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		if (frames[i].kind != SP_FRAME_KIND_JAVA)
			continue;
		if (n >= count || *(uint64_t *)theirs[n].method != frames[i].method)
			return false;
		if (!(frames[i].flags & SP_FRAMEFLAG_NATIVE_METHOD) && theirs[n].location >= 0 &&
			theirs[n].location != frames[i].bci)
			return false;
		n++;
	}
	return n == count;
}

static void look(jthread jt, const struct sp_java_thread *t)
{
	static jvmtiFrameInfo theirs[DEPTH];
	static uint8_t stack[STACK_MAX];
	struct sp_unwind_result r;
	struct sp_snapshot s;
	uint64_t before = sp_clock_read(cpu_clock(t->tid));
	jint count = 0;

	if (!take(t, &s, stack))
		return;
	if ((*o.jvmti)->GetStackTrace(o.jvmti, jt, 0, DEPTH, theirs, &count) != 0)
		return;
	if (sp_clock_read(cpu_clock(t->tid)) != before) {
		o.moved++;
		return;
	}
	sp_unwind(o.unwinder, &s, frames, DEPTH, &r);
	o.looks++;
	o.whole += r.status == SP_UNWIND_COMPLETE;
	o.broken += r.status == SP_UNWIND_BROKEN;
	o.reasons[r.reason]++;
	if (same(&r, theirs, count)) {
		o.equal++;
	} else {
		o.differ++;
		describe("differs", &s, &r);
	}
	if (r.status != SP_UNWIND_COMPLETE)
		describe("broken", &s, &r);
}

static void look_at_all(JNIEnv *env, jfieldID eetop)
{
	int known = sp_hotspot_threads(o.hotspot, NULL, NULL, threads, THREADS);
	jthread *list;
	jint count;

	if ((*o.jvmti)->GetAllThreads(o.jvmti, &count, &list) != 0)
		return;
	for (jint i = 0; i < count; i++) {
		uint64_t thread = (uint64_t)(*env)->GetLongField(env, list[i], eetop);

		for (int k = 0; k < known && k < THREADS; k++)
			if (threads[k].thread == thread &&
				threads[k].tid != (uint32_t)syscall(SYS_gettid))
				look(list[i], &threads[k]);
		(*env)->DeleteLocalRef(env, list[i]);
	}
	(*o.jvmti)->Deallocate(o.jvmti, (unsigned char *)list);
}

static void *run(void *arg)
{
	struct timespec nap = {0, 100000000};
	jclass thread_class;
	jfieldID eetop;
	JNIEnv *env;

	(*o.vm)->AttachCurrentThreadAsDaemon(o.vm, (void **)&env, NULL);
	thread_class = (*env)->FindClass(env, "java/lang/Thread");
	eetop = (*env)->GetFieldID(env, thread_class, "eetop", "J");
	while (!o.stop && eetop) {
		nanosleep(&nap, NULL);
		sp_mem_live_refresh(o.live);
		sp_modules_refresh(o.modules, false);
		sp_method_names_batch(o.names, true);
		look_at_all(env, eetop);
	}
	(*o.vm)->DetachCurrentThread(o.vm);
	return NULL;
}

static void JNICALL on_init(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
	const struct sp_mem *mem;

	if (sp_mem_live_new(&o.live, 0, NULL) < 0)
		return;
	mem = sp_mem_live_mem(o.live);
	if (sp_modules_new(&o.modules, mem) < 0 || sp_modules_refresh(o.modules, true) < 0 ||
		sp_hotspot_new(&o.hotspot, mem, o.modules, NULL) < 0 ||
		sp_unwinder_new(&o.unwinder, mem, o.modules, o.hotspot, 0) < 0 ||
		sp_method_names_new(&o.names, mem, o.hotspot, 0) < 0)
		return;
	pthread_create(&o.thread, NULL, run, NULL);
}

static void JNICALL on_death(jvmtiEnv *jvmti, JNIEnv *env)
{
	o.stop = true;
	if (!o.names)
		return;
	for (int i = 1; i < SP_WHY_COUNT; i++)
		if (o.reasons[i])
			fprintf(o.f, "reason %s: %lu\n", sp_unwind_reason_text(i),
				(long)o.reasons[i]);
	fprintf(o.f, "blocked %lu whole %lu broken %lu equal %lu differ %lu moved %lu\n",
		(long)o.looks, (long)o.whole, (long)o.broken, (long)o.equal, (long)o.differ,
		(long)o.moved);
	fflush(o.f);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	jvmtiEventCallbacks cb = {.VMInit = on_init, .VMDeath = on_death};

	o.vm = vm;
	o.f = options && !strncmp(options, "out=", 4) ? fopen(options + 4, "we") : stderr;
	if (!o.f || (*vm)->GetEnv(vm, (void **)&o.jvmti, JVMTI_VERSION_1_2) != 0)
		return 1;
	(*o.jvmti)->SetEventCallbacks(o.jvmti, &cb, sizeof(cb));
	(*o.jvmti)->SetEventNotificationMode(o.jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL);
	(*o.jvmti)->SetEventNotificationMode(o.jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_DEATH, NULL);
	return 0;
}
