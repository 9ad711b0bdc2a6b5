/* The agent's one thread that is attached to the JVM (a daemon): it hears of thread starts and ends
 * and of unloaded code, of new thread names at once, and nothing else waits for it. All
 * JVMTI of a recording is here, so that the collector never enters the JVM and is never stopped by
 * a safepoint. */
#ifndef SP_AGENT_HOOKS_JVMTI_THREAD_H
#define SP_AGENT_HOOKS_JVMTI_THREAD_H

#include "base/err.h"
#include "spark/spark_identity.h"
#include "spark/task_table.h"
#include "threads/thread_lives.h"
#include "threads/threads.h"

#include <jni.h>
#include <stdatomic.h>
#include <stdint.h>

/* Who has hooks of his own in the JVM. Everything is called on the attached thread, in order; stop
 * in the opposite one, also after a start that failed. */
struct sp_jvm_guest {
	int (*start)(void *ctx, JavaVM *vm, JNIEnv *env, struct sp_err *err);
	void (*tick)(void *ctx, JNIEnv *env); /* about once a second; may be NULL */
	void (*stop)(void *ctx, JNIEnv *env);
	void *ctx;
};

#define SP_JVM_GUESTS 6

struct sp_jvmti_thread_events {
	struct sp_threads *threads;
	struct sp_task_table *tasks;
	struct sp_spark_identity_box
		*identity; /* as far as known when sp_jvmti_thread_start returns */
	/* Filled with the JVM's system properties (vm/jvmti_util.h) when it returns. May be NULL.
	 */
	struct sp_buf *properties;
	bool redact;
	struct sp_thread_lives *lives;
	uint64_t anchor_offset; /* of JavaThread::_anchor, 0 unknown */
	/* Compiled code at @addr went away. Any thread. May be NULL. */
	void (*code_unloaded)(void *ctx, uint64_t addr);
	/* The JVM has a routine of its own at [@begin, @end): those that are there while
	 * sp_jvmti_thread_start runs, later ones from any thread. May be NULL. */
	void (*stub_generated)(void *ctx, const char *name, uint64_t begin, uint64_t end);
	/* The JVM was asked to end, by a signal or by its driver. Any thread. May be NULL. */
	void (*ending)(void *ctx);
	/* The JVM is about to end; called on its own thread. */
	void (*vm_death)(void *ctx);
	void *ctx;
	struct sp_jvm_guest guests[SP_JVM_GUESTS];
	uint32_t guest_count;
};

/* Starts the thread and waits until its hooks are in place. One at a time. Returns 0 or -errno. */
__attribute__((warn_unused_result)) int sp_jvmti_thread_start(
	JavaVM *vm, const struct sp_jvmti_thread_events *ev, struct sp_err *err);

/* Lets the guests tick now, and waits for it. */
void sp_jvmti_thread_tick(void);

/* Takes the hooks out, ends the thread; no callback runs when it returns. */
void sp_jvmti_thread_stop(void);

#endif
