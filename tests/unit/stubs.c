/* Names of generated routines by address. */
#include "unwind/stubs.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define LOW  0x1000u
#define HIGH 0x9000u

static struct sp_stubs *open_stubs(size_t cap)
{
	struct sp_stubs *s;

	cr_assert_eq(sp_stubs_new(&s, cap), 0);
	return s;
}

static const char *find(struct sp_stubs *s, uint64_t pc)
{
	const char *name = sp_stubs_find(s, pc, LOW, HIGH, NULL);

	return name ? name : "";
}

Test(stubs, routine_that_covers_the_pc_is_found)
{
	static const struct {
		uint64_t pc;
		const char *name;
	} cases[] = {{0x1fff, ""}, {0x2000, "crc"}, {0x20ff, "crc"}, {0x2100, "copy"},
		{0x21ff, "copy"}, {0x2200, ""}, {0x3000, "inner"}, {0x300f, "inner"}, {0x8fff, ""}};
	struct sp_stubs *s = open_stubs(1 << 16);

	sp_stubs_add(s, "copy", 0x2100, 0x2200); /* in no order */
	sp_stubs_add(s, "crc", 0x2000, 0x2100);
	sp_stubs_add(s, "inner", 0x3000, 0x3010); /* of two that begin together the shorter */
	sp_stubs_add(s, "outer", 0x3000, 0x3100);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cr_expect_str_eq(find(s, cases[i].pc), cases[i].name, "%zx", (size_t)cases[i].pc);
	sp_stubs_add(s, "late", 0x1500, 0x1600);
	cr_expect_str_eq(find(s, 0x1500), "late");
	cr_expect_str_eq(find(s, 0x2000), "crc");
	sp_stubs_free(s);
}

Test(stubs, routine_must_lie_in_the_blob)
{
	struct sp_stubs *s = open_stubs(1 << 16);

	sp_stubs_add(s, "freed", 0x2000, 0x2100); /* another blob's code is there now */
	cr_expect_null(sp_stubs_find(s, 0x2050, 0x2040, 0x3000, NULL));
	cr_expect_null(sp_stubs_find(s, 0x2050, 0x1000, 0x20f0, NULL));
	cr_expect_not_null(sp_stubs_find(s, 0x2050, 0x2000, 0x2200, NULL));
	cr_expect_null(sp_stubs_find(s, 0x2050, 0x2000, 0x2100, NULL)); /* the blob has a name */
	sp_stubs_free(s);
}

Test(stubs, senseless_ranges_and_names_are_not_kept)
{
	struct sp_stubs *s = open_stubs(1 << 16);

	sp_stubs_add(s, "empty", 0x2000, 0x2000);
	sp_stubs_add(s, "backwards", 0x2000, 0x1000);
	sp_stubs_add(s, "", 0x2000, 0x2100);
	sp_stubs_add(s, NULL, 0x2000, 0x2100);
	cr_expect_str_eq(find(s, 0x2000), "");
	sp_stubs_add(
		s, "a name that is much longer than all the names of routines are", 0x2000, 0x2100);
	cr_expect_eq(strlen(find(s, 0x2000)), SP_STUB_NAME);
	sp_stubs_free(s);
}

Test(stubs, full_table_counts_and_keeps_what_it_has)
{
	struct sp_stubs *s = open_stubs(4096);
	char name[16];

	for (unsigned i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "s%u", i);
		sp_stubs_add(s, name, LOW + i * 16, LOW + i * 16 + 16);
	}
	cr_expect(sp_stubs_refused(s) > 100 && sp_stubs_refused(s) < 199);
	cr_expect_str_eq(find(s, LOW), "s0");
	cr_expect_str_eq(find(s, LOW + 199 * 16), "");
	sp_stubs_free(s);
}
