/* Waits for locks of native code: pthread mutexes, rwlocks and conditions, by the tables of
 * addresses of all libraries (library_hooks.h). The JVM's own conditions are left out: its threads
 * wait for work and for safepoints in them. A wait is reported when it is over. */
#ifndef SP_AGENT_HOOKS_NATIVE_LOCKS_H
#define SP_AGENT_HOOKS_NATIVE_LOCKS_H

#include "capture/engine.h"
#include "jvmti_thread.h"

#define SP_NATIVE_LOCKS_PER_SECOND 5000u

/* The guest that reports waits of at least @ns; shorter ones with the probability of their length,
 * and then they represent @ns. @c is borrowed for life. One at a time. */
struct sp_jvm_guest sp_native_locks_guest(uint64_t ns, struct sp_capture *c);

/* How much the limit has lengthened @ns at worst: 1 where it was never reached. */
uint64_t sp_native_locks_max_factor(void);

#endif
