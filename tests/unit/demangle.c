/* Names of C++ and Rust functions; c++filt is the judge of many more in tests/cli/test_symbols.py.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/demangle.h"

struct name {
	const char *mangled, *full, *brief;
};

static const struct name cpp[] = {
	{"_ZN15G1CollectedHeap12mem_allocateEmPb",
		"G1CollectedHeap::mem_allocate(unsigned long, bool*)",
		"G1CollectedHeap::mem_allocate"},
	{"_ZNK10JavaThread4nameEv", "JavaThread::name() const", "JavaThread::name"},
	{"_Z1fv.isra.0", "f() [clone .isra.0]", "f"},
	{"_Z1fIiEvT_", "void f<int>(int)", "f<int>"},
	{"_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()", "(anonymous namespace)::f"},
	{"_ZN1AcvbEv", "A::operator bool()", "A::operator bool"},
	{"_ZN1AclEi", "A::operator()(int)", "A::operator()"},
	{"_Znwm", "operator new(unsigned long)", "operator new"},
	{"_ZlsRSoRK1A", "operator<<(std::ostream&, A const&)", "operator<<"},
	{"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const",
		"main::{lambda()#1}::operator()"},
	{"_ZThn8_N1A1fEv", "non-virtual thunk to A::f()", "non-virtual thunk to A::f"},
	{"_ZTV1A", "vtable for A", "vtable for A"},
	{"_Z3fooPFviE", "foo(void (*)(int))", "foo"},
	{"_ZNSt6vectorIiSaIiEE2atEm", "std::vector<int, std::allocator<int> >::at(unsigned long)",
		"std::vector<int, std::allocator<int> >::at"},
};

static const struct name rust[] = {
	{"_ZN3std2io5stdio6_print17h0123456789abcdefE", "std::io::stdio::_print", NULL},
	{"_ZN4core3ptr47drop_in_place$LT$alloc..string..String$C$u8$GT$17h0123456789abcdefE",
		"core::ptr::drop_in_place<alloc::string::String,u8>", NULL},
	{"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
	 "3bar17h930b740aa94f1d3aE",
		"<Test + 'static as foo::Bar<Test>>::bar", NULL},
	{"_RNvC6_123foo3bar", "123foo::bar", NULL},
	{"_RNvNtNtCs5Pp_4core3fmt5Write9write_fmt", "core::fmt::Write::write_fmt", NULL},
	{"_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}", NULL},
	{"_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>", NULL},
	{"_RMC0INtC8arrayvec8ArrayVechKj7b_E", "<arrayvec::ArrayVec<u8, 123>>", NULL},
	{"_RNvXs_C1aNtB4_1SNtB4_1T1f", "<a::S as a::T>::f", NULL},
	{"_RNvCs_4testu8gdel_5qa", "test::gödel", NULL},
	{"_RNvC4testu6gdel_gpa", NULL, NULL}, /* damaged punycode */
	{"_RIC1aFUKCRhEuE", "a::<unsafe extern \"C\" fn(&u8)>", NULL},
	{"_RIC1aDNtC1b1TEL_E", "a::<dyn b::T>", NULL},
	{"_RIC1aKb1_Kc41_Kln5_E", "a::<true, 'A', -5>", NULL},
};

static void check(const struct name *n, bool full, const char *want)
{
	SP_AUTO_BUF struct sp_buf b;
	int r;

	sp_buf_init(&b);
	sp_buf_adds(&b, ">");
	r = sp_demangle(n->mangled, full, &b);
	if (!want) {
		cr_assert(r < 0, "%s gave %s", n->mangled, sp_buf_str(&b));
		cr_assert_str_eq(sp_buf_str(&b), ">");
		return;
	}
	cr_assert(r == 0, "%s was refused", n->mangled);
	cr_assert_str_eq(sp_buf_str(&b) + 1, want, "%s gave %s", n->mangled, sp_buf_str(&b) + 1);
}

Test(demangle, cpp_full_and_short)
{
	for (size_t i = 0; i < SP_COUNT(cpp); i++) {
		check(&cpp[i], true, cpp[i].full);
		check(&cpp[i], false, cpp[i].brief);
	}
}

Test(demangle, rust_without_hashes)
{
	for (size_t i = 0; i < SP_COUNT(rust); i++) {
		check(&rust[i], true, rust[i].full);
		check(&rust[i], false, rust[i].full);
	}
}

