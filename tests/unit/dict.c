#include "dict/dict.h"
#include "dict/python_thread.h"
#include "base/cleanup.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(dict, equal_contents_have_one_id)
{
	struct sp_dict *d;
	struct sp_method m = {0};
	struct sp_thread t = {.tid = 7, .java_id = 1};
	struct sp_frame_ref f[2] = {{.method = 1, .line = -1, .bci = -1, .type = SP_FRAME_NATIVE},
		{.method = 300, .line = 70000, .bci = 12, .type = SP_FRAME_C2}};
	const struct sp_stack *s;
	size_t len;

	cr_assert_eq(sp_dict_new(&d, 1 << 20), 0);
	cr_expect_eq(sp_dict_string(d, "a", 1), 1);
	cr_expect_eq(sp_dict_string(d, "", 0), 2);
	cr_expect_eq(sp_dict_string(d, "a\0b", 3), 3);
	cr_expect_eq(sp_dict_string(d, "a", 1), 1);
	cr_expect_str_eq(sp_dict_get_string(d, 1, &len), "a");
	cr_expect_str_eq(sp_dict_get_string(d, 99, &len), "");
	cr_expect_eq(len, 0);
	m.class_id = 1;
	cr_expect_eq(sp_dict_method(d, &m), 1);
	m.modifiers = 1;
	cr_expect_eq(sp_dict_method(d, &m), 2);
	cr_expect_eq(sp_dict_get_method(d, 2)->modifiers, 1);
	cr_expect_eq(sp_dict_thread(d, &t), 1);
	t.name_id = 3; /* renamed: another entry */
	cr_expect_eq(sp_dict_thread(d, &t), 2);
	cr_expect_eq(sp_dict_stack(d, f, 2, 0), 1);
	cr_expect_eq(sp_dict_stack(d, f, 2, 1), 2, "truncated is another stack");
	cr_expect_eq(sp_dict_stack(d, f, 1, 0), 3);
	cr_expect_eq(sp_dict_stack(d, NULL, 0, 0), 4);
	cr_expect_eq(sp_dict_stack(d, f, 2, 0), 1);
	s = sp_dict_get_stack(d, 2);
	cr_assert_eq(s->count, 2);
	cr_expect_eq(s->truncated, 1);
	cr_expect_eq(s->frames[0].line, -1);
	cr_expect_eq(s->frames[1].line, 70000);
	cr_expect_eq(s->frames[1].method, 300);
	cr_expect_null(sp_dict_get_stack(d, 5));
	sp_dict_set_marks(d, 1, 0x8001);
	cr_expect_eq(sp_dict_marks(d, 1), 0x8001);
	sp_dict_reset(d);
	cr_expect_eq(sp_dict_string(d, "b", 1), 1);
	cr_expect_eq(sp_dict_marks(d, 1), 0);
	sp_dict_free(d);
}

Test(dict, packed_frames_are_the_same_stack)
{
	struct sp_frame_ref f[2] = {{.method = 1, .line = -1, .bci = -1, .type = SP_FRAME_NATIVE},
		{.method = UINT32_MAX, .line = INT32_MIN, .bci = 12, .type = SP_FRAME_C2}};
	uint8_t packed[2 * SP_DICT_FRAME];
	struct sp_dict *d;
	size_t len;

	cr_assert_eq(sp_dict_new(&d, 1 << 20), 0);
	len = sp_dict_pack_frame(&f[0], packed);
	len += sp_dict_pack_frame(&f[1], packed + len);
	cr_assert_leq(len, sizeof(packed));
	cr_expect_eq(sp_dict_packed(d, packed, len, 1), 1);
	cr_expect_eq(sp_dict_stack(d, f, 2, 1), 1);
	cr_expect_eq(sp_dict_packed(d, packed, len, 0), 2);
	sp_dict_free(d);
}

Test(dict, frames_at_the_ends_of_a_byte_come_back)
{
	static const uint32_t numbers[] = {
		0, 1, 126, 127, 128, 16382, 16383, 16384, (1u << 21) - 1, 1u << 21, UINT32_MAX};
	const size_t n = SP_COUNT(numbers);
	struct sp_dict *d;

	cr_assert_eq(sp_dict_new(&d, 4 << 20), 0);
	for (size_t i = 0; i < n * n * n; i++) {
		struct sp_frame_ref f = {.method = numbers[i % n],
			.line = (int32_t)numbers[i / n % n],
			.bci = (int32_t)numbers[i / n / n],
			.type = SP_FRAME_C1};
		const struct sp_stack *st;

		cr_assert_eq(sp_dict_stack(d, &f, 1, 0), i + 1);
		st = sp_dict_get_stack(d, (uint32_t)i + 1);
		cr_assert_eq(st->count, 1);
		cr_assert_eq(st->frames[0].method, f.method);
		cr_assert_eq(st->frames[0].line, f.line);
		cr_assert_eq(st->frames[0].bci, f.bci);
		cr_assert_eq(st->frames[0].type, f.type);
	}
	sp_dict_free(d);
}

