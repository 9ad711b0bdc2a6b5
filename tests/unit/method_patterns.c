/* Java methods as users name them: agent/options/method_patterns.h. */
#include "options/method_patterns.h"

#include "base/cleanup.h"

#include <criterion/criterion.h>
#include <errno.h>

Test(methods, names_and_amounts)
{
	static const struct {
		const char *class_name, *method;
		int32_t found;
	} cases[] = {
		{"java/util/HashMap", "put", 0},
		{"java/util/HashMap", "putAll", -1},
		{"java/util/HashMap$Node", "put", -1},
		{"org/apache/spark/sql/Foo", "barter", 1},
		{"org/apache/spark/Foo", "bar", -1},
		{"a/B", "<init>", 2},
	};
	struct sp_method_patterns m = {.count = 0};
	struct sp_err err = {{0}};

	cr_assert_eq(sp_method_patterns_parse(&m,
			     "java.util.HashMap.put:10ms;org.apache.spark.*.Foo.bar*;*.<init>:1us",
			     true, 7, &err),
		0, "%s", err.text);
	cr_assert_eq(m.count, 3);
	cr_expect_eq(m.names[0].amount, 10000000);
	cr_expect_eq(m.names[1].amount, 7);
	for (size_t i = 0; i < SP_COUNT(cases); i++)
		cr_expect_eq(
			sp_method_patterns_find(&m, cases[i].class_name, cases[i].method, "(IJ)V"),
			cases[i].found, "%s", cases[i].class_name);
	cr_expect(sp_method_patterns_of_class(&m, "any/Class"));
}

Test(methods, by_their_parameters)
{
	static const struct {
		const char *class_name, *method, *descriptor;
		int32_t found;
	} cases[] = {
		{"a/B", "c", "(I)V", 0},
		{"a/B", "c", "(I)J", -1},
		{"a/B", "c", "(Ljava/lang/String;[[J)V", 1},
		{"a/B", "c", "(Ljava/lang/String;[[J)La/B;", 1},
		{"a/B", "c", "(Ljava/lang/String;)V", -1},
		{"a/B", "d", "()La/B;", 2},
		{"a/B", "d", "()La/Bc;", -1},
		{"a/B", "e", "()[I", 3},
	};
	struct sp_method_patterns m = {.count = 0};
	struct sp_err err = {{0}};
	char missing[128] = "";

	cr_assert_eq(sp_method_patterns_parse(&m,
			     "a.B.c(I)V;*.c(Ljava/lang/String;[[J):3;a.B.d()La/B;;a.B.e()[I:2",
			     false, 7, &err),
		0, "%s", err.text);
	cr_assert_eq(m.count, 4);
	cr_expect_eq(m.names[0].amount, 7);
	cr_expect_eq(m.names[1].amount, 3);
	cr_expect_eq(m.names[3].amount, 2);
	for (size_t i = 0; i < SP_COUNT(cases); i++)
		cr_expect_eq(sp_method_patterns_find(
				     &m, cases[i].class_name, cases[i].method, cases[i].descriptor),
			cases[i].found, "%zu", i);
	sp_method_patterns_mark(&m, "a/B", "c", "(I)V");
	sp_method_patterns_mark(&m, "a/B", "e", "()[J");
	sp_method_patterns_missing(&m, missing, sizeof(missing));
	cr_expect_str_eq(missing, "*.c(Ljava/lang/String;[[J), a.B.d()La/B;, a.B.e()[I");
}

Test(methods, wrong_ones_are_refused)
{
	static const char *const cases[] = {"put", ".put", "java.util.HashMap.", "a.b:", "a.b:0",
		"a.b:x", "a.[b]", ";", "a.b(", "a.b(I", "a.b(V)V", "a.b(I)W", "a.b(L;)V",
		"a.b(Lc)V", "a.b(I)V:", "a.b(I)VV"};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_method_patterns m = {.count = 0};
		struct sp_err err = {{0}};

		cr_expect_eq(sp_method_patterns_parse(&m, cases[i], false, 1, &err), -EINVAL, "%s",
			cases[i]);
		cr_expect(err.text[0]);
	}
}
