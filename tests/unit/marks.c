/* Spans of programs on their way to the recording. */
#include <criterion/criterion.h>

#include "collect/marks.h"
#include "sig/handler.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, EACH = 20000 };

void sp_sig_wake(void)
{
}

struct taken {
	uint64_t count, next[THREADS];
	char last[SP_MARK_TAG];
};

static void take(void *ctx, const struct sp_mark *m)
{
	struct taken *t = ctx;
	char *end;
	unsigned long thread = strtoul(m->tag, &end, 10), n = strtoul(end + (*end != 0), NULL, 10);

	t->count++;
	cr_assert_geq(m->end_ns, m->start_ns);
	snprintf(t->last, sizeof(t->last), "%s", m->tag);
	if (*end != '.')
		return;
	cr_assert_geq(n, t->next[thread]); /* in order, some may be lost */
	t->next[thread] = n + 1;
}

Test(marks, only_while_it_records)
{
	struct taken t = {0};

	cr_assert_not(sp_marks_add(1, "before", 6));
	sp_marks_begin();
	cr_assert(sp_marks_add(1, "within", 6));
	sp_marks_end();
	cr_assert_not(sp_marks_add(1, "after", 5));
	cr_assert_eq(sp_marks_take(take, &t), 0);
	cr_assert_eq(t.count, 1);
	cr_assert_str_eq(t.last, "within");
	/* what is left of one recording is not of the next */
	sp_marks_begin();
	cr_assert(sp_marks_add(1, "left", 4));
	sp_marks_end();
	sp_marks_begin();
	cr_assert_eq(sp_marks_take(take, &t), 0);
	cr_assert_eq(t.count, 1);
}

Test(marks, long_tags_end_between_characters)
{
	struct taken t = {0};
	char tag[200];

	for (size_t i = 0; i + 2 < sizeof(tag); i += 2)
		memcpy(tag + i, "\xc3\xa4", 3);
	sp_marks_begin();
	cr_assert(sp_marks_add(1, tag, strlen(tag)));
	sp_marks_take(take, &t);
	cr_assert_eq(strlen(t.last), 94);
}

Test(marks, what_does_not_fit_is_counted)
{
	struct taken t = {0};
	uint64_t taken = 0;

	sp_marks_begin();
	for (int i = 0; i < 5000; i++)
		taken += sp_marks_add(1, "many", 4);
	cr_assert_eq(sp_marks_take(take, &t), 5000 - taken);
	cr_assert_eq(t.count, taken);
	cr_assert(sp_marks_add(1, "again", 5));
	cr_assert_eq(sp_marks_take(take, &t), 0);
	cr_assert_str_eq(t.last, "again");
}

static _Atomic uint64_t put, numbers;

static void *add_many(void *arg)
{
	uint64_t thread = atomic_fetch_add(&numbers, 1);
	char tag[40];

	for (int i = 0; i < EACH; i++) {
		snprintf(tag, sizeof(tag), "%u.%d", (unsigned)thread, i);
		atomic_fetch_add(&put, sp_marks_add(1, tag, strlen(tag)));
	}
	return NULL;
}

Test(marks, many_threads_at_once)
{
	pthread_t threads[THREADS];
	struct taken t = {0};
	uint64_t lost = 0;

	sp_marks_begin();
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, add_many, NULL), 0);
	while (t.count + lost < THREADS * EACH / 2)
		lost += sp_marks_take(take, &t);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	lost += sp_marks_take(take, &t);
	cr_assert_eq(t.count, put);
	cr_assert_eq(t.count + lost, THREADS * EACH);
}