Test(dict, marks_of_stacks_add_up_until_a_reset)
{
	struct sp_frame_ref f = {.method = 1};
	struct sp_dict *d;

	cr_assert_eq(sp_dict_new(&d, 1 << 20), 0);
	for (int i = 1; i <= 600; i++, f.line++)
		cr_assert_eq(sp_dict_stack(d, &f, 1, 0), i);
	sp_dict_add_stack_marks(d, 600, 1);
	sp_dict_add_stack_marks(d, 600, 4);
	sp_dict_add_stack_marks(d, 601, 1);
	cr_expect_eq(sp_dict_stack_marks(d, 600), 5);
	cr_expect_eq(sp_dict_stack_marks(d, 599), 0);
	cr_expect_eq(sp_dict_stack_marks(d, 601), 0);
	cr_expect_eq(sp_dict_stack_marks(d, 0), 0);
	sp_dict_reset(d);
	cr_expect_eq(sp_dict_stack(d, &f, 1, 0), 1);
	cr_expect_eq(sp_dict_stack_marks(d, 1), 0);
	sp_dict_free(d);
}

Test(dict, is_there_until_its_last_owner_is_gone)
{
	struct sp_dict *d;

	cr_assert_eq(sp_dict_new(&d, 1 << 20), 0);
	cr_expect_eq(sp_dict_share(d), d);
	sp_dict_free(d);
	cr_expect_eq(sp_dict_string(d, "a", 1), 1);
	sp_dict_free(d);
}

Test(dict, full_is_counted_and_what_is_there_stays)
{
	struct sp_dict *d;
	uint32_t last = 0, id;
	char text[64];

	cr_assert_eq(sp_dict_new(&d, 256 << 10), 0);
	for (unsigned i = 0; i < 20000; i++) {
		id = sp_dict_string(d, text, (size_t)snprintf(text, sizeof(text), "string %u", i));
		if (id)
			last = id;
	}
	cr_expect_gt(sp_dict_refused(d), 0);
	cr_expect_leq(sp_dict_used(d), sp_dict_cap(d));
	cr_expect_gt(last, 2000);
	for (unsigned i = 0; i < last; i++) {
		snprintf(text, sizeof(text), "string %u", i);
		cr_assert_str_eq(sp_dict_get_string(d, i + 1, NULL), text);
		cr_assert_eq(sp_dict_string(d, text, strlen(text)), i + 1);
	}
	sp_dict_reset(d);
	cr_expect_eq(
		sp_dict_refused(d), 0, "who asks whether it is full would never hear no again");
	cr_expect_eq(sp_dict_string(d, "x", 1), 1);
	sp_dict_free(d);
}

Test(dict, deep_stacks_are_cut)
{
	static struct sp_frame_ref f[SP_DICT_MAX_FRAMES + 10];
	struct sp_dict *d;
	const struct sp_stack *s;

	for (unsigned i = 0; i < SP_DICT_MAX_FRAMES + 10; i++)
		f[i] = (struct sp_frame_ref){UINT32_MAX, INT32_MAX, INT32_MIN, SP_FRAME_KERNEL};
	cr_assert_eq(sp_dict_new(&d, 4 << 20), 0);
	s = sp_dict_get_stack(d, sp_dict_stack(d, f, SP_DICT_MAX_FRAMES + 10, 0));
	cr_expect_eq(s->count, SP_DICT_MAX_FRAMES);
	cr_expect_eq(s->truncated, 1);
	cr_expect_eq(s->frames[9].bci, INT32_MIN);
	cr_expect_eq(s->frames[9].line, INT32_MAX);
	sp_dict_free(d);
}

/* The group marks Python's threads; the name only where there is no group. */
Test(dict, threads_of_python_by_group_else_by_name)
{
	static const struct {
		const char *name, *group;
		enum sp_python_thread want;
	} cases[] = {
		{"python-worker-7", "", SP_PYTHON_THREAD_WORKER},
		{"python-worker-7/8", "", SP_PYTHON_THREAD_WORKER},
		{"python-daemon-7", "", SP_PYTHON_THREAD_DAEMON},
		{"python-driver-7", "", SP_PYTHON_THREAD_DRIVER},
		{"python3.11-7", "", SP_PYTHON_THREAD_NONE},
		{"python-worker-7", "main", SP_PYTHON_THREAD_NONE},
		{"Executor task launch worker for task 1", "main", SP_PYTHON_THREAD_NONE},
		{"any", NULL, SP_PYTHON_THREAD_NONE},
	};
	struct sp_dict *d;

	cr_assert_eq(sp_dict_new(&d, 1 << 20), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *group = cases[i].group;
		struct sp_thread t = {.tid = (uint32_t)i + 1,
			.name_id = sp_dict_string(d, cases[i].name, strlen(cases[i].name)),
			.group_id =
				group && group[0] ? sp_dict_string(d, group, strlen(group)) : 0};

		cr_expect_eq(sp_python_thread_of(d, sp_dict_thread(d, &t)), cases[i].want, "%s",
			cases[i].name);
	}
	for (int k = SP_PYTHON_THREAD_WORKER; k < SP_PYTHON_THREADS; k++) {
		const char *group = sp_python_thread_group((enum sp_python_thread)k);
		struct sp_thread t = {.tid = 99,
			.name_id = sp_dict_string(d, "x", 1),
			.group_id = sp_dict_string(d, group, strlen(group))};

		cr_expect_eq(sp_python_thread_of(d, sp_dict_thread(d, &t)), k);
	}
	sp_dict_free(d);
}
