/* Files that become shorter while they are mapped: see sigbus_guard.h. */
#include "sigbus_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile sig_atomic_t happened;
static uintptr_t page;

extern const char __executable_start[], _end[];

/* Our own file on a disk that has gone away: nothing could go on. */
static bool is_ours(uintptr_t at)
{
	return at >= (uintptr_t)__executable_start && at < (uintptr_t)_end;
}

static void on_bus(int sig, siginfo_t *info, void *ctx)
{
	int saved = errno;
	uintptr_t at = (uintptr_t)info->si_addr;

	if (info->si_code != BUS_ADRERR || is_ours(at) ||
		mmap((void *)(at & ~(page - 1)), page, PROT_READ,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		signal(sig, SIG_DFL); /* comes again, and ends us */
	else
		happened = 1;
	errno = saved;
}

void sp_sigbus_guard_install(void)
{
	struct sigaction sa = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};

	page = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigaction(SIGBUS, &sa, NULL);
}

bool sp_sigbus_guard_hit(void)
{
	return happened;
}
