/* Which Java threads wait for a lock now, and who has it: monitors, and the locks of
 * java.util.concurrent that know their owner. Asked of the JVM's own ThreadMXBean, which reads it
 * at one safepoint; no heap is walked (as jstack -l does) and no application code runs. Only on
 * request of a person. */
#ifndef SP_AGENT_VM_LOCK_OWNERS_H
#define SP_AGENT_VM_LOCK_OWNERS_H

#include <jni.h>

/* Asks in a thread of its own, since a JVM that hangs may not answer: that is waited for three
 * seconds.
 * @exclude: called first in that thread, so that it is in no recording.
 * *ret: a line for each thread that waits, "WAITER OWNER LOCK<tab>NAME OF THE OWNER": both by
 *       Java's numbers of threads, owner -1 where it is not known; "cut" where there are more.
 *       Borrowed until the next call.
 * Context: a control thread. Returns 0; -ETIMEDOUT; -EBUSY while an earlier call hangs; -ENOTSUP
 * where the JVM lacks the module; other -errno. */
int sp_lock_owners(JavaVM *vm, void (*exclude)(void), const char **ret);

#endif
