/* A JVMTI agent for tests only: takes SIGPROF samples, copies registers and stack as the real
 * capture does, asks AsyncGetCallTrace about the same moment in the same handler, and unwinds the
 * copy later with our library in a thread of its own. At VM death it writes how often stacks were
 * whole and Java frames equal, and describes the first failures.
 *   -agentpath:liboracle.so=interval_us=1000,out=FILE,show=20,record=FILE,cases=40 */
#include "unwind/code.h"
#include "unwind/names.h"
#include "unwind/unwind.h"

#include "base/clock.h"
#include "recorder.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <jvmti.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define SLOTS	  256u
#define STACK_MAX (260u << 10)
#define DEPTH	  2048

typedef struct {
	jint bci;
	jmethodID method;
} agct_frame;

typedef struct {
	JNIEnv *env;
	jint count;
	agct_frame *frames;
} agct_trace;

typedef void agct_fn(agct_trace *trace, jint depth, void *ucontext);

struct slot {
	volatile int ready;
	struct sp_snapshot snap;
	agct_trace trace;
	agct_frame frames[DEPTH];
	uint8_t stack[STACK_MAX];
};

static struct {
	JavaVM *vm;
	agct_fn *agct;
	struct slot *slots;
	volatile uint64_t head, tail;
	volatile uint64_t dropped;
	volatile bool stop, on;
	long env_offset; /* JNIEnv - JavaThread */
	struct sp_anchor_layout anchor;
	bool have_anchor, same_ids;
	pthread_t collector, sampler;
	int collector_tid;
	/* options */
	int interval_us, show, cases, quiet;
	char out[256], record[256];
	FILE *f;
	/* library */
	struct sp_mem_live *live;
	struct sp_modules *modules;
	struct sp_hotspot *hotspot;
	struct sp_unwinder *unwinder;
	struct sp_names *names;
	/* counts */
	uint64_t samples, whole, truncated, depth_cap, broken, unknown_samples, anchors;
	uint64_t reasons[SP_WHY_COUNT];
	uint64_t answered, equal, leaf_bci, near, entering, stopped, differ, no_answer,
		java_samples;
	uint64_t unwind_ns, frames, names_ok, names_stale, lines;
	uint64_t recorded, vthreads;
} o = {.interval_us = 1000, .show = 10};

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

static void print_frame(const struct sp_frame *f)
{
	char buf[128];
	struct sp_name *name;
	const struct sp_module *mod;

	if (f->kind == SP_KIND_JAVA) {
		if (sp_names_get(o.names, f, &name) == 0)
			fprintf(o.f, "    J%d %s.%s%s @%d :%d %lx\n", f->type, name->class_name,
				name->name, name->sig, f->bci, sp_names_line(o.names, f), f->pc);
		else
			fprintf(o.f, "    J%d stale %lx @%d\n", f->type, f->method, f->bci);
	} else if (f->kind == SP_KIND_STUB) {
		fprintf(o.f, "    S %s %lx\n", sp_unwind_stub_name(o.unwinder, f, buf, sizeof(buf)),
			f->pc);
	} else if (f->kind == SP_KIND_NATIVE) {
		mod = sp_modules_get(o.modules, f->module);
		if (sp_modules_name(o.modules, f->pc - 1, buf, sizeof(buf)) < 0)
			buf[0] = 0;
		fprintf(o.f, "    N %s+%lx %s\n", mod ? mod->name : "?", f->offset, buf);
	} else {
		fprintf(o.f, "    ? %lx\n", f->pc);
	}
}

static void print_code(uint64_t pc)
{
	uint8_t code[64];

	if (sp_mem_read(sp_mem_live_mem(o.live), pc - 32, code, sizeof(code)) < 0)
		return;
	fprintf(o.f, "    code:");
	for (int i = 0; i < 64; i++)
		fprintf(o.f, "%s%02x", i == 32 ? " | " : " ", code[i]);
	fprintf(o.f, "\n");
}

