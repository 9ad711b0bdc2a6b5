#include "base/grow.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

Test(units, durations_as_users_write_them)
{
	static const struct {
		const char *text;
		uint64_t ns;
		int r;
	} cases[] = {
		{"30", 30000000000, 0},
		{"30s", 30000000000, 0},
		{"0.5s", 500000000, 0},
		{".5", 500000000, 0},
		{"2m", 120000000000, 0},
		{"1h", 3600000000000, 0},
		{"50ms", 50000000, 0},
		{"100us", 100000, 0},
		{"10ns", 10, 0},
		{"", 0, -EINVAL},
		{".", 0, -EINVAL},
		{"s", 0, -EINVAL},
		{"10x", 0, -EINVAL},
		{"1e3", 0, -EINVAL},
		{"inf", 0, -EINVAL},
		{"-1", 0, -ERANGE},
		{"99999999999999999999", 0, -ERANGE},
		{"9999999999h", 0, -ERANGE},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		uint64_t ns = 0;
		int r = sp_duration_parse(cases[i].text, 1000000000, &ns);

		cr_expect_eq(r, cases[i].r, "'%s': %d", cases[i].text, r);
		cr_expect_eq(ns, cases[i].ns, "'%s': %lu", cases[i].text, ns);
	}
}

Test(units, sizes_are_powers_of_1024)
{
	uint64_t v;

	cr_expect_eq(sp_size_parse("512k", &v), 0);
	cr_expect_eq(v, 524288);
	cr_expect_eq(sp_size_parse("1.5M", &v), 0);
	cr_expect_eq(v, 1572864);
	cr_expect_eq(sp_size_parse("2GB", &v), 0);
	cr_expect_eq(v, 2ull << 30);
	cr_expect_eq(sp_size_parse("12 m", &v), -EINVAL);
	cr_expect_eq(sp_count_parse("2048", &v), 0);
	cr_expect_eq(v, 2048);
	cr_expect_eq(sp_count_parse("20.5", &v), -EINVAL);
	cr_expect_eq(sp_count_parse("-3", &v), -ERANGE);
}

Test(units, format_for_people)
{
	char b[64];

	cr_expect_str_eq(sp_duration_format(12500000000, b, sizeof(b)), "12.5 s");
	cr_expect_str_eq(sp_duration_format(50000000, b, sizeof(b)), "50 ms");
	cr_expect_str_eq(sp_duration_format(3720000000000, b, sizeof(b)), "1 h 02 min");
	cr_expect_str_eq(sp_size_format(12 << 20, b, sizeof(b)), "12.0 MB");
	cr_expect_str_eq(sp_size_format(512, b, sizeof(b)), "512 B");
}

Test(err, prefix_keeps_the_sentence)
{
	struct sp_err e;

	cr_expect_eq(sp_err_set(&e, -EINVAL, "no %s", "file"), -EINVAL);
	cr_expect_eq(sp_err_prefix(&e, -EIO, "pid %d", 7), -EIO);
	cr_expect_str_eq(e.text, "pid 7: no file");
}

Test(buf, grows_and_formats)
{
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	for (int i = 0; i < 1000; i++)
		sp_buf_addf(&b, "%d,", i);
	sp_buf_addc(&b, '!');
	cr_expect_eq(b.len, 3891);
	cr_expect_str_eq(sp_buf_str(&b) + 3879, "97,998,999,!");
}

Test(arena, refuses_past_its_cap_and_is_zero_after_reset)
{
	struct sp_arena a;
	char *p;

	cr_assert_eq(sp_arena_init(&a, 8192), 0);
	p = sp_arena_alloc(&a, 8000);
	cr_assert(p);
	memset(p, 1, 8000);
	cr_expect_null(sp_arena_alloc(&a, 200));
	cr_expect_eq(a.refused, 1);
	sp_arena_reset(&a);
	p = sp_arena_alloc(&a, 8192);
	cr_assert(p);
	cr_expect_eq(p[7999], 0);
	sp_arena_done(&a);
}

/* A growable array: new entries zero, and as it was where there is no memory for more. */
Test(grow, doubles_and_keeps_what_is_there)
{
	uint64_t *list = NULL;
	size_t cap = 0;

	for (size_t i = 0; i < 1000; i++) {
		cr_assert_eq(sp_grow_zero(&list, &cap, i, sizeof(*list), 4), 0);
		cr_assert(cap > i && list[i] == 0);
		list[i] = i + 1;
	}
	cr_expect_eq(cap, 1024);
	cr_expect(list[0] == 1 && list[999] == 1000);
	cr_assert_eq(sp_grow(&list, &cap, 5000, sizeof(*list), 4), 0);
	cr_expect_eq(cap, 8192, "far beyond its end");
	cr_expect_eq(sp_grow(&list, &cap, SIZE_MAX / 2, sizeof(*list), 4), -ENOMEM);
	cr_expect_eq(sp_grow(&list, &cap, SIZE_MAX / 16, sizeof(*list), 4), -ENOMEM);
	cr_expect(cap == 8192 && list[999] == 1000, "as it was");
	free(list);
}
