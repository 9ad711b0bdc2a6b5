/* Processes that began of late, by the kernel's numbers: real ones. */
#include "base/clock.h"
#include "pysample/py_newcomers.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
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

/* A file that always says the same in the place of one of the kernel's, for this process. */
static void cover(const char *path)
{
	char name[] = "/tmp/py_newcomers.XXXXXX";
	int fd = mkstemp(name);

	cr_assert_eq(write(fd, "0.00 0.00 0.00 1/80 5\n", 22), 22);
	close(fd);
	cr_assert_eq(mount(name, path, NULL, MS_BIND, NULL), 0);
	unlink(name);
}

/* As lxcfs does in containers. */
Test(py_newcomers, what_is_not_the_kernels_counts_for_nothing, .timeout = 120)
{
	struct sp_pynewcomers n = {0};
	struct sp_pynewcomer list[SP_PYNEWCOMERS_MAX];

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		cr_skip_test("mounts need root");
	cover("/proc/loadavg");
	if (access("/proc/sys/kernel/ns_last_pid", F_OK) == 0) {
		while (!child_is_seen(&n))
			;
		cover("/proc/sys/kernel/ns_last_pid");
	}
	for (int i = 0; i < 3; i++)
		cr_expect_eq(sp_pynewcomers_look(&n, sp_clock_mono_ns(), list), -EAGAIN);
}
