/* Names that have less room than they need. */
#include <criterion/criterion.h>

#include "base/cleanup.h"
#include "out/elide.h"

Test(elide, what_is_lost_first)
{
	static const struct {
		const char *name;
		size_t width;
		const char *want;
	} cases[] = {
		{"short", 10, "short"},
		{"org.apache.spark.Foo.bar", 20, "o.a.spark.Foo.bar"},
		{"org.apache.spark.Foo.bar", 12, "...s.Foo.bar"},
		{"std::map<int, std::less<int> >::find", 20, "std::map<>::find"},
		{"A::operator<<B", 40, "A::operator<<B"},
		{"<std::fs::File as std::io::Read>::read_buf", 30, "std::fs::File::read_buf"},
		{"<a::Map<K, fn() -> V> as b::Get<K>>::get::{{closure}}", 26,
			"a::Map<>::get::{{closure}}"},
		{"std::io::impls::<impl std::io::Write for &mut W>::write_all", 40,
			"&mut W::write_all"},
		{"<[T] as core::slice::Concat<V>>::concat", 20, "[T]::concat"},
		{"<[T]>::binary_search_by_and_more", 30, "[T]::binary_search_by_and_more"},
		{"core::<impl a::B>::c_that_is_long", 20, "a::B::c_that_is_long"},
		{"<never closed as it is::f", 20, "...losed as it is::f"},
		{"a_function.<locals>.inner (some_file.py)", 31, "a_function.inner (some_file.py)"},
		{"removed_frames (<frozen importlib._bootstrap>)", 30,
			"removed_frames (<...ootstrap>)"},
		{"aaaaaaaaaaaaaaaaaaaaaaaa", 10, "...aaaaaaa"},
		{"äöüäöüäöüäöü", 10, "...üäöüäöü"},
		{"a\tb", 10, "a b"},
		{"a\xc2\x9b\xe2\x80\xae\xe2\x81\xa6"
		 "b\xff",
			10, "a   b\xef\xbf\xbd"},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf b;

		sp_buf_init(&b);
		sp_elide(cases[i].name, cases[i].width, &b);
		cr_assert_str_eq(
			sp_buf_str(&b), cases[i].want, "%s: %s", cases[i].name, sp_buf_str(&b));
	}
}

Test(elide, of_words_both_ends_stay)
{
	static const struct {
		const char *name, *want;
		size_t width;
	} cases[] = {
		{"SQL 4: collect at /home/a/job.py:31", "SQL 4: collec...b.py:31", 23},
		{"SQL 4: count", "SQL 4: count", 12},
		{"äöüäöüäöüäöü", "äöüä...äöü", 10},
		{"a\tb", "a b", 10},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf b;

		sp_buf_init(&b);
		sp_elide_middle(cases[i].name, cases[i].width, &b);
		cr_assert_str_eq(
			sp_buf_str(&b), cases[i].want, "%s: %s", cases[i].name, sp_buf_str(&b));
	}
}