Test(demangle, plain_names_lose_compiler_suffixes_only)
{
	struct name n = {"memset.part.0", NULL, "memset"}, plain = {"memset", NULL, NULL};

	check(&n, true, n.full);
	check(&n, false, n.brief);
	check(&plain, false, NULL);
	cr_assert(sp_demangle_is_mangled("_Z1fv") && sp_demangle_is_mangled("_RC1a"));
	cr_assert(!sp_demangle_is_mangled("_Z") && !sp_demangle_is_mangled("f"));
}

/* Every prefix of a valid name, and every name with one byte changed, ends without a crash and
 * within the limit. */
Test(demangle, damage_is_survived)
{
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	for (size_t i = 0; i < SP_COUNT(cpp) + SP_COUNT(rust); i++) {
		const char *s =
			i < SP_COUNT(cpp) ? cpp[i].mangled : rust[i - SP_COUNT(cpp)].mangled;
		size_t n = strlen(s);

		for (size_t at = 0; at < n; at++) {
			char *cut = strndup(s, at), *changed = strdup(s);

			sp_demangle(cut, true, &b);
			for (const char *c = "E_B0ISNZR9\377"; *c; c++) {
				changed[at] = *c;
				sp_buf_clear(&b);
				sp_demangle(changed, false, &b);
				cr_assert(b.len <= SP_DEMANGLE_MAX);
			}
			free(cut);
			free(changed);
		}
	}
}

static char *repeat(const char *head, const char *what, size_t n, const char *tail)
{
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	sp_buf_adds(&b, head);
	for (size_t i = 0; i < n; i++)
		sp_buf_adds(&b, what);
	sp_buf_adds(&b, tail);
	return strdup(sp_buf_str(&b));
}

Test(demangle, hostile_nesting_is_refused)
{
	const struct {
		const char *head, *what, *tail;
	} shapes[] = {{"_Z1f", "P", "v"}, {"_RIC1a", "R", "hE"}, {"_RIC1a", "S", "hE"},
		{"_R", "N", ""}, {"_RIC1a", "T", ""}, {"_ZN", "1a", "E"}, {"_Z1f", "PF", "v"},
		{"_RIC1a", "F", "E"}, {"_R", "I", ""}, {"_RIC1a", "D", ""}, {"_ZN", "I", ""},
		{"_Z1fI", "J", "E"}, {"_Z", "X", ""}, {"_Z1fIXpl", "pl", ""}};
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	for (size_t i = 0; i < SP_COUNT(shapes); i++) {
		for (size_t n = 10; n <= 1000000; n *= 10) {
			char *s = repeat(shapes[i].head, shapes[i].what, n, shapes[i].tail);

			sp_buf_clear(&b);
			sp_demangle(s, true, &b);
			sp_demangle(s, false, &b);
			cr_assert(b.len <= 2 * SP_DEMANGLE_MAX);
			free(s);
		}
	}
}

static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* A tuple of two references to the tuple before it, and so on. */
Test(demangle, doubling_in_rust_is_cut)
{
	SP_AUTO_BUF struct sp_buf name, out;
	size_t prev = 4; /* positions count behind "_R" */

	sp_buf_init(&name);
	sp_buf_init(&out);
	sp_buf_adds(&name, "_RIC1aThhE");
	for (int i = 0; i < 25; i++) {
		size_t here = name.len - 2;
		char ref[4];

		snprintf(ref, sizeof(ref), "%.*s%c", prev > 62, &digits[(prev - 1) / 62],
			digits[(prev - 1) % 62]);
		sp_buf_addf(&name, "TB%s_B%s_E", ref, ref);
		prev = here;
		if (i == 3) { /* so far it is a plain name */
			char *whole = strdup(sp_buf_str(&name));

			whole = realloc(whole, strlen(whole) + 2);
			strcat(whole, "E");
			cr_assert(sp_demangle(whole, true, &out) == 0, "%s", whole);
			free(whole);
		}
	}
	sp_buf_adds(&name, "E");
	sp_buf_clear(&out);
	cr_assert(sp_demangle(sp_buf_str(&name), true, &out) < 0);
	cr_assert(out.len == 0);
}

Test(demangle, doubling_in_cpp_is_cut)
{
	SP_AUTO_BUF struct sp_buf name, out;

	sp_buf_init(&name);
	sp_buf_init(&out);
	sp_buf_adds(&name, "_Z1f1pIiiE");
	for (int i = 0; i < 25; i++) {
		char c = i < 10 ? (char)('0' + i) : (char)('A' + i - 10);

		sp_buf_addf(&name, "S_IS%c_S%c_E", c, c);
		sp_buf_clear(&out);
		if (i == 3)
			cr_assert(sp_demangle(sp_buf_str(&name), true, &out) == 0);
	}
	cr_assert(sp_demangle(sp_buf_str(&name), true, &out) < 0);
	cr_assert(out.len == 0);
}
