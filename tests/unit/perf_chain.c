/* Kernel call chains beside signals, out of a page as the kernel would have written it. */
#include "capture/perf_chain.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct sp_chain chain;
static struct sp_chains all;
static size_t page, size;

static void setup(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	size = 2 * page;
	chain.page = aligned_alloc(page, page + size);
	memset(chain.page, 0, page + size);
}

static void teardown(void)
{
	free(chain.page);
	free(chain.words);
}

TestSuite(perf_chain, .init = setup, .fini = teardown);

static void put(const void *from, size_t n)
{
	uint8_t *data = (uint8_t *)chain.page + page;

	for (size_t i = 0; i < n; i++)
		data[(chain.page->data_head + i) & (size - 1)] = ((const uint8_t *)from)[i];
	chain.page->data_head += n;
}

static void put_record(uint32_t type, const uint64_t *words, size_t n)
{
	struct perf_event_header h = {.type = type, .size = (uint16_t)(sizeof(h) + 8 * n)};

	put(&h, sizeof(h));
	put(words, 8 * n);
}

static void put_sample(uint64_t time_ns, uint64_t leaf)
{
	uint64_t words[] = {time_ns, 3, (uint64_t)PERF_CONTEXT_KERNEL, leaf, leaf + 1};

	put_record(PERF_RECORD_SAMPLE, words, 5);
}

Test(perf_chain, events_come_up_to_the_moment_that_is_asked_for)
{
	uint64_t ips[4];
	uint32_t n = 0;

	put_sample(100, 0xffff0000);
	put_sample(200, 0xffff1000);
	put_sample(300, 0xffff2000);
	sp_chain_read(&all, &chain);
	cr_assert_eq(chain.page->data_tail, chain.page->data_head);
	cr_assert(sp_chain_next(&chain, 200, ips, 4, &n));
	cr_assert_eq(n, 2, "without the mark before them");
	cr_assert_eq(ips[0], 0xffff0000);
	cr_assert(sp_chain_next(&chain, 200, ips, 4, &n));
	cr_assert_eq(ips[0], 0xffff1000);
	cr_assert_not(sp_chain_next(&chain, 200, ips, 4, &n));
	cr_assert(sp_chain_next(&chain, 300, ips, 4, &n));
	cr_assert_not(sp_chain_next(&chain, 1000, ips, 4, &n));
}

/* The latest moves with the others: where it lay there is nothing more to tell. */
Test(perf_chain, none_is_told_again_after_those_before_it_were_taken)
{
	uint64_t ips[4];
	uint32_t n = 0;

	for (uint64_t i = 1; i <= 3; i++)
		put_sample(i, 0xffff0000 + i);
	sp_chain_read(&all, &chain);
	cr_assert(sp_chain_next(&chain, 1, ips, 4, &n));
	sp_chain_read(&all, &chain);
	cr_assert(sp_chain_next(&chain, 10, ips, 4, &n));
	cr_assert(sp_chain_next(&chain, 10, ips, 4, &n));
	cr_assert_eq(ips[0], 0xffff0003);
	cr_assert_not(sp_chain_next(&chain, 10, ips, 4, &n));
	sp_chain_read(&all, &chain);
	cr_assert_eq(chain.len, 0);
}

Test(perf_chain, events_of_a_long_call_wait_for_its_signal)
{
	uint64_t ips[4];
	uint32_t n = 0, seen = 0;

	/* Far more than the pages hold, and than is kept: those are counted. */
	for (uint64_t i = 1; i <= 5000; i++) {
		put_sample(i, 0xffff0000 + i);
		sp_chain_read(&all, &chain);
	}
	cr_assert_not(sp_chain_next(&chain, 0, ips, 4, &n));
	while (sp_chain_next(&chain, 5000, ips, 4, &n))
		seen++;
	cr_assert_eq(seen, 5000);
	cr_assert_leq(chain.room, 1024u);
	put_sample(6000, 0xffff6000);
	sp_chain_read(&all, &chain);
	cr_assert(sp_chain_next(&chain, 6000, ips, 4, &n));
	cr_assert_eq(ips[0], 0xffff6000);
}

/* The collector came late: what its thread did after the long call waits beside what is of the
 * call. */
Test(perf_chain, a_signal_takes_no_events_that_came_after_it)
{
	static const uint64_t ends[] = {40, 300, 2500, 4000, 5000};
	uint64_t ips[4];
	uint32_t n = 0, seen = 0;

	for (uint64_t i = 1; i <= 5000; i++) {
		put_sample(1000 * i, 0xffff0000 + i);
		sp_chain_read(&all, &chain);
	}
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		while (sp_chain_next(&chain, 1000 * ends[i], ips, 4, &n)) {
			seen++;
			cr_assert(n == 2 && ips[1] == ips[0] + 1, "%u", seen);
		}
		cr_assert_eq(seen, ends[i]);
		sp_chain_read(&all, &chain);
	}
}

