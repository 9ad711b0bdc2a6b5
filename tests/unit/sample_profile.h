/* A small profile that report tests share: two events, three threads, every kind of frame. */
#ifndef SP_TESTS_SAMPLE_PROFILE_H
#define SP_TESTS_SAMPLE_PROFILE_H

#include <stdio.h>
#include <string.h>

#include "prof/model/profile.h"

static inline uint32_t str(struct sp_profile *p, const char *s)
{
	return sp_dict_string(p->dict, s, strlen(s));
}

static inline struct sp_frame_ref java(struct sp_profile *p, const char *cls, const char *name,
	const char *sig, enum sp_frame_type type)
{
	struct sp_method m = {
		.class_id = str(p, cls), .name_id = str(p, name), .sig_id = str(p, sig)};

	return (struct sp_frame_ref){sp_dict_method(p->dict, &m), 10, 3, (uint8_t)type};
}

static inline struct sp_frame_ref native(
	struct sp_profile *p, const char *module, const char *name, enum sp_frame_type type)
{
	struct sp_method m = {.class_id = str(p, module), .name_id = str(p, name), .native = 1};

	m.unresolved = strncmp(name, "0x", 2) == 0;
	return (struct sp_frame_ref){sp_dict_method(p->dict, &m), -1, -1, (uint8_t)type};
}

/* "Class.method" of Java; "+function" of the JVM; "!Class.method" a native method;
 * "@function (file)" of Python. */
static inline struct sp_frame_ref frame(struct sp_profile *p, const char *name)
{
	char cls[128];
	const char *dot = strrchr(name, '.');

	if (name[0] == '+')
		return native(p, "libjvm.so", name + 1, SP_FRAME_CPP);
	if (name[0] == '@')
		return native(p, "", name + 1, SP_FRAME_PYTHON);
	snprintf(cls, sizeof(cls), "%.*s", (int)(dot - name), name);
	return cls[0] == '!' ? java(p, cls + 1, dot + 1, "", SP_FRAME_NATIVE)
			     : java(p, cls, dot + 1, "", SP_FRAME_C2);
}

static inline uint32_t thread(struct sp_profile *p, const char *name, uint32_t tid)
{
	struct sp_thread t = {.tid = tid, .java_id = tid, .name_id = str(p, name)};

	return sp_dict_thread(p->dict, &t);
}

static inline struct sp_profile *sample_profile(void)
{
	struct sp_profile *p;

	if (sp_profile_new(&p, 16u << 20) < 0)
		return NULL;
	int cpu = sp_profile_event(p, "cpu", SP_UNIT_NS, 10000000, false);
	int wall = sp_profile_event(p, "wall", SP_UNIT_NS, 50000000, true);
	struct sp_frame_ref run = java(p, "java/lang/Thread", "run", "()V", SP_FRAME_INTERPRETED);
	struct sp_frame_ref task =
		java(p, "org/apache/spark/executor/Executor$TaskRunner", "run", "()V", SP_FRAME_C1);
	struct sp_frame_ref sort =
		java(p, "org/apache/spark/util/collection/unsafe/sort/UnsafeExternalSorter",
			"insertRecord", "(Ljava/lang/Object;JIJZ)V", SP_FRAME_C2);
	struct sp_frame_ref hash = java(p, "java/lang/String", "hashCode", "()I", SP_FRAME_INLINED);
	struct sp_frame_ref lambda = java(p, "org/app/Main$$Lambda/0x00007f1c3c0a1248", "apply",
		"(Ljava/lang/Object;)Ljava/lang/Object;", SP_FRAME_C2);
	struct sp_frame_ref cpp = native(p, "/usr/lib/jvm/lib/server/libjvm.so",
		"_ZN15G1CollectedHeap12mem_allocateEmPb", SP_FRAME_NATIVE);
	struct sp_frame_ref c = native(p, "libc.so.6", "pthread_cond_wait", SP_FRAME_NATIVE);
	struct sp_frame_ref k = native(p, "[kernel]", "do_futex", SP_FRAME_KERNEL);
	struct sp_frame_ref nameless = native(p, "libsnappy.so", "0x1a2b", SP_FRAME_NATIVE);
	struct sp_frame_ref unknown = {0, -1, -1, SP_FRAME_NATIVE};
	uint32_t t1 =
		thread(p, "Executor task launch worker for task 3.0 in stage 7.0 (TID 42)", 101);
	uint32_t t2 = thread(p, "shuffle-client-4-1", 102), t3 = thread(p, "", 103);
	uint32_t s1 = sp_dict_stack(p->dict, (struct sp_frame_ref[]){sort, task, run}, 3, 0);
	uint32_t s2 =
		sp_dict_stack(p->dict, (struct sp_frame_ref[]){hash, lambda, task, run}, 4, 0);
	uint32_t s3 = sp_dict_stack(p->dict, (struct sp_frame_ref[]){cpp, run}, 2, 0);
	uint32_t s4 = sp_dict_stack(p->dict, (struct sp_frame_ref[]){k, c, run}, 3, 0);
	uint32_t s5 = sp_dict_stack(p->dict, (struct sp_frame_ref[]){nameless, hash}, 2, 1);
	uint32_t s6 = sp_dict_stack(p->dict, (struct sp_frame_ref[]){unknown, run}, 2, 0);
	uint32_t running = str(p, "running"), lock = str(p, "lock");
	const struct sp_sample samples[] = {
		{s1, t1, 0, (uint32_t)cpu, 60, 600000000},
		{s1, t1, 0, (uint32_t)cpu, 10, 100000000},
		{s2, t1, 0, (uint32_t)cpu, 20, 200000000},
		{s1, t2, 0, (uint32_t)cpu, 5, 50000000},
		{s3, t3, 0, (uint32_t)cpu, 3, 30000000},
		{s5, t2, 0, (uint32_t)cpu, 1, 10000000},
		{s6, t2, 0, (uint32_t)cpu, 1, 10000000},
		{s4, t2, lock, (uint32_t)wall, 3, 995000000},
		{s1, t1, running, (uint32_t)wall, 20, 1000000000},
		{s4, t1, lock, (uint32_t)wall, 1, 5000000},
	};

	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		sp_profile_add(p, &samples[i]);
	sp_profile_lost(p, "ring full", 3);
	sp_profile_lost(p, "thread ended", 1);
	sp_profile_note(p,
		"no kernel frames: perf_event_paranoid is 2 and there is no CAP_PERFMON; "
		"run as root to have them");
	p->duration_ns = 2000000000;
	p->target_id = str(p, "executor 3 of application_1700000000000_0001 (pid 4711)");
	p->runtime_id = str(p, "OpenJDK 17.0.15+6");
	return p;
}

#endif