static void describe(const char *what, const struct slot *slot, const struct sp_frame *frames,
	const struct sp_unwind_result *r)
{
	const struct sp_snapshot *s = &slot->snap;

	if (o.show-- <= 0)
		return;
	fprintf(o.f,
		"== %s: %s (%s) stop pc %lx sp %lx; top pc %lx sp %lx fp %lx rbx %lx r13 %lx rax "
		"%lx end %lx len %u anchor %lx %lx %lx\n",
		what, sp_unwind_status_text(r->status), sp_unwind_reason_text(r->reason),
		r->stop_pc, r->stop_sp, s->regs[SP_REG_PC], s->regs[SP_REG_RSP],
		s->regs[SP_REG_RBP], s->regs[SP_REG_RBX], s->regs[SP_REG_R13], s->regs[SP_REG_RAX],
		s->stack_end, s->stack_len, s->anchor.last_java_sp, s->anchor.last_java_pc,
		s->anchor.last_java_fp);
	for (uint32_t i = 0; i < r->count && i < 12; i++)
		print_frame(&frames[i]);
	{
		struct sp_blob b;

		if (sp_code_find(o.hotspot, r->stop_pc, &b) == 0)
			fprintf(o.f, "    J blob frame %u complete %d pc +%lx\n", b.frame_size,
				b.frame_complete, r->stop_pc - b.code_begin);
	}
	fprintf(o.f, "  top");
	print_code(s->regs[SP_REG_PC]);
	fprintf(o.f, "  stop");
	print_code(r->stop_pc);
	fprintf(o.f, "  stack:");
	for (uint32_t i = 0; i < 24 && 128 + 8 * i + 8 <= s->stack_len; i++)
		fprintf(o.f, " %lx", *(uint64_t *)(slot->stack + 128 + 8 * i));
	for (uint32_t i = 0; i < 30 && 128 + 8 * i + 8 <= s->stack_len; i++) {
		uint64_t v = *(uint64_t *)(slot->stack + 128 + 8 * i);
		struct sp_blob b;
		struct sp_scope sc[SP_SCOPES_MAX];
		bool exact = false;

		if (sp_code_find(o.hotspot, v, &b) == 0 && b.kind == SP_BLOB_NMETHOD) {
			int n = sp_code_scopes(o.hotspot, &b, v, false, sc, SP_SCOPES_MAX, &exact);

			fprintf(o.f,
				"\n    J stack[%u] %lx n %d exact %d deopt %lx begin %lx id %u", i,
				v, n, exact, b.deopt, b.code_begin, b.compile_id);
		}
	}
	fprintf(o.f, "\n  stack at stop:");
	for (uint64_t a = r->stop_sp - 32; a < r->stop_sp + 96; a += 8)
		if (a >= s->stack_addr && a + 8 <= s->stack_addr + s->stack_len)
			fprintf(o.f, " %lx", *(uint64_t *)(slot->stack + (a - s->stack_addr)));
	fprintf(o.f, "\n  agct %d:", slot->trace.count);
	for (int i = 0; i < slot->trace.count && i < 12; i++) {
		uint64_t m = o.same_ids ? *(uint64_t *)slot->frames[i].method : 0;
		struct sp_frame jf = {
			.kind = SP_KIND_JAVA, .method = m, .bci = slot->frames[i].bci};
		struct sp_name *name;

		if (m)
			sp_mem_u64(sp_mem_live_mem(o.live), m + 8, &jf.const_method);
		if (m && sp_names_get(o.names, &jf, &name) == 0)
			fprintf(o.f, " %s.%s@%d", name->class_name, name->name,
				slot->frames[i].bci);
	}
	fprintf(o.f, "\n");
}

/* Our Java frames, innermost first, as AsyncGetCallTrace would tell them: for the innermost
 * compiled frame it always takes the debug information behind the pc, as if the thread stood there,
 * also where a stub was called (forte.cpp). With @entry, without a method that is just being
 * entered. */
static int expected(const struct sp_frame *frames, uint32_t count, bool near, bool entry,
	struct sp_scope *ret, bool *ret_native, bool *ret_interpreted)
{
	int n = 0;
	bool in_first = false;

