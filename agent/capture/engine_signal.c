/* Installs SIGPROF's handler over whoever had it, and neutralises it at the end of a recording. */
#include "engine.h"
#include "gate.h"
#include "sample_ring.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* async-profiler leaves its handler behind when it stops; ask it by its own interface (asprof.h).
 */
static _Atomic bool neighbour_runs;

static void read_status(const char *text, size_t len)
{
	char buf[128];

	snprintf(buf, sizeof(buf), "%.*s", (int)(len < sizeof(buf) ? len : sizeof(buf) - 1), text);
	if (strstr(buf, "running"))
		neighbour_runs = true;
}

static bool async_profiler_runs(const struct sigaction *now)
{
	void *(*execute)(const char *, void (*)(const char *, size_t));
	void *lib;
	Dl_info who;

	/* We may go by that name as well. */
	if (now->sa_sigaction == sp_sig_handler || !dladdr((void *)now->sa_sigaction, &who) ||
		!who.dli_fname || !strstr(who.dli_fname, "syncProfiler"))
		return false;
	lib = dlopen(who.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!lib)
		return true;
	*(void **)&execute = dlsym(lib, "asprof_execute");
	neighbour_runs = !execute;
	if (execute)
		execute("status", read_status);
	dlclose(lib);
	return neighbour_runs;
}

static bool installed; /* our handler is in the process's table, armed or empty */

static size_t power_of_two_below(size_t n)
{
	size_t p = 64 << 10;

	while (p * 2 <= n)
		p *= 2;
	return p;
}

int sp_engine_ring(struct sp_capture *c, struct sp_err *err)
{
	int r = c->ring->base ? 0 : sp_ring_init(c->ring, power_of_two_below(c->memory));

	if (r < 0)
		return sp_err_set(err, r, "out of memory for the sample ring");
	sp_sig.ring = c->ring;
	sp_sig.pid = getpid();
	sp_sig.max_stack = (uint32_t)(c->ring->size / 2 - 4096);
	return 0;
}

int sp_engine_signal_install(enum sp_sig_mode mode, struct sp_capture *c, struct sp_err *err)
{
	struct sigaction now, ours;
	int r;

	/* What ends a handler is a system call: the next signal, and so on for ever. */
	if (mode == SP_SIG_PERF && c->in_kernel)
		return sp_err_set(err, -ENOTSUP,
			"%s is not sampled by signals: each signal may cause another one",
			c->args->event);
	if (sigaction(SIGPROF, NULL, &now) < 0)
		return sp_err_set(err, -errno, "SIGPROF: %s", strerror(errno));
	if (async_profiler_runs(&now))
		return sp_err_set(err, -EBUSY,
			"async-profiler is sampling this JVM by SIGPROF: stop it first, or use "
			"--capture=ring, which needs no signal");
	r = sp_engine_ring(c, err);
	if (r < 0)
		return r;
	sp_sig.interval_ns = c->interval_ns;
	sp_sig.counts = c->counts;
	if (now.sa_sigaction != sp_sig_handler) {
		atomic_store(&sp_sig.have_previous, 0);
		sp_sig.previous = now;
		atomic_store(&sp_sig.have_previous, 1);
		memset(&ours, 0, sizeof(ours));
		ours.sa_sigaction = sp_sig_handler;
		/* SA_ONSTACK: threads of other runtimes may run on stacks too small for a signal.
		 */
		ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
		sigfillset(&ours.sa_mask);
		sigdelset(&ours.sa_mask, SIGSEGV);
		sigdelset(&ours.sa_mask, SIGBUS);
		if (sigaction(SIGPROF, &ours, NULL) < 0)
			return sp_err_set(err, -errno, "SIGPROF: %s", strerror(errno));
	}
	installed = true;
	atomic_store(&sp_sig.mode, mode);
	return 0;
}

/* Handlers under way have counted themselves in; new ones see OFF. */
static void wait_for_handlers(void)
{
	struct timespec ms = {0, 1000000};

	for (int i = 0; atomic_load(&sp_sig.inflight) && i < 2000; i++)
		nanosleep(&ms, NULL);
}

void sp_engine_signal_uninstall(void)
{
	struct sigaction now;

	if (!installed)
		return;
	atomic_store(&sp_sig.mode, SP_SIG_OFF);
	wait_for_handlers();
	sp_gate_unset();
	/* A signal may still be pending somewhere, and under SIG_DFL it would end the JVM: a
	 * handler that found SIG_DFL stays, empty. Another's is put back unless the place was
	 * taken meanwhile. */
	if (sp_sig.previous.sa_handler == SIG_DFL && !(sp_sig.previous.sa_flags & SA_SIGINFO))
		return;
	if (sigaction(SIGPROF, NULL, &now) == 0 && now.sa_sigaction == sp_sig_handler &&
		sigaction(SIGPROF, &sp_sig.previous, NULL) == 0)
		installed = false;
}
