/* Perf events by name. */
#include "capture/perf_event.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Test(perf_event, names_mean_what_perf_means)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config;
	} cases[] = {
		{"cpu", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
		{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
		{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
		{"L1-dcache-load-misses", PERF_TYPE_HW_CACHE,
			PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_OP_READ << 8 |
				PERF_COUNT_HW_CACHE_RESULT_MISS << 16},
		{"r1a8", PERF_TYPE_RAW, 0x1a8},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sp_perf_event_spec e;
		struct sp_err err = {{0}};

		cr_expect_eq(sp_perf_event_parse(cases[i].name, &e, &err), 0, "%s", err.text);
		cr_expect_eq(e.type, cases[i].type, "%s", cases[i].name);
		cr_expect_eq(e.config, cases[i].config, "%s", cases[i].name);
	}
}

Test(perf_event, breakpoints)
{
	struct sp_perf_event_spec e;
	struct sp_err err = {{0}};

	cr_assert_eq(sp_perf_event_parse("mem:0x1000/8:w", &e, &err), 0, "%s", err.text);
	cr_assert_eq(e.config1, 0x1000);
	cr_assert_eq(e.config2, 8);
	cr_assert_eq(e.bp_type, (uint32_t)HW_BREAKPOINT_W);
	cr_assert_eq(sp_perf_event_parse("mem:malloc+4:x", &e, &err), 0, "%s", err.text);
	cr_assert_eq(e.bp_type, (uint32_t)HW_BREAKPOINT_X);
	cr_expect_eq(e.config1, (uint64_t)malloc + 4);
	cr_expect_str_empty(e.probe); /* which may be in the middle of an instruction */
	cr_assert_eq(sp_perf_event_parse("mem:0x1000:q", &e, &err), -EINVAL);
	cr_assert_eq(sp_perf_event_parse("mem:no_such_function_here", &e, &err), -ENOENT);
}

/* What is sampled at each call goes by signals. */
Test(perf_event, what_is_sampled_at_calls)
{
	static const struct {
		const char *name;
		bool call;
	} cases[] = {{"malloc", true}, {"G1CollectedHeap::humongous_obj_allocate", true},
		{"mem:malloc:x", true}, {"uprobe:/lib/x.so:f", true}, {"mem:0x1000/8:w", false},
		{"cpu", false}, {"wall", false}, {"page-faults", false}, {"r1a8", false},
		{"sched:sched_switch", false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cr_expect_eq(
			sp_perf_event_is_call(cases[i].name), cases[i].call, "%s", cases[i].name);
}

static __attribute__((noinline, used)) int only_here(int n)
{
	return n * 5 + getppid();
}

/* As C++ has it: Unit::Inner::run() const, and two that differ in what they take. */
__attribute__((noinline, used)) int const_method(int n) __asm__("_ZNK4Unit5Inner3runEv");
__attribute__((noinline, used)) int takes_int(int n) __asm__("_ZN4Unit4takeEi");
__attribute__((noinline, used)) int takes_char(int n) __asm__("_ZN4Unit4takeEc");
__attribute__((noinline, used)) int is_cold(int n) __asm__("only_here.cold");

int const_method(int n)
{
	return n * 7 + getppid();
}

int takes_int(int n)
{
	return n * 11 + getppid();
}

int takes_char(int n)
{
	return n * 13 + getppid();
}

int is_cold(int n)
{
	return n * 17 + getppid();
}

Test(perf_event, functions_by_name)
{
	static const struct {
		const char *name;
		int (*at)(int);
	} cases[] = {
		{"only_here", only_here}, /* static: in .symtab only */
		{"mem:only_here:x", only_here},
		{"Unit::Inner::run", const_method},
		{"mem:Unit::Inner::run:x", const_method},
		{"_ZN4Unit4takeEc", takes_char},
	};
	struct sp_perf_event_spec e;
	struct sp_err err = {{0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cr_assert_eq(sp_perf_event_parse(cases[i].name, &e, &err), 0, "%s", err.text);
		cr_expect_eq(e.type, (uint32_t)PERF_TYPE_BREAKPOINT);
		cr_expect_eq(e.bp_type, (uint32_t)HW_BREAKPOINT_X);
		cr_expect_eq(e.config1, (uint64_t)cases[i].at, "%s", cases[i].name);
		cr_expect_eq(e.config2, sizeof(long));
		cr_expect(e.probe[0] && e.offset, "%s", cases[i].name);
	}
	cr_expect_eq(sp_perf_event_parse("Unit::take", &e, &err), -EINVAL);
	cr_expect(strstr(err.text, "_ZN4Unit4takeEi") && strstr(err.text, "_ZN4Unit4takeEc"), "%s",
		err.text);
	cr_expect_eq(sp_perf_event_parse("no_such_function", &e, &err), -ENOENT);
	cr_expect_eq(sp_perf_event_parse("Unit::Inner", &e, &err), -ENOENT);
}

/* Where the kernel has such probes (sysfs says so); else the sentence of parse_probe. */
Test(perf_event, functions_of_loaded_libraries_become_offsets)
{
	struct sp_perf_event_spec e;
	struct sp_err err = {{0}};
	Dl_info here;
	char name[320];

	cr_assert(dladdr((void *)qsort, &here));
	snprintf(name, sizeof(name), "uprobe:%s:qsort", here.dli_fname);
	if (access("/sys/bus/event_source/devices/uprobe/type", R_OK) < 0) {
		cr_assert_eq(sp_perf_event_parse(name, &e, &err), -ENOENT);
		cr_assert(strstr(err.text, name) && strstr(err.text, "no such probes"));
		return;
	}
	cr_assert_eq(sp_perf_event_parse(name, &e, &err), 0, "%s", err.text);
	cr_expect_str_eq(e.probe, here.dli_fname);
	/* libc's code lies in its file as it lies in memory, but for where it begins. */
	cr_expect_eq(e.config2 & 0xfff, (uint64_t)qsort & 0xfff);
	cr_expect(e.config2 > 0);
	snprintf(name, sizeof(name), "uprobe:%s:no_such_function", here.dli_fname);
	cr_expect_eq(sp_perf_event_parse(name, &e, &err), -ENOENT);
	cr_expect(strstr(err.text, "no such function") && strstr(err.text, name), "%s", err.text);
	cr_expect_eq(sp_perf_event_parse("uprobe:/no/such.so:f", &e, &err), -ENOENT);
	cr_expect(strstr(err.text, "not loaded"), "%s", err.text);
	cr_expect_eq(sp_perf_event_parse("uprobe:/no/such.so+0x40", &e, &err), -ENOENT);
	cr_expect(strstr(err.text, "not loaded"), "%s", err.text);
}

/* In the middle of an instruction a probe would end the process. */
Test(perf_event, probes_by_offset_begin_with_a_function)
{
	struct sp_perf_event_spec e;
	struct sp_err err = {{0}};
	Dl_info here;
	char name[320];
	uint64_t at;

	if (access("/sys/bus/event_source/devices/uprobe/type", R_OK) < 0)
		cr_skip_test("this kernel has no such probes");
	cr_assert(dladdr((void *)qsort, &here));
	snprintf(name, sizeof(name), "uprobe:%s:qsort", here.dli_fname);
	cr_assert_eq(sp_perf_event_parse(name, &e, &err), 0, "%s", err.text);
	at = e.config2;
	snprintf(name, sizeof(name), "uprobe:%s+%#llx", here.dli_fname, (unsigned long long)at);
	cr_assert_eq(sp_perf_event_parse(name, &e, &err), 0, "%s", err.text);
	cr_expect_eq(e.config2, at);
	snprintf(name, sizeof(name), "uprobe:%s+%#llx", here.dli_fname, (unsigned long long)at + 1);
	cr_expect_eq(sp_perf_event_parse(name, &e, &err), -EINVAL);
	cr_expect(strstr(err.text, "no function begins there"), "%s", err.text);
	cr_assert_eq(sp_perf_event_parse("mem:only_here+1:x", &e, &err), 0, "%s", err.text);
	cr_expect_str_empty(e.probe);
}

Test(perf_event, why_a_probe_cannot_be_set)
{
	static const struct {
		const char *event;
		int error;
		const char *word;
	} cases[] = {
		{"kprobe:no_such", -ENOENT, "no function of that name"},
		{"uprobe:/no/such+0x40", -ENOENT, "no such file"},
		{"uretprobe:/bin/ls+0x41", -EINVAL, "offset in the file"},
		{"kprobe:do_exit+3", -EILSEQ, "instruction's start"},
		{"kretprobe:do_exit", -EACCES, "only root"},
		{"cycles", -ENOENT, "does not count it"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sp_err err = {{0}};

		cr_expect_eq(sp_perf_event_explain(cases[i].event, cases[i].error, &err),
			cases[i].error);
		cr_expect(strstr(err.text, cases[i].event) && strstr(err.text, cases[i].word), "%s",
			err.text);
	}
}

Test(perf_event, what_is_no_event_is_refused_by_name)
{
	struct sp_perf_event_spec e;
	struct sp_err err = {{0}};

	cr_assert_eq(sp_perf_event_parse("nonsense", &e, &err), -ENOENT);
	cr_assert(strstr(err.text, "nonsense"));
	cr_assert_eq(sp_perf_event_parse("no:such", &e, &err), -ENOENT);
	cr_assert_eq(sp_perf_event_parse("../../x:y", &e, &err), -ENOENT);
	if (access("/sys/bus/event_source/devices/kprobe/type", R_OK) != 0)
		return;
	cr_assert_eq(sp_perf_event_parse("kprobe:do_nanosleep+zz", &e, &err), -EINVAL);
	cr_assert(strstr(err.text, "not a number"), "%s", err.text);
	cr_assert_eq(sp_perf_event_parse("kprobe:do_nanosleep+", &e, &err), -EINVAL);
	cr_assert_eq(sp_perf_event_parse("kprobe:do_nanosleep+0x10", &e, &err), 0);
	cr_assert_eq(e.config2, 0x10);
}
