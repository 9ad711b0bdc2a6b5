/* What samples of ITIMER_PROF weigh. */
#include "capture/itimer_weight.h"

#include <criterion/criterion.h>

#define MS 1000000ull

Test(itimer_weight, a_sample_weighs_what_the_process_used_since_the_last)
{
	struct sp_itimer_weight w = {.cpu_ns = 100 * MS};

	sp_itimer_weight_tick(&w, 104 * MS, 1);
	cr_expect_eq(sp_itimer_weight_next(&w), 4 * MS);
	cr_expect_eq(w.left, 0);
	sp_itimer_weight_tick(&w, 134 * MS, 1);
	cr_expect_eq(sp_itimer_weight_next(&w), 30 * MS);
}

Test(itimer_weight, samples_of_one_tick_share)
{
	struct sp_itimer_weight w = {.cpu_ns = 100 * MS};

	sp_itimer_weight_tick(&w, 112 * MS, 3);
	for (int i = 0; i < 3; i++)
		cr_expect_eq(sp_itimer_weight_next(&w), 4 * MS);
	cr_expect_eq(sp_itimer_weight_next(&w), 0, "there were three");
}

Test(itimer_weight, our_own_time_is_taken_off_once)
{
	struct sp_itimer_weight w = {.cpu_ns = 100 * MS, .own_ns = 5 * MS};

	sp_itimer_weight_tick(&w, 104 * MS, 1);
	cr_expect_eq(sp_itimer_weight_next(&w), 0, "all of it was ours");
	sp_itimer_weight_tick(&w, 110 * MS, 1);
	cr_expect_eq(sp_itimer_weight_next(&w), 5 * MS, "1 ms was still to be taken off");
	sp_itimer_weight_tick(&w, 114 * MS, 1);
	cr_expect_eq(sp_itimer_weight_next(&w), 4 * MS);
}

Test(itimer_weight, a_clock_that_was_read_out_of_turn_weighs_nothing)
{
	struct sp_itimer_weight w = {.cpu_ns = 100 * MS};

	sp_itimer_weight_tick(&w, 99 * MS, 1);
	cr_expect_eq(sp_itimer_weight_next(&w), 0);
	cr_expect_eq(w.cpu_ns, 100 * MS);
	sp_itimer_weight_tick(&w, 0, 0);
	cr_expect_eq(sp_itimer_weight_next(&w), 0);
}

Test(itimer_weight, what_makes_no_whole_interval_waits)
{
	uint64_t rest = 0, n = 0;

	cr_expect_eq(sp_itimer_weight_whole(&rest, 7 * MS, 10 * MS), 0);
	cr_expect_eq(rest, 7 * MS);
	cr_expect_eq(sp_itimer_weight_whole(&rest, 25 * MS, 10 * MS), 3);
	cr_expect_eq(rest, 2 * MS);
	for (int i = 0; i < 1000; i++)
		n += sp_itimer_weight_whole(&rest, 4 * MS, 10 * MS);
	cr_expect_eq(n, 400);
}
