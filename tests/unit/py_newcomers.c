/* Processes that began of late, by the kernel's numbers: real ones. */
#include "base/clock.h"
#include "pysample/py_newcomers.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void *wait_there(void *ctx)
{
	pthread_barrier_wait(ctx);
	return NULL;
}

/* Whether a look behind its begin has a child of ours, once, and none of our threads. */
static bool child_is_seen(struct sp_pynewcomers *n)
{
	struct sp_pynewcomer list[SP_PYNEWCOMERS_MAX];
	pthread_barrier_t end;
	pthread_t thread;
	int count, seen = 0;
	pid_t child;

	pthread_barrier_init(&end, NULL, 2);
	pthread_create(&thread, NULL, wait_there, &end);
	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	count = sp_pynewcomers_look(n, sp_clock_mono_ns(), list);
	for (int i = 0; i < count; i++) {
		seen += list[i].pid == child && list[i].parent == getpid();
		cr_expect(list[i].pid == child || list[i].parent != getpid());
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	pthread_barrier_wait(&end);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&end);
	cr_expect(count < 0 || seen == 1);
	return seen == 1;
}

/* Where too many others began meanwhile it says so, and the next look tells. */
Test(py_newcomers, a_child_is_seen_and_threads_are_not, .timeout = 120)
{
	struct sp_pynewcomers n = {0};
	struct sp_pynewcomer list[SP_PYNEWCOMERS_MAX];

	cr_expect_eq(sp_pynewcomers_look(&n, sp_clock_mono_ns(), list), -EAGAIN);
	while (!child_is_seen(&n))
		;
	cr_expect_eq(sp_pynewcomers_look(&n, sp_clock_mono_ns() + 20000000000, list), -EAGAIN);
}
