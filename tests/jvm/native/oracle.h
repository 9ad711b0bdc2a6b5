/* What the oracle's two sources share: oracle.c takes samples, oracle_judge.c unwinds and compares.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include "unwind/method_names.h"
#include "unwind/unwind.h"

#include <jvmti.h>
#include <pthread.h>
#include <stdio.h>

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

extern struct oracle {
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
	struct sp_method_names *names;
	/* counts */
	uint64_t samples, whole, truncated, depth_cap, broken, unknown_samples, anchors;
	uint64_t reasons[SP_WHY_COUNT];
	uint64_t answered, equal, leaf_bci, near, entering, stopped, differ, no_answer,
		java_samples;
	uint64_t unwind_ns, frames, names_ok, names_stale, lines;
	uint64_t recorded, vthreads;
} o;

/* Unwinds one sample, compares it with AsyncGetCallTrace's answer and counts. */
void judge(struct slot *slot);

#endif
