/* Puts our calls into the methods of loaded classes, and of those that are loaded later, by
 * retransformation: a class that the JVM does not take so stays as it was. At the end every class
 * is what it was before.
 * Context: the JVM side's thread, unless it says otherwise. One at a time. */
#ifndef SP_AGENT_HOOKS_RETRANSFORM_H
#define SP_AGENT_HOOKS_RETRANSFORM_H

#include "base/err.h"
#include "options/method_patterns.h"

#include <jni.h>

/* Parks of virtual threads, beside the numbers of methods. */
#define SP_WEAVE_PARK 32767

struct sp_retransform_plan {
	struct sp_method_patterns *counted,
		*timed; /* borrowed until sp_retransform_stop(); marks what is found */
	jclass hook;	/* has the methods that are called; borrowed as well */
	jclass virtual; /* its parks are timed as SP_WEAVE_PARK; borrowed; NULL: no parks */
	void (*say)(void *ctx, const char *sentence);
	void *ctx;
};

/* Returns 0, or -errno with a sentence; sp_retransform_stop() in every case. */
__attribute__((warn_unused_result)) int sp_retransform_start(
	JavaVM *vm, JNIEnv *env, const struct sp_retransform_plan *plan, struct sp_err *err);

/* Says what was left out since the last time; looks whether there are virtual threads now. */
void sp_retransform_tick(JNIEnv *env);

void sp_retransform_stop(JNIEnv *env);

#endif