	*ret_interpreted = false;
	for (uint32_t i = 0; i < count; i++) {
		const struct sp_frame *f = &frames[i];
		struct sp_blob b;
		bool exact;

		if (f->kind != SP_KIND_JAVA)
			continue;
		if (in_first) {
			in_first = f->type == SP_FRAME_INLINED;
			continue;
		}
		if (n == 0 && entry && i == 0 && f->type == SP_FRAME_INTERPRETED)
			continue;
		if (near && n == 0 && f->type != SP_FRAME_INTERPRETED &&
			f->type != SP_FRAME_NATIVE && i > 0 &&
			sp_code_find(o.hotspot, f->pc, &b) == 0) {
			int k = sp_code_scopes(
				o.hotspot, &b, f->pc, true, ret, SP_SCOPES_MAX, &exact);

			if (k > 0) {
				memset(ret_native, 0, (size_t)k);
				n = k;
				in_first = f->type == SP_FRAME_INLINED;
				continue;
			}
		}
		if (n == 0)
			*ret_interpreted = f->type == SP_FRAME_INTERPRETED;
		ret_native[n] = f->flags & SP_FRAMEFLAG_NATIVE_METHOD;
		ret[n++] = (struct sp_scope){f->method, 0, f->bci};
	}
	return n;
}

enum verdict { EQUAL, LEAF_BCI, BCI, DIFFERENT };

static enum verdict same(const struct slot *slot, const struct sp_frame *frames, uint32_t count,
	bool near, bool entry)
{
	static struct sp_scope mine[DEPTH + SP_SCOPES_MAX];
	static bool native[DEPTH + SP_SCOPES_MAX];
	enum verdict v = EQUAL;
	bool interpreted;
	int n = expected(frames, count, near, entry, mine, native, &interpreted), skip = 0;

	if (entry && n > slot->trace.count) /* it then takes a caller's caller for the caller */
		skip = n - slot->trace.count;
	if (n - skip != slot->trace.count)
		return DIFFERENT;
	for (int i = 0; i < n - skip; i++) {
		const struct sp_scope *my = &mine[i + skip];

		uint64_t m = slot->frames[i].method ? *(uint64_t *)slot->frames[i].method : 0;

		if (m != my->method)
			return DIFFERENT;
		if (native[i + skip] || slot->frames[i].bci < 0 || slot->frames[i].bci == my->bci)
			continue;
		if (i == 0 && interpreted)
			v = LEAF_BCI; /* it reads the bytecode pointer's last spill */
		else
			v = BCI;
	}
	return v;
}

/* It gave up on the way down: what it has is the upper part of ours. */
static bool starts_alike(const struct slot *slot, const struct sp_frame *frames, uint32_t count)
{
	int n = 0;

	for (uint32_t i = 0; i < count && n < slot->trace.count; i++) {
		if (frames[i].kind != SP_KIND_JAVA)
			continue;
		if (!slot->frames[n].method ||
			*(uint64_t *)slot->frames[n].method != frames[i].method)
			return false;
		n++;
	}
	return n == slot->trace.count;
}

static void compare(
	const struct slot *slot, const struct sp_frame *frames, const struct sp_unwind_result *r)
{
	enum verdict v;

	if (r->java_count)
		o.java_samples++;
	if (slot->trace.count <= 0 || !o.same_ids) {
		if (r->java_count)
			o.no_answer++;
		return;
	}
	o.answered++;
	v = same(slot, frames, r->count, false, false);
	if (v == EQUAL || v == LEAF_BCI) {
		o.equal++;
		o.leaf_bci += v == LEAF_BCI;
	} else if (same(slot, frames, r->count, true, false) <= LEAF_BCI) {
		o.near++;
	} else if (frames[0].type == SP_FRAME_INTERPRETED && frames[0].bci == 0 &&
		   same(slot, frames, r->count, false, true) <= LEAF_BCI) {
		o.entering++;
	} else if (r->status == SP_UNWIND_COMPLETE && starts_alike(slot, frames, r->count)) {
		o.stopped++;
	} else {
		o.differ++;
		describe(v == BCI ? "bci differs" : "differs", slot, frames, r);
	}
}

static void resolve(const struct sp_frame *frames, uint32_t count)
{
	struct sp_name *name;

	for (uint32_t i = 0; i < count; i++) {
		if (frames[i].kind != SP_KIND_JAVA)
			continue;
		if (sp_names_get(o.names, &frames[i], &name) == 0)
			o.names_ok++;
		else
			o.names_stale++;
		o.lines += sp_names_line(o.names, &frames[i]) > 0;
	}
}

