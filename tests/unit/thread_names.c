/* What a thread is called, and since when. */
#include "base/clock.h"
#include "threads/threads.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct born {
	struct sp_threads *ts;
	uint32_t tid;
	sem_t is_there, may_start, has_started;
};

/* A thread of Java: the kernel shows it before the JVM calls ThreadStart. */
static void *live(void *ctx)
{
	struct born *b = ctx;

	b->tid = (uint32_t)syscall(SYS_gettid);
	sem_post(&b->is_there);
	sem_wait(&b->may_start);
	sp_threads_started(b->ts, 0x7000, 0, 11, "reader", "main");
	sem_post(&b->has_started);
	sem_wait(&b->may_start);
	return NULL;
}

Test(thread_names, before_its_start_a_thread_is_not_the_one_that_made_it)
{
	static struct sp_args args;
	struct born b = {0};
	char name[SP_THREAD_NAME];
	struct sp_tinfo *t;
	uint64_t seen;
	pthread_t p;

	sem_init(&b.is_there, 0, 0);
	sem_init(&b.may_start, 0, 0);
	sem_init(&b.has_started, 0, 0);
	prctl(PR_SET_NAME, "owner");
	cr_assert_eq(sp_threads_new(&b.ts, &args), 0);
	pthread_create(&p, NULL, live, &b);
	sem_wait(&b.is_there);
	sp_threads_scan(b.ts, NULL, true);
	seen = sp_clock_mono_ns();
	t = sp_threads_find(b.ts, b.tid);
	cr_assert_not_null(t);
	sp_threads_name_at(b.ts, t, seen, name);
	cr_assert_str_eq(name, "owner", "the kernel's word for it");
	sem_post(&b.may_start);
	sem_wait(&b.has_started);
	cr_assert_neq(sp_threads_name_at(b.ts, t, seen, name), 0);
	cr_assert_str_eq(name, "reader", "it was: %s", name);
	sp_threads_renamed(b.ts, 0x7000, "writer", sp_clock_mono_ns());
	cr_assert_eq(sp_threads_name_at(b.ts, t, seen, name), 0);
	cr_assert_str_eq(name, "reader", "a name of its own stays that of its time: %s", name);
	sem_post(&b.may_start);
	pthread_join(p, NULL);
	sp_threads_free(b.ts);
}
