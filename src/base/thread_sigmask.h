/* Which signals a thread of ours may block. */
#ifndef SP_BASE_THREAD_SIGMASK_H
#define SP_BASE_THREAD_SIGMASK_H

#include <signal.h>

/* All that come from elsewhere. Those that a thread's own instructions raise stay open: the kernel
 * ends the process where they are blocked, and in a host others count on them (HotSpot on SIGSEGV,
 * async-profiler on the SIGTRAP of a breakpoint that it has set in the JVM's code, which a thread
 * of ours that calls Java runs into as well). */
static inline void sp_thread_sigmask_external(sigset_t *ret)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

	sigfillset(ret);
	for (unsigned i = 0; i < sizeof(own) / sizeof(*own); i++)
		sigdelset(ret, own[i]);
}

#endif
