/* Names that the agent puts into recordings itself are those that the launcher would: the short
 * demangler beside the whole one, and the kernel's names beside the launcher's reader of them. */
#include <criterion/criterion.h>

#include "elf/demangle.h"
#include "elf/kallsyms.h"
#include "elf/symtab.h"
#include "host/kernel_names.h"
#include "host/cpp_name.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

Test(native_names, plain_cpp_as_the_whole_demangler_has_it)
{
	static const char *const names[] = {
		"_ZN9JavaCalls11call_"
		"helperEP9JavaValueRK12methodHandleP17JavaCallArgumentsP6Thread",
		"_ZNK10methodData3bciEv",
		"_ZN6ThreadC2Ev",
		"_ZN12_GLOBAL__N_14workEi",
		"_ZN6ThreadD0Ev",
		"_ZL19thread_native_entryP6Thread",
		"_Z13os_main_threadv",
		"_ZNSt6thread4joinEv",
		"_ZN2os5Linux9unblockedEv.part.0",
		"_ZN5OuterL5innerEv",
		"_ZN12MetaspaceObjnwEmP15ClassLoaderDatamNS_4TypeEP10JavaThread",
		"_ZN11ResourceObjdlEPv",
		"_ZN5ArenanaEm",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct sp_buf whole = {0};
		char mine[256] = "";

		cr_assert(sp_cpp_name(names[i], mine, sizeof(mine)), "%s", names[i]);
		cr_assert_eq(sp_demangle(names[i], false, &whole), 0, "%s", names[i]);
		cr_assert_str_eq(mine, sp_buf_str(&whole));
		sp_buf_done(&whole);
	}
}

Test(native_names, what_takes_more_is_left)
{
	static const char *const names[] = {"malloc", "_Z", "_ZN", "_ZN9JavaCalls",
		"_ZN99JavaCallsE", "_ZN9HashtableIP13InstanceKlassE9new_entryEj", "_ZN3FooplERKS_",
		"_ZTV6Thread", "_Z3maxIiET_S0_S0_", "_ZN4core3fmt5write17h0123456789abcdefE",
		"_ZN3fooB5cxx11Ev", "_RNvC6_123foo3bar", "_ZNC1Ev", "_ZN0Ev",
		"_ZN99999999999999999999999Ev"};
	char text[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(text, sizeof(text), "%s", names[i]);
		cr_assert_not(sp_cpp_name(text, text, sizeof(text)), "%s: %s", names[i], text);
		cr_assert_str_eq(text, names[i]);
	}
	snprintf(text, sizeof(text), "_ZN9JavaCalls11call_helperEv");
	cr_assert_not(sp_cpp_name(text, text, 22));
	cr_assert(sp_cpp_name(text, text, 23));
}

static const char lines[] = "0000000000000000 A fixed_percpu_data\n"
			    "0000000000000000 A __per_cpu_start\n"
			    "ffffffff81000000 T _stext\n"
			    "ffffffff81000000 t local_first\n"
			    "ffffffff81000100 t do_work\n"
			    "ffffffff81000100 T work\n"
			    "ffffffff81000180 D data\n"
			    "ffffffff81000200 T above\n"
			    "ffffffffc0002000 t second\t[b]\n"
			    "ffffffffc0001000 t first\t[a]\n"
			    "0000000000014000 A percpu\n";

static void write_lines(char *path, const char *text)
{
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

Test(native_names, the_kernels_as_the_launcher_has_them)
{
	char path[] = "/tmp/kernel-names-XXXXXX";
	struct sp_kernel_names *k;
	struct sp_symtab *t;
	struct sp_err err;

	write_lines(path, lines);
	cr_assert_eq(sp_kernel_names_new(&k, path, 1 << 20), 0);
	cr_assert_eq(sp_kallsyms_open(path, &t, &err), 0);
	for (uint64_t a = 0xffffffff81000000; a < 0xffffffff81000400; a += 0x20) {
		const char *theirs;

		cr_assert_eq(sp_symtab_find(t, a, &theirs), 0);
		cr_assert_str_eq(sp_kernel_names_find(k, a), theirs);
	}
	cr_assert_str_eq(sp_kernel_names_find(k, 0xffffffffc0001fff), "first");
	cr_assert_str_eq(sp_kernel_names_find(k, 0xffffffffc0002000), "second");
	cr_assert_null(sp_kernel_names_find(k, 0xffffffff80ffffff));
	cr_assert_null(sp_kernel_names_find(k, 0x1000));
	sp_symtab_free(t);
	sp_kernel_names_free(k);
	unlink(path);
}

/* Where not all fit, none is taken for another: modules are left out, and who is above the last. */
Test(native_names, the_kernels_that_do_not_fit)
{
	static const size_t fits[] = {0, 1, 30, 60, 90, 95};
	char path[] = "/tmp/kernel-names-XXXXXX";
	struct sp_kernel_names *k;

	write_lines(path, lines);
	for (size_t i = 0; i < sizeof(fits) / sizeof(*fits); i++) {
		const char *name;

		cr_assert_eq(sp_kernel_names_new(&k, path, fits[i]), 0);
		name = sp_kernel_names_find(k, 0xffffffff81000110);
		cr_assert(!name || strcmp(name, "work") == 0, "%zu: %s", fits[i], name);
		cr_assert_null(sp_kernel_names_find(k, 0xffffffffc0002100), "%zu", fits[i]);
		sp_kernel_names_free(k);
	}
	unlink(path);
}

Test(native_names, hidden_addresses_and_no_file)
{
	char path[] = "/tmp/kernel-names-XXXXXX";
	struct sp_kernel_names *k;

	write_lines(path, "0000000000000000 T _stext\n0000000000000000 T work\n");
	cr_assert_eq(sp_kernel_names_new(&k, path, 1 << 20), 0);
	cr_assert_null(sp_kernel_names_find(k, 0xffffffff81000110));
	sp_kernel_names_free(k);
	unlink(path);
	cr_assert_eq(sp_kernel_names_new(&k, path, 1 << 20), 0);
	cr_assert_null(sp_kernel_names_find(k, 0xffffffff81000110));
	sp_kernel_names_free(k);
}
