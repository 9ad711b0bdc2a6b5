/* Which slot a thread's number has. */
#include "threads/threads_internal.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define SLOTS 4
#define LAST  (SP_TINDEX_SIZE - 1)
#define GUARD 0x5afe5afe

static struct sp_threads *ts;

static void make(void)
{
	ts = calloc(1, sizeof(*ts));
	ts->infos = calloc(SLOTS, sizeof(*ts->infos));
	ts->index = calloc(SP_TINDEX_SIZE + 1, sizeof(*ts->index));
	ts->index[SP_TINDEX_SIZE] = GUARD; /* not the index's */
	ts->used = SLOTS;
}

static void drop(void)
{
	free((void *)ts->index);
	free(ts->infos);
	free(ts);
}

TestSuite(threads_index, .init = make, .fini = drop);

static uint32_t place(uint32_t tid)
{
	return sp_sig_hash(tid) & LAST;
}

/* The next number after @tid that belongs at @at. */
static uint32_t next_at(uint32_t tid, uint32_t at)
{
	while (place(++tid) != at)
		;
	return tid;
}

static void put(uint32_t tid, uint32_t slot)
{
	ts->infos[slot].tid = tid;
	ts->infos[slot].state = SP_THREAD_LIVE;
	sp_tindex_put(ts, tid, slot);
}

static void let_go(uint32_t slot)
{
	sp_tindex_remove(ts, ts->infos[slot].tid, slot);
	ts->infos[slot].state = SP_THREAD_FREE;
}

Test(threads_index, a_thread_is_found_in_its_slot_until_it_is_removed)
{
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		put(100 + slot, slot);
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		cr_expect_eq(sp_tindex_find(ts, 100 + slot), &ts->infos[slot], "%u", slot);
	cr_expect_null(sp_tindex_find(ts, 99));
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		let_go(slot);
		for (uint32_t i = 0; i < SLOTS; i++)
			cr_expect_eq(sp_tindex_find(ts, 100 + i), i > slot ? &ts->infos[i] : NULL,
				"%u without %u", i, slot);
	}
}

/* The last place: what has no room there is at the first. */
Test(threads_index, a_removed_one_hides_nobody_and_makes_place)
{
	uint32_t a = next_at(0, LAST), b = next_at(a, LAST), c = next_at(b, LAST);

	put(a, 0);
	put(b, 1);
	cr_expect_eq(sp_tindex_find(ts, b), &ts->infos[1]);
	let_go(0);
	cr_expect_null(sp_tindex_find(ts, a));
	cr_expect_eq(sp_tindex_find(ts, b), &ts->infos[1]);
	cr_expect_eq(ts->tombs, 1);
	put(c, 2);
	cr_expect_eq(ts->tombs, 0, "%u", ts->tombs);
	cr_expect_eq(ts->index[LAST], 3);
	cr_expect_eq(sp_tindex_find(ts, b), &ts->infos[1]);
	cr_expect_eq(sp_tindex_find(ts, c), &ts->infos[2]);
}

Test(threads_index, a_new_index_has_all_threads_and_no_removed_ones)
{
	uint32_t first = next_at(0, 0), last = next_at(0, LAST);

	put(first, 0);
	put(last, 1);
	put(next_at(first, 100), 2);
	let_go(0);
	let_go(1);
	ts->infos[2].state = SP_THREAD_ENDED; /* its last samples may come yet */
	cr_expect_eq(ts->tombs, 2);
	sp_tindex_rebuild(ts);
	cr_expect_eq(ts->tombs, 0);
	for (uint32_t i = 0; i <= LAST; i++)
		cr_assert_eq(ts->index[i], i == 100 ? 3 : 0, "%u", i);
	cr_expect_eq(ts->index[SP_TINDEX_SIZE], GUARD, "beyond its end");
	cr_expect_eq(sp_tindex_find(ts, ts->infos[2].tid), &ts->infos[2]);
}