/* Cases for the corpus: whole stacks that the oracle agrees with, of every kind of top frame. */
static bool wanted(
	const struct slot *slot, const struct sp_frame *frames, const struct sp_unwind_result *r)
{
	static uint32_t had[16];
	uint32_t kind = frames[0].kind * 4u + (frames[0].type < 3 ? frames[0].type : 3);

	if (r->status != SP_UNWIND_COMPLETE || r->unknown || r->count > 60 ||
		slot->snap.stack_len > 24576 || o.samples < 500 || kind > 15)
		return false;
	if (slot->trace.count > 0 && same(slot, frames, r->count, false, false) > LEAF_BCI)
		return false;
	return had[kind]++ < (uint32_t)o.cases / 5;
}

static void judge(struct slot *slot)
{
	static struct sp_frame frames[DEPTH];
	struct sp_unwind_result r;
	uint64_t start = sp_clock_read(CLOCK_THREAD_CPUTIME_ID);

	sp_unwind(o.unwinder, &slot->snap, frames, DEPTH, &r);
	if (r.status == SP_UNWIND_BROKEN && r.reason == SP_WHY_NO_MODULE &&
		sp_modules_refresh(o.modules, true) > 0)
		sp_unwind(o.unwinder, &slot->snap, frames, DEPTH, &r);
	o.unwind_ns += sp_clock_read(CLOCK_THREAD_CPUTIME_ID) - start;
	o.samples++;
	o.frames += r.count;
	o.whole += r.status == SP_UNWIND_COMPLETE;
	o.truncated += r.status == SP_UNWIND_TRUNCATED;
	o.depth_cap += r.status == SP_UNWIND_DEPTH_CAP;
	o.broken += r.status == SP_UNWIND_BROKEN;
	o.unknown_samples += r.unknown > 0;
	for (uint32_t i = 0; i < r.count; i++)
		if (frames[i].flags & SP_FRAMEFLAG_VTHREAD_END) {
			o.vthreads++;
			/* a mounted virtual thread has frames above and its carrier below */
			if (i == 0 || i + 1 == r.count || frames[i + 1].kind != SP_KIND_JAVA)
				describe("carrier missing", slot, frames, &r);
		}
	o.anchors += r.anchors;
	if (r.status == SP_UNWIND_BROKEN) {
		o.reasons[r.reason]++;
		describe("broken", slot, frames, &r);
	} else if (r.unknown) {
		describe("unknown", slot, frames, &r);
	} else if (r.anchors) {
		describe("anchor", slot, frames, &r);
	} else if (r.status == SP_UNWIND_TRUNCATED) {
		describe("truncated", slot, frames, &r);
	}
	compare(slot, frames, &r);
	resolve(frames, r.count);
	if (o.record[0] && sp_recorder_kept() < o.cases && wanted(slot, frames, &r))
		sp_recorder_keep(&slot->snap, frames, r.count);
}

static void *collect(void *arg)
{
	struct timespec nap = {0, 5000000};

	o.collector_tid = (int)syscall(SYS_gettid);
	while (!o.stop || o.tail != o.head) {
		nanosleep(&nap, NULL);
		sp_mem_live_refresh(o.live);
		sp_modules_refresh(o.modules, false);
		sp_names_batch(o.names);
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
		r = sp_names_new(&o.names, sp_mem_live_mem(o.live), o.hotspot, 0);
	if (r < 0)
		fprintf(o.f, "oracle: cannot start: %d %s\n", r, err.text);
	return r == 0;
}

static void find_anchor(JNIEnv *env)
{
	struct sp_java_thread t[256];
	int n = sp_hotspot_threads(o.hotspot, t, 256);
	uint32_t tid = (uint32_t)syscall(SYS_gettid);

	for (int i = 0; i < n && i < 256; i++) {
		if (t[i].tid != tid)
			continue;
		o.env_offset = (long)((uint64_t)env - t[i].thread);
		sp_hotspot_anchor(o.hotspot, &o.anchor);
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
		sp_modules_bytes(o.modules), sp_names_bytes(o.names));
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
