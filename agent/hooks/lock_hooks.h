/* Waits for Java locks: contended monitors (JVMTI) and every LockSupport.park, with the class of
 * what was waited for. A wait is reported when it is over. */
#ifndef SP_AGENT_HOOKS_LOCK_HOOKS_H
#define SP_AGENT_HOOKS_LOCK_HOOKS_H

#include "capture/engine.h"
#include "jvmti_thread.h"

#define SP_LOCK_PER_SECOND 5000u

/* The guest that reports waits of at least @ns; shorter ones with the probability of their length,
 * and then they represent @ns. @c is borrowed for life. One at a time. */
struct sp_jvm_guest sp_lock_hooks_guest(uint64_t ns, struct sp_capture *c);

/* The calling virtual thread has parked since then: what method_calls.h reports of methods in it.
 */
void sp_lock_hooks_parked(JNIEnv *env, uint64_t since_ns);

/* How much the limit has lengthened @ns at worst: 1 where it was never reached. */
uint64_t sp_lock_hooks_max_factor(void);

#endif
