/* Signals that end a run: see interrupt.h. */
#include "interrupt.h"

#include "command.h"
#include "base/cleanup.h"

#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t count;

static void on_signal(int sig)
{
	if (count++)
		_exit(SP_EXIT_FAILED);
}

void sp_interrupt_install(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction sa = {.sa_handler = on_signal}; /* no SA_RESTART: waits must end */
	struct sigaction old;

	for (size_t i = 0; i < SP_COUNT(ends); i++) {
		/* nohup and shells without job control set them to be ignored: then they are. */
		if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(ends[i], &sa, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
}

bool sp_interrupted(void)
{
	return count > 0;
}
