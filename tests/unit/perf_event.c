/* Perf events by name. */
#include "capture/perf_event.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <stdlib.h>
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
	cr_assert_eq(sp_perf_event_parse("mem:0x1000:q", &e, &err), -EINVAL);
	cr_assert_eq(sp_perf_event_parse("mem:no_such_function_here", &e, &err), -ENOENT);
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
	cr_expect_eq(sp_perf_event_parse("uprobe:/no/such.so+0x40", &e, &err), 0, "%s", err.text);
	cr_expect_eq(e.config2, 0x40);
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

	cr_assert_eq(sp_perf_event_parse("nonsense", &e, &err), -EINVAL);
	cr_assert(strstr(err.text, "nonsense"));
	cr_assert_eq(sp_perf_event_parse("no:such", &e, &err), -ENOENT);
	cr_assert_eq(sp_perf_event_parse("../../x:y", &e, &err), -ENOENT);
}
