#include "attach/attach.h"
#include "attach/agent_image.h"
#include "base/cleanup.h"
#include "cli/event_names.h"
#include "probe/perf_table.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

Test(attach, why_the_agent_did_not_start)
{
	static const struct {
		const char *text, *word;
	} cases[] = {
		{"0\nreturn code: -11\n", "no thread could be made"},
		{"0\nreturn code: -12\n", "no memory left"},
		{"0\nreturn code: -13\n", "Permission denied"},
		{"0\nreturn code: -1\n", "no reason"},
		{"0\nreturn code: 102\n", "no reason"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sp_err err = {""};

		cr_expect_eq(
			sp_attach_answer(cases[i].text, strlen(cases[i].text), &err), -EREMOTEIO);
		cr_expect(strstr(err.text, cases[i].word), "%s", err.text);
	}
}

/* Answers as the JDKs give them (jvmtiExport.cpp, jvmtiAgent.cpp, attachListener.cpp). */
Test(attach, answers_of_jdk_11_to_25)
{
	static const struct {
		const char *text;
		int r;
	} cases[] = {
		{"0\nreturn code: 0\n", 0},
		{"0\n0\n", -EPROTO}, /* JDK 8's way */
		{"0\nreturn code: -1\n", -EREMOTEIO},
		{"0\nreturn code: 102\n", -EREMOTEIO},
		{"-1\n/tmp/.x.so was not loaded.\n/tmp/.x.so: failed to map segment\n", -ELIBACC},
		{"0\n/tmp/.x.so was not loaded.\nno such file\n", -ELIBACC},
		{"0\nAgent_OnAttach is not available in /tmp/.x.so\n", -ELIBACC},
		{"-1\nDynamic agent loading is not enabled. Use -XX:+Enable…\n", -EPERM},
		{"0\nDynamic agent loading is not enabled. Use -XX:+Enable…\n", -EPERM},
		{"0\nDynamic agent loading is only permitted in the live phase\n", -EAGAIN},
		{"101\n", -EPROTO},
		{"0\n", -EPROTO},
		{"", -EPROTO},
		{"hello", -EPROTO},
		{"\x1b[31m", -EPROTO},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_err err = {""};
		int r = sp_attach_answer(cases[i].text, strlen(cases[i].text), &err);

		cr_assert_eq(r, cases[i].r, "case %zu: %d %s", i, r, err.text);
		cr_assert_null(strpbrk(err.text, "\x1b\n"), "case %zu", i);
		cr_assert_eq(r < 0, err.text[0] != '\0', "case %zu", i);
	}
}

Test(agent_image, has_a_build_id)
{
	char id[SP_BUILD_ID_HEX + 1];

	sp_agent_image_id(id);
	cr_assert_eq(strlen(id), SP_BUILD_ID_HEX, "'%s'", id);
}

/* The command line's table and the probe's table name the same events. */
Test(probe, knows_every_event_of_the_command_line)
{
	const struct sp_event_info *e;
	size_t n, n_perf, seen = 0;

	e = sp_event_names_table(&n);
	sp_perf_table(&n_perf);
	for (size_t i = 0; i < n; i++) {
		if (e[i].group == SP_EVENT_ENGINE || e[i].group == SP_EVENT_HOOK)
			continue;
		seen++;
		cr_assert(sp_perf_table_find(e[i].name), "%s", e[i].name);
	}
	cr_assert_eq(seen, n_perf);
}

static int count_row(void *ctx, const struct sp_probe_row *row)
{
	cr_assert(sp_probe_group_name(row->group));
	cr_assert(row->state == SP_PROBE_YES || row->note[0], "%s has no reason", row->name);
	++*(int *)ctx;
	return 0;
}

Test(probe, every_row_has_a_group_and_a_reason)
{
	size_t n_perf;
	int rows = 0;

	sp_perf_table(&n_perf);
	cr_assert_eq(sp_probe_run(count_row, &rows), 0);
	cr_assert_eq((size_t)rows, n_perf + 10 + 5);
}
