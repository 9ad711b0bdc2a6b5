/* When the list of all threads need not be read: as many are there as are known. */
#include "threads/count.h"

#include <criterion/criterion.h>
#include <unistd.h>

static void *wait_for_end(void *fd)
{
	char byte;

	return read(*(int *)fd, &byte, 1) < 0 ? fd : NULL;
}

static void count(void *ctx, uint32_t tid)
{
	(*(uint32_t *)ctx)++;
}

Test(threads_count, only_a_thread_that_nobody_announced_is_looked_for)
{
	struct sp_threads ts = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct sp_tinfo t = {0};
	pthread_t other;
	int pipes[2];

	cr_assert(sp_threads_count_fits(&ts), "not listed yet: it cannot be told");
	cr_assert_eq(sp_threads_proc_tasks(&ts.proc, count, &ts.live), 0);
	cr_assert_geq(ts.live, 1);
	cr_assert(ts.proc.counts);
	cr_assert(sp_threads_count_fits(&ts));

	cr_assert_eq(pipe(pipes), 0);
	cr_assert_eq(pthread_create(&other, NULL, wait_for_end, &pipes[0]), 0);
	cr_assert_not(sp_threads_count_fits(&ts), "a native thread");
	ts.live++; /* as ThreadStart would */
	cr_assert(sp_threads_count_fits(&ts));
	sp_threads_mark_ending(&ts, &t);
	sp_threads_mark_ending(&ts, &t);
	cr_assert_eq(ts.ending, 1);
	cr_assert(sp_threads_count_fits(&ts), "its last moments");
	close(pipes[1]);
	pthread_join(other, NULL);
	while (sp_threads_proc_tasks_count(&ts.proc) == ts.live)
		usleep(1000); /* the kernel has not let it go yet */
	cr_assert(sp_threads_count_fits(&ts), "gone, as announced");
	sp_threads_unmark_ending(&ts, &t);
	cr_assert_not(sp_threads_count_fits(&ts), "one has gone that announced nothing");
	ts.full = true;
	cr_assert(sp_threads_count_fits(&ts), "those without a slot never fit");
	sp_threads_proc_tasks_done(&ts.proc);
	close(pipes[0]);
}

Test(threads_count, many_ends_are_looked_after)
{
	struct sp_threads ts = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct sp_tinfo t[64] = {{0}};

	cr_assert_eq(sp_threads_proc_tasks(&ts.proc, count, &ts.live), 0);
	for (int i = 0; i < 64; i++) {
		ts.live++;
		sp_threads_mark_ending(&ts, &t[i]);
	}
	cr_assert_not(sp_threads_count_fits(&ts), "engines hold descriptors for them");
	sp_threads_proc_tasks_done(&ts.proc);
}
