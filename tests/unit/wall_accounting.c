/* The wall clock's accounts of one thread. */
#include "capture/wall_accounting.h"

#include <criterion/criterion.h>

#define MS 1000000ull

/* Looks every 10 ms from here on: clock, CPU time, booked waits. */
static const struct sp_wall_accounting begin = {
	.look_ns = 1000 * MS, .cpu_ns = 50 * MS, .delay_ns = 5 * MS, .arrivals = 7, .blocks = 3};

static struct sp_wall_window close_at(struct sp_wall_accounting *b, uint64_t now_ms,
	uint64_t cpu_ms, uint64_t delay_ms, uint64_t arrivals, struct sp_wall_reading more)
{
	struct sp_wall_window v;

	more.now_ns = now_ms * MS;
	more.cpu_ns = cpu_ms * MS;
	more.delay_ns = delay_ms * MS;
	more.arrivals = arrivals;
	sp_wall_accounting_close(b, &more, &v);
	return v;
}

Test(wall_accounting, elapsed_is_ran_and_delayed_and_blocked)
{
	struct sp_wall_accounting b = begin;
	struct sp_wall_window v = close_at(&b, 1010, 53, 7, 9, (struct sp_wall_reading){0});

	cr_expect_eq(v.ran, 3 * MS);
	cr_expect_eq(v.delay, 2 * MS);
	cr_expect_eq(v.blocked, 5 * MS);
	cr_expect_eq(v.arrivals, 2);
	cr_expect_eq(b.look_ns, 1010 * MS);
}

Test(wall_accounting, clocks_that_disagree_never_exceed_the_time)
{
	struct sp_wall_accounting b = begin;
	struct sp_wall_window v = close_at(&b, 1010, 62, 90, 8, (struct sp_wall_reading){0});

	cr_expect_eq(v.ran + v.delay + v.blocked, 10 * MS);
	b = begin;
	v = close_at(&b, 1010, 49, 4, 6, (struct sp_wall_reading){0});
	cr_expect_eq(v.blocked, 10 * MS);
	cr_expect_eq(v.arrivals, 0);
}

/* Woken at 1005 ms, it gets a CPU at 1014: the look at 1010 saw nothing of that. */
Test(wall_accounting, a_wait_begun_before_the_last_look_is_found_when_booked)
{
	struct sp_wall_accounting b = begin;
	struct sp_wall_window v;

	b.blocked = true;
	b.look_ns = 1010 * MS;
	v = close_at(&b, 1020, 56, 14, 8, (struct sp_wall_reading){.before_ns = 10 * MS});
	cr_expect_eq(v.ran, 6 * MS);
	cr_expect_eq(v.delay, 9 * MS);
	cr_expect_eq(v.blocked, 5 * MS);
	cr_expect_eq(v.wakes, 1);
}

/* It waits at the look; the kernel books that later, and it must not count twice. */
Test(wall_accounting, a_wait_under_way_is_counted_once)
{
	struct sp_wall_accounting b = begin;
	struct sp_wall_window v =
		close_at(&b, 1010, 52, 5, 7, (struct sp_wall_reading){.waits_ns = SP_WALL_ALL});

	cr_expect_eq(v.delay, 8 * MS);
	cr_expect_eq(v.blocked, 0);
	v = close_at(&b, 1020, 58, 17, 8, (struct sp_wall_reading){0});
	cr_expect_eq(v.ran, 6 * MS);
	cr_expect_eq(v.delay, 4 * MS);
	cr_expect_eq(v.blocked, 0);
	cr_expect_eq(b.ahead_ns, 0);
}

/* It was blocked as well, so that only a guess of the wait is taken. */
Test(wall_accounting, a_wait_under_way_is_guessed_where_it_was_blocked_too)
{
	struct sp_wall_accounting b = begin;
	struct sp_wall_window v =
		close_at(&b, 1010, 52, 5, 7, (struct sp_wall_reading){.waits_ns = 3 * MS});

	cr_expect_eq(v.delay, 3 * MS);
	cr_expect_eq(v.blocked, 5 * MS);
	cr_expect_eq(b.ahead_ns, 3 * MS);
}

Test(wall_accounting, switches_tell_wakes_from_preemptions)
{
	static const struct {
		bool blocked, is_blocked;
		uint64_t arrivals, blocks, wakes, preempts;
	} cases[] = {
		{true, false, 1, 3, 1, 0},  /* woken, runs on */
		{true, false, 4, 3, 1, 3},  /* woken, then pushed off three times */
		{true, true, 1, 4, 1, 0},   /* woken, stands again */
		{true, true, 3, 5, 2, 1},   /* blocked elsewhere in between */
		{false, true, 2, 4, 0, 2},  /* ran, pushed off twice, stands */
		{false, false, 2, 3, 0, 2}, /* ran all the time */
		{false, false, 2, 5, 2, 0}, /* blocked twice, unseen */
		{true, false, 1, 9, 1, 0},  /* never more than it arrived */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sp_wall_accounting b = begin;
		struct sp_wall_window v;

		b.blocked = cases[i].blocked;
		v = close_at(&b, 1010, 53, 9, 7 + cases[i].arrivals,
			(struct sp_wall_reading){.is_blocked = cases[i].is_blocked});
		cr_expect(v.contended);
		sp_wall_accounting_wakes(&b, &v, cases[i].blocks, cases[i].is_blocked);
		cr_expect_eq(v.wakes, cases[i].wakes, "case %zu", i);
		cr_expect_eq(v.preempts, cases[i].preempts, "case %zu", i);
	}
}

Test(wall_accounting, mixed_waits_are_divided_by_what_pure_ones_took)
{
	struct sp_wall_window wake = {.delay = 1 * MS, .arrivals = 1, .wakes = 1};
	struct sp_wall_window push = {.delay = 8 * MS, .arrivals = 2, .preempts = 2};
	struct sp_wall_window both = {
		.delay = 10 * MS, .arrivals = 3, .wakes = 1, .preempts = 2, .blocked_before = true};
	struct sp_wall_waits k;
	uint64_t woken;

	sp_wall_waits_init(&k);
	for (int i = 0; i < 2000; i++) {
		cr_assert_eq(sp_wall_waits_woken(&k, &wake), wake.delay);
		cr_assert_eq(sp_wall_waits_woken(&k, &push), 0);
	}
	/* 1 ms a wake against 4 a preemption: 1 of 9 parts */
	woken = sp_wall_waits_woken(&k, &both);
	cr_expect(woken > 1000000 && woken < 1200000, "%llu", (unsigned long long)woken);
}
