/* Events that hooks report, as a whole: what they need, who puts them into the JVM, and their end.
 */
#ifndef SP_AGENT_HOOKS_HOOKS_H
#define SP_AGENT_HOOKS_HOOKS_H

#include "capture/engine.h"
#include "jvmti_thread.h"
#include "live_objects.h"

/* Before the first hook may be called: maps the ring; *ret_live belongs to the caller and is NULL
 * where live objects are not wanted. Returns 0 or -errno with a sentence. */
__attribute__((warn_unused_result)) int sp_hooks_prepare(
	struct sp_capture *c, struct sp_live_objects **ret_live, struct sp_err *err);

/* Names those that are asked for to the JVM's side. */
void sp_hooks_invite(
	struct sp_capture *c, struct sp_live_objects *live, struct sp_jvmti_thread_events *ev);

/* Hooks under way end, those that come later do nothing; says what the limits left out. Context:
 * the collector. */
void sp_hooks_silence(struct sp_capture *c);

#endif