/* Frames that were not kept are those of an event before, also when that one was read long ago. */
Test(perf_chain, frames_stay_as_long_as_others_share_them)
{
	uint64_t ips[4], last = 0;
	uint32_t n = 0;

	for (uint64_t i = 1; i <= 300; i++)
		put_sample(i, 0xffff0000 + 8 * i), sp_chain_read(&all, &chain);
	for (uint64_t i = 1; i <= 300; i++) {
		cr_assert(sp_chain_next(&chain, i, ips, 4, &n));
		cr_assert(ips[0] == 0xffff0000 + 8 * i || ips[0] == last);
		last = ips[0];
		sp_chain_read(&all, &chain);
	}
	cr_assert_gt(last, 0xffff0000 + 8 * 30);
}

Test(perf_chain, from_its_first_event_on_each_signal_has_one)
{
	cr_assert_not(sp_chain_has(&chain, 10));
	put_sample(20, 0xffff0000);
	sp_chain_read(&all, &chain);
	cr_assert_not(sp_chain_has(&chain, 19));
	cr_assert(sp_chain_has(&chain, 20));
}

Test(perf_chain, one_that_stays_behind_does_not_fill_it)
{
	uint64_t ips[4];
	uint32_t n = 0;

	put_sample(1, 0xffff0001);
	for (uint64_t i = 2; i <= 5000; i++) {
		put_sample(i, 0xffff0000 + i);
		sp_chain_read(&all, &chain);
		cr_assert(sp_chain_next(&chain, i - 1, ips, 4, &n));
		cr_assert_eq(ips[0], 0xffff0000 + i - 1);
	}
	cr_assert_eq(chain.more, 0);
}

Test(perf_chain, records_that_wrap_and_those_of_another_kind)
{
	uint64_t lost[] = {1, 7}, ips[4];
	uint32_t n = 0;

	for (uint64_t i = 1; i <= 500; i++) {
		put_sample(i, 0xffff0000 + i);
		if (i % 3 == 0)
			put_record(PERF_RECORD_LOST, lost, 2);
		sp_chain_read(&all, &chain);
		cr_assert(sp_chain_next(&chain, i, ips, 4, &n), "%llu", (unsigned long long)i);
		cr_assert_eq(ips[0], 0xffff0000 + i);
		cr_assert_eq(ips[1], 0xffff0001 + i);
	}
	cr_assert_gt(chain.page->data_head, 2 * size);
	cr_assert_eq(all.lost, 7 * 166);
}

Test(perf_chain, chains_longer_than_wanted_and_damaged_ones)
{
	uint64_t many[102] = {5, 100}, lies[] = {6, 1u << 30, 0xffff0000}, ips[4];
	struct perf_event_header none = {.type = PERF_RECORD_SAMPLE, .size = 0};
	uint32_t n = 0;

	for (int i = 2; i < 102; i++)
		many[i] = 0xffff0000 + (uint64_t)i;
	put_record(PERF_RECORD_SAMPLE, many, 102);
	put_record(PERF_RECORD_SAMPLE, lies, 3);
	put(&none, sizeof(none));
	sp_chain_read(&all, &chain);
	cr_assert(sp_chain_next(&chain, 9, ips, 4, &n));
	cr_assert_eq(n, 4);
	cr_assert(sp_chain_next(&chain, 9, ips, 4, &n));
	cr_assert_eq(n, 1, "no more than the record has");
	cr_assert_not(sp_chain_next(&chain, 9, ips, 4, &n), "a record without a length ends it");
}

Test(perf_chain, who_was_not_sampled_for_a_second_gives_his_pages_up)
{
	static _Atomic(struct sp_chain *) places[2];
	struct sp_chain two[2] = {{.place = &places[0], .used_ns = 5000000000},
		{.place = &places[1], .used_ns = 4000000000}};
	struct sp_chains x = {.all = &two[0], .mapped = 2, .most = 2};

	two[0].next = &two[1];
	places[0] = &two[0];
	places[1] = &two[1];
	cr_expect_not(sp_chains_room(&x, 5000000000));
	cr_expect_not(two[1].gone, "a second ago");
	cr_expect_not(sp_chains_room(&x, 5000000001), "not before the next drain");
	cr_expect(two[1].gone && !places[1] && places[0] == &two[0]);
	x.mapped = 1;
	cr_expect(sp_chains_room(&x, 5000000001));
	x.refused = true;
	cr_expect_not(sp_chains_room(&x, 5000000001));
}
