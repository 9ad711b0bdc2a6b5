/* A neighbour in the target's process, loaded as a JVM agent: what it does is in its options.
 *   poll      a thread that polls nothing for 50 ms in a loop and counts EINTR
 *   timer     a SIGPROF handler and a CPU timer of its own that counts its ticks
 *   fork      a thread that forks in a loop; each child spins in child_spin() and leaves
 *   over      takes SIGPROF over from whoever has it first, sends it, and passes it on
 *   segv      takes SIGSEGV over from the JVM, counts, and passes it on
 *   threads   threads that spin for a millisecond, which the JVM never hears of
 * Counts go to the file named by STRANGER at VM death. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile long counts[4]; /* calls, interrupted, failed children, foreign signals */
static char mode[16];

static void save(void)
{
	char part[4096]; /* renamed when whole: the JVM may end at any moment */
	FILE *f;

	snprintf(part, sizeof(part), "%s.part", getenv("STRANGER"));
	f = fopen(part, "w");
	if (f) {
		fprintf(f, "%ld %ld %ld %ld\n", counts[0], counts[1], counts[2], counts[3]);
		fclose(f);
		rename(part, getenv("STRANGER"));
	}
}

static void *poller(void *arg)
{
	for (;;) {
		int r = poll(NULL, 0, 50);

		counts[0]++;
		counts[1] += r < 0 && errno == EINTR;
		save();
	}
	return NULL;
}

__attribute__((noinline)) void child_spin(void)
{
	for (volatile int i = 0; i < 3000000; i++)
		;
}

static void *forker(void *arg)
{
	for (;;) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0) {
			child_spin();
			_exit(0);
		}
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			counts[1]++;
		counts[0]++;
		counts[2] += status != 0;
		save();
	}
	return NULL;
}

__attribute__((noinline)) void *thread_spin(void *arg)
{
	for (volatile int i = 0; i < 800000; i++)
		;
	return NULL;
}

static void *starter(void *arg)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (;;) {
		pthread_create(&t, &attr, thread_spin, NULL);
		counts[0]++;
		usleep(700);
	}
	return NULL;
}

static int token;

static void ticked(int signo, siginfo_t *info, void *context)
{
	if (info->si_code == SI_TIMER && info->si_value.sival_ptr == &token)
		counts[0]++;
	else
		counts[3]++;
}

static struct sigaction below;

static void pass_on(int signo, siginfo_t *info, void *context)
{
	counts[0]++;
	if (below.sa_flags & SA_SIGINFO)
		below.sa_sigaction(signo, info, context);
}

static void *usurper(void *arg)
{
	struct sigaction sa;

	do {
		usleep(20000);
		sigaction(SIGPROF, NULL, &below);
	} while (below.sa_handler == SIG_DFL);
	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = pass_on;
	sa.sa_flags = SA_SIGINFO | SA_RESTART;
	sigaction(SIGPROF, &sa, NULL);
	for (;;) {
		kill(getpid(), SIGPROF);
		usleep(20000);
		save();
	}
	return NULL;
}

/* The JVM's own handler is there by the time that it runs Java code. */
static void *faulter(void *arg)
{
	struct sigaction sa;

	do {
		usleep(20000);
		sigaction(SIGSEGV, NULL, &below);
	} while (below.sa_handler == SIG_DFL);
	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = pass_on;
	sa.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
	sigaction(SIGSEGV, &sa, NULL);
	for (;;) {
		struct sigaction now;

		usleep(20000);
		sigaction(SIGSEGV, NULL, &now);
		counts[3] += now.sa_sigaction != pass_on; /* somebody took it from us */
		save();
	}
	return NULL;
}

static void *saver(void *arg)
{
	for (;;) {
		usleep(50000);
		save();
	}
	return NULL;
}

static void timer(void)
{
	struct sigaction sa;
	struct sigevent ev;
	struct itimerspec every = {{0, 5000000}, {0, 5000000}};
	timer_t id;

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = ticked;
	sa.sa_flags = SA_SIGINFO | SA_RESTART;
	sigaction(SIGPROF, &sa, NULL);
	memset(&ev, 0, sizeof(ev));
	ev.sigev_notify = SIGEV_SIGNAL;
	ev.sigev_signo = SIGPROF;
	ev.sigev_value.sival_ptr = &token;
	timer_create(CLOCK_PROCESS_CPUTIME_ID, &ev, &id);
	timer_settime(id, 0, &every, NULL);
}

int Agent_OnLoad(void *vm, char *options, void *reserved)
{
	pthread_t t;

	snprintf(mode, sizeof(mode), "%s", options);
	if (strcmp(mode, "poll") == 0)
		pthread_create(&t, NULL, poller, NULL);
	if (strcmp(mode, "fork") == 0)
		pthread_create(&t, NULL, forker, NULL);
	if (strcmp(mode, "over") == 0)
		pthread_create(&t, NULL, usurper, NULL);
	if (strcmp(mode, "segv") == 0)
		pthread_create(&t, NULL, faulter, NULL);
	if (strcmp(mode, "threads") == 0)
		pthread_create(&t, NULL, starter, NULL);
	if (strcmp(mode, "timer") == 0) {
		timer();
		pthread_create(&t, NULL, saver, NULL);
	}
	return 0;
}
