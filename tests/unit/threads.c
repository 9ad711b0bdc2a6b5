/* Who held a monitor, by what HotSpot writes down of him. */
#include "threads/threads_internal.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define THREADS 1000

static struct sp_threads *ts;

/* Thread i has the JavaThread 0x10000 × i, the number i and a stack of 4 KiB, since i ns. */
static void make(void)
{
	ts = calloc(1, sizeof(*ts));
	ts->infos = calloc(THREADS + 1, sizeof(*ts->infos));
	ts->slots = calloc(THREADS + 1, sizeof(*ts->slots));
	pthread_mutex_init(&ts->lock, NULL);
	ts->used = THREADS;
	for (uint64_t i = 1; i < THREADS; i++) {
		struct sp_tinfo *t = &ts->infos[i];

		t->sig = &ts->slots[i];
		t->state = SP_THREAD_LIVE;
		t->generation = 1;
		t->java_thread = t->java_was = 0x10000000 + i * 0x10000;
		t->java_id = i;
		t->java_since_ns = i;
		atomic_store(&t->sig->stack_lo, 0x7f0000000000 + i * 0x1000);
		atomic_store(&t->sig->stack_hi, 0x7f0000000000 + i * 0x1000 + 0x1000);
	}
	ts->infos[0].sig = &ts->slots[0];
}

static void drop(void)
{
	free(ts->infos);
	free(ts->slots);
	free(ts);
}

TestSuite(threads, .init = make, .fini = drop);

Test(threads, a_holder_is_found_by_any_of_three)
{
	for (int round = 0; round < 2; round++)
		for (uint64_t i = 3; i < THREADS; i++) {
			struct sp_tinfo *t = &ts->infos[i];

			cr_assert_eq(sp_threads_holder(ts, t->java_thread, 5000), t);
			cr_assert_eq(sp_threads_holder(ts, i, 5000), t);
			cr_assert_eq(
				sp_threads_holder(ts, 0x7f0000000000 + i * 0x1000 + 8, 5000), t);
			cr_assert_null(sp_threads_holder(ts, i, i - 1), "before it was there");
		}
	cr_assert_null(sp_threads_holder(ts, 0, 5000));
	cr_assert_null(sp_threads_holder(ts, 0x20, 10), "nobody");
}

Test(threads, an_address_that_is_used_again_is_the_last_ones)
{
	struct sp_tinfo *old = &ts->infos[7], *next = &ts->infos[8];
	uint64_t holder = old->java_thread;

	cr_assert_eq(sp_threads_holder(ts, holder, 5000), old);
	old->java_thread = 0; /* it has ended; its event may come late */
	cr_assert_eq(sp_threads_holder(ts, holder, 5000), old);
	old->state = SP_THREAD_ENDED;
	next->java_thread = next->java_was = holder;
	next->java_since_ns = 6000;
	cr_assert_eq(sp_threads_holder(ts, holder, 5000), old, "at that time");
	cr_assert_eq(sp_threads_holder(ts, holder, 7000), next);
	cr_assert_eq(sp_threads_holder(ts, holder, 5500), old, "also with the other in mind");
	old->generation++; /* the place is another's */
	old->java_was = 1;
	cr_assert_null(sp_threads_holder(ts, holder, 5500));
}
