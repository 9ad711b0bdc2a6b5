/* Threads of the agent, on stacks that the agent maps itself. glibc keeps the stacks of threads
 * that ended and gives them to later ones; HotSpot counts on what it left at the bottom of such a
 * stack. A thread of ours that took one and returned it with another guard size made HotSpot's
 * guard zone of a later Java thread lie a page off, and a StackOverflowError there ended the JVM.
 * So no stack of ours ever enters that cache. No other file of the agent calls pthread_create. */
#ifndef SP_AGENT_HOST_OWN_THREAD_H
#define SP_AGENT_HOST_OWN_THREAD_H

#include <stddef.h>

struct sp_own_thread;

/* What a thread has for its own frames; glibc's part (static TLS) comes on top. */
#define SP_STACK_PLAIN ((size_t)512 << 10) /* our frames: 18 KB at most in one function */
#define SP_STACK_JAVA  ((size_t)2 << 20)   /* attaches to the JVM and calls Java, e.g. Hadoop */

/* Starts @run(@arg) in a thread called @name (at most 15 bytes) with every signal blocked that
 * comes from elsewhere. It ends by returning, and its owner joins it.
 * Owner:    *ret is owned by the caller: sp_own_thread_join().
 * Context:  any thread, never a signal handler.
 * Returns:  0 or -errno; then nothing is left. */
__attribute__((warn_unused_result)) int sp_own_thread_start(struct sp_own_thread **ret,
	const char *name, size_t stack, void *(*run)(void *), void *arg);

/* Waits for the end of @t and unmaps its stack. */
void sp_own_thread_join(struct sp_own_thread *t);

/* As sp_own_thread_start, for a thread that cannot be joined: the last one to leave, or one that
 * may hang in a call of the host. Its stack is unmapped once the kernel says that the thread is
 * gone.
 */
int sp_own_thread_start_alone(const char *name, size_t stack, void *(*run)(void *), void *arg);

#endif
