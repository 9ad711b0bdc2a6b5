#include "discover/ps.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/safe_print.h"

#include <criterion/criterion.h>
#include <string.h>

Test(show, json_strings_are_always_valid)
{
	static const struct {
		const char *text, *json;
	} cases[] = {
		{"a\"b\\c", "\"a\\\"b\\\\c\""},
		{"tab\tnl\n\x1b[31m", "\"tab\\u0009nl\\u000a\\u001b[31m\""},
		{"gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\""},
		{"\xff\xfe", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
		{"cut \xe2\x82", "\"cut \xef\xbf\xbd\xef\xbf\xbd\""},
		{"\xc0\xaf overlong", "\"\xef\xbf\xbd\xef\xbf\xbd overlong\""},
		{"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
		{"\xf0\x9f\x94\xa5", "\"\xf0\x9f\x94\xa5\""},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf b = {0};

		sp_safe_print_json(&b, cases[i].text);
		cr_expect_str_eq(sp_buf_str(&b), cases[i].json, "%s", sp_buf_str(&b));
	}
}

Test(show, a_terminal_gets_no_control_bytes)
{
	SP_AUTO_BUF struct sp_buf b = {0};

	cr_expect_eq(sp_safe_print_text(&b, "a\x1b]0;x\x07\xc2\x9b\xff", 0), 9);
	cr_expect_str_eq(sp_buf_str(&b), "a?]0;x???");
	sp_buf_clear(&b);
	cr_expect_eq(sp_safe_print_text(&b,
			     "gr\xc3\xbc\xc3\x9f"
			     "e",
			     4),
		4);
	cr_expect_str_eq(sp_buf_str(&b), "gr\xc3\xbc~");
}

static const struct sp_jvm list[] = {
	{.pid = 7,
		.role = SP_ROLE_EXECUTOR,
		.app_id = "application_1700000000000_0042",
		.app_name = "a very long name of an application that does nothing but go on and on "
			    "and on and on",
		.executor_id = "12",
		.container_id = "container_e17_1700000000000_0042_01_000002",
		.user = "yarn",
		.jdk = 17,
		.jdk_version = "17.0.15",
		.spark_version = "3.3.0.3.3.7190.0-91",
		.uptime_ns = 93784000000000,
		.attach = SP_ATTACH_YES},
	{.pid = 123456,
		.main_class = "org.example.Main",
		.user = "hdfs",
		.uptime_ns = 5000000000,
		.attach = SP_ATTACH_NO,
		.reason = "runs as hdfs: use sudo"},
};

Test(ps, table_fits_and_says_why_not)
{
	static const size_t widths[] = {80, 100, 120};

	for (size_t i = 0; i < SP_COUNT(widths); i++) {
		SP_AUTO_BUF struct sp_buf b = {0};
		size_t most = 0;

		sp_ps_table(list, 2, widths[i], &b);
		for (const char *s = sp_buf_str(&b); *s; s += strcspn(s, "\n") + 1)
			most = strcspn(s, "\n") > most ? strcspn(s, "\n") : most;
		cr_expect_leq(most, widths[i], "%s", sp_buf_str(&b));
		cr_expect(strstr(sp_buf_str(&b), "application_1700000000000_0042"));
		cr_expect(strstr(
			sp_buf_str(&b), "\n        container_e17_1700000000000_0042_01_000002\n"));
		cr_expect(strstr(sp_buf_str(&b), "\n        runs as hdfs: use sudo\n"));
		cr_expect(strstr(sp_buf_str(&b), "1d 2h"));
	}
}

/* The file is not what the application calls itself, and reports do not call it so. */
Test(ps, what_it_was_started_from_is_in_brackets)
{
	static const struct sp_jvm driver = {.pid = 8,
		.role = SP_ROLE_DRIVER,
		.app_name = "etl.py",
		.started_from = true,
		.user = "yarn",
		.attach = SP_ATTACH_YES};
	SP_AUTO_BUF struct sp_buf b = {0};

	sp_ps_table(&driver, 1, 120, &b);
	cr_expect(strstr(sp_buf_str(&b), " (etl.py) "), "%s", sp_buf_str(&b));
	sp_buf_clear(&b);
	sp_ps_json(&driver, 1, &b);
	cr_expect(strstr(sp_buf_str(&b), "\"app_name\": null, \"started_from\": \"etl.py\""), "%s",
		sp_buf_str(&b));
}

Test(ps, json_has_null_for_what_is_not_known)
{
	SP_AUTO_BUF struct sp_buf b = {0};

	sp_ps_json(list, 2, &b);
	cr_expect(strstr(sp_buf_str(&b), "\"app_id\": \"application_1700000000000_0042\""));
	cr_expect(strstr(sp_buf_str(&b), "\"jdk\": null, \"jdk_version\": null"));
	cr_expect(strstr(sp_buf_str(&b),
		"\"attachable\": \"no\", \"reason\": \"runs as hdfs: use sudo\"}]\n"));
	sp_buf_clear(&b);
	sp_ps_json(NULL, 0, &b);
	cr_expect_str_eq(sp_buf_str(&b), "[]\n");
}
