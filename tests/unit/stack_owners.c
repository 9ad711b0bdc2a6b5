/* The agent's lines about locks and their owners. */
#include <criterion/criterion.h>

#include "base/cleanup.h"
#include "run/stack_owners.h"

Test(stack_owners, lines_are_taken_apart)
{
	struct sp_stack_owners o;

	cr_assert_eq(sp_stack_owners_init(&o, "12 34 a.Lock@1 of 2\tname with blanks\n"
					      "13 -1 b.Lock@2\t\n"
					      "cut\n"),
		0);
	cr_assert_eq(o.count, 2);
	cr_expect(o.cut);
	cr_assert(sp_stack_owners_find(&o, 12));
	cr_expect_eq(sp_stack_owners_find(&o, 12)->owner, 34);
	cr_expect_str_eq(sp_stack_owners_find(&o, 12)->lock, "a.Lock@1 of 2");
	cr_expect_str_eq(sp_stack_owners_find(&o, 12)->name, "name with blanks");
	cr_expect_eq(sp_stack_owners_find(&o, 13)->owner, -1);
	cr_expect(!sp_stack_owners_find(&o, 34));
	sp_stack_owners_done(&o);
}

/* An agent may say anything. */
Test(stack_owners, other_lines_are_left_out)
{
	static const char *const lines[] = {"", "\n", "\t\n", "12\t\n", "12 34\t\n", "x 34 l\tn\n",
		"12 x l\tn\n", "0 3 l\tn\n", "-5 3 l\tn\n", "12 34 l", "12 0 l\tn"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct sp_stack_owners o;

		cr_assert_eq(sp_stack_owners_init(&o, lines[i]), 0);
		cr_expect_eq(o.count, 0, "line %zu", i);
		cr_expect(!sp_stack_owners_find(&o, 0));
		sp_stack_owners_done(&o);
	}
}

Test(stack_owners, who_holds_a_lock_is_said_as_far_as_it_is_known)
{
	static const struct sp_stack_owner held = {1, 2, "a.Lock@1", "worker\033"},
					   unknown = {1, -1, "a.Lock@1", ""};
	static const struct {
		const struct sp_stack_owner *owner;
		struct sp_stack_holder by;
		const char *text, *json;
	} cases[] = {
		{&held, {7, 3}, "    waits for a.Lock@1, held by thread 7 \"worker?\" of TID 3\n",
			", \"waits_for\": {\"lock\": \"a.Lock@1\", \"owner\": \"worker\\u001b\", "
			"\"owner_tid\": 7, \"owner_task\": 3}"},
		{&held, {0, -1}, "    waits for a.Lock@1, held by thread \"worker?\"\n", NULL},
		{&unknown, {0, -1}, "    waits for a.Lock@1, owner not known\n",
			", \"waits_for\": {\"lock\": \"a.Lock@1\"}"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		SP_AUTO_BUF struct sp_buf text = {0}, json = {0};

		sp_stack_owner_text(&text, cases[i].owner, cases[i].by);
		cr_expect_str_eq(sp_buf_str(&text), cases[i].text);
		sp_stack_owner_json(&json, cases[i].owner, cases[i].by);
		if (cases[i].json)
			cr_expect_str_eq(sp_buf_str(&json), cases[i].json);
	}
}
