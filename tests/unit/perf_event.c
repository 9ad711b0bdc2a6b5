/* Perf events by name. */
#include "perf_event.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>

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
		struct sp_perf_spec e;
		struct sp_err err = {{0}};

		cr_expect_eq(sp_perf_parse(cases[i].name, &e, &err), 0, "%s", err.text);
		cr_expect_eq(e.type, cases[i].type, "%s", cases[i].name);
		cr_expect_eq(e.config, cases[i].config, "%s", cases[i].name);
	}
}

Test(perf_event, breakpoints)
{
	struct sp_perf_spec e;
	struct sp_err err = {{0}};

	cr_assert_eq(sp_perf_parse("mem:0x1000/8:w", &e, &err), 0, "%s", err.text);
	cr_assert_eq(e.config1, 0x1000);
	cr_assert_eq(e.config2, 8);
	cr_assert_eq(e.bp_type, (uint32_t)HW_BREAKPOINT_W);
	cr_assert_eq(sp_perf_parse("mem:malloc+4:x", &e, &err), 0, "%s", err.text);
	cr_assert_eq(e.bp_type, (uint32_t)HW_BREAKPOINT_X);
	cr_assert_eq(sp_perf_parse("mem:0x1000:q", &e, &err), -EINVAL);
	cr_assert_eq(sp_perf_parse("mem:no_such_function_here", &e, &err), -ENOENT);
}

Test(perf_event, what_is_no_event_is_refused_by_name)
{
	struct sp_perf_spec e;
	struct sp_err err = {{0}};

	cr_assert_eq(sp_perf_parse("nonsense", &e, &err), -EINVAL);
	cr_assert(strstr(err.text, "nonsense"));
	cr_assert_eq(sp_perf_parse("no:such", &e, &err), -ENOENT);
	cr_assert_eq(sp_perf_parse("../../x:y", &e, &err), -ENOENT);
}
