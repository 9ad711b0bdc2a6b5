#include "discover/target.h"
#include "base/cleanup.h"
#include "proc/proc.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define APP  "application_1700000000000_0042"
#define APP2 "app-20260101000000-0001"

static const struct sp_jvm host[] = {
	{.pid = 11,
		.role = SP_ROLE_EXECUTOR,
		.app_id = APP,
		.executor_id = "1",
		.main_class = "x.YarnBackend"},
	{.pid = 12,
		.role = SP_ROLE_EXECUTOR,
		.app_id = APP,
		.executor_id = "2",
		.main_class = "x.YarnBackend"},
	{.pid = 13,
		.role = SP_ROLE_EXECUTOR,
		.app_id = APP2,
		.executor_id = "2",
		.main_class = "x.Backend"},
	{.pid = 20,
		.role = SP_ROLE_DRIVER,
		.app_id = APP,
		.executor_id = "driver",
		.main_class = "x.SparkSubmit"},
	{.pid = 30, .role = SP_ROLE_OTHER, .main_class = "org.example.Kafka"},
	{.pid = 31, .role = SP_ROLE_OTHER, .main_class = "org.example.KafkaConnect"},
	{.pid = 32, .role = SP_ROLE_OTHER, .app_id = APP, .main_class = "x.ExecutorLauncher"},
};

Test(target, words_in_their_order)
{
	static const struct {
		const char *word;
		int r;
		pid_t first;
		size_t n;
		const char *says;
	} cases[] = {
		{"driver", 0, 20, 1, ""},
		{"executor", -EINVAL, 11, 3,
			"11 (executor 1 " APP "), 12 (executor 2 " APP "), 13 (executor 2 " APP2
			")"},
		{"executors", 0, 11, 3, ""},
		{"executor:1", 0, 11, 1, ""},
		{"executor:2", -EINVAL, 12, 2, "fits 2 processes"},
		{"executor:", -ESRCH, 0, 0, "no such target"},
		{"executor:9", -ESRCH, 0, 0,
			"there are 3 executors, 1 driver and 3 other JVMs here: look with "
			"'sparkprof ps'"},
		{APP, -EINVAL, 11, 2, "fits 2 processes"},
		{APP2, 0, 13, 1, ""},
		{APP "/2", 0, 12, 1, ""},
		{APP "/driver", 0, 20, 1, ""},
		{APP "/3", -ESRCH, 0, 0, "no such target"},
		{"application_1_0001", -ESRCH, 0, 0, "no such target"},
		{"KafkaConnect", 0, 31, 1, ""},
		{"Kafka", -EINVAL, 30, 2, "30 (other org.example.Kafka)"},
		{"nothing", -ESRCH, 0, 0, "no such target"},
		{"", -EINVAL, 0, 0, "empty"},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_TARGETS struct sp_targets t = {0};
		struct sp_err err = {""};
		int r = sp_target_match(host, SP_COUNT(host), cases[i].word, &t, &err);

		cr_expect_eq(r, cases[i].r, "'%s': %d %s", cases[i].word, r, err.text);
		cr_expect_eq(t.n, cases[i].n, "'%s': %zu", cases[i].word, t.n);
		cr_expect_eq(t.n ? t.list[0].pid : 0, cases[i].first, "'%s'", cases[i].word);
		cr_expect(strstr(err.text, cases[i].says), "'%s': %s", cases[i].word, err.text);
	}
}

Test(target, an_application_of_a_driver_alone_is_the_driver)
{
	SP_AUTO_TARGETS struct sp_targets t = {0};
	struct sp_err err;

	cr_assert_eq(sp_target_match(host + 3, 4, APP, &t, &err), 0);
	cr_expect_eq(t.list[0].pid, 20);
	cr_expect_eq(sp_target_match(host + 3, 4, "executor", &t, &err), -ESRCH);
	cr_expect(strstr(err.text, "in local mode tasks run in the driver: try 'driver'"), "%s",
		err.text);
	cr_expect_eq(sp_target_match(NULL, 0, "executor", &t, &err), -ESRCH);
	cr_expect(strstr(err.text, "no JVM"), "%s", err.text);
}

/* async-profiler's word. */
Test(target, jps_is_the_jvm_that_was_started_last)
{
	struct sp_jvm some[3];
	SP_AUTO_TARGETS struct sp_targets t = {0};
	struct sp_err err;

	memcpy(some, host, sizeof(some));
	some[0].start_ticks = 5;
	some[1].start_ticks = 7;
	some[2].start_ticks = 6;
	cr_assert_eq(sp_target_match(some, 3, "jps", &t, &err), 0);
	cr_assert_eq(t.n, 1);
	cr_expect_eq(t.list[0].pid, 12);
	cr_expect_eq(sp_target_match(NULL, 0, "jps", &t, &err), -ESRCH);
}

Test(target, each_process_once)
{
	SP_AUTO_TARGETS struct sp_targets t = {0};

	cr_assert_eq(sp_target_match(host, SP_COUNT(host), "executor:1", &t, NULL), 0);
	cr_assert_eq(sp_target_match(host, SP_COUNT(host), "executors", &t, NULL), 0);
	cr_expect_eq(t.n, 3);
}

Test(target, digits_are_a_pid_even_of_no_jvm)
{
	SP_AUTO_CLOSE int procfd = sp_proc_root();
	SP_AUTO_TARGETS struct sp_targets t = {0};
	struct sp_err err;
	char self[16];
	const char *words[] = {self, self};
	const char *gone[] = {"99999999"}, *huge[] = {"99999999999999999999999"}, *zero[] = {"0"};

	snprintf(self, sizeof(self), "%d", (int)getpid());
	cr_assert_eq(sp_target_resolve(procfd, words, 2, &t, &err), 0, "%s", err.text);
	cr_assert_eq(t.n, 1);
	cr_expect_eq(t.list[0].pid, getpid());
	cr_expect_eq(t.list[0].attach, SP_ATTACH_NO);
	cr_expect(strstr(t.list[0].reason, "is not a JVM; it executes "), "%s", t.list[0].reason);
	cr_expect_eq(sp_target_resolve(procfd, gone, 1, &t, &err), -ESRCH);
	cr_expect_eq(sp_target_resolve(procfd, huge, 1, &t, &err), -ESRCH, "%s", err.text);
	cr_expect_eq(sp_target_resolve(procfd, zero, 1, &t, &err), -ESRCH);
}

Test(target, several_targets_need_several_files)
{
	struct sp_jvm two[2] = {0};
	struct sp_targets t = {two, 2};
	const char *good[] = {"a-%p.jfr", "b-{{EXECUTOR_ID}}.txt"}, *bad[] = {"a-%p.jfr", "b.txt"},
		   *out[] = {"-"};
	struct sp_err err;

	cr_expect_eq(sp_target_check_outputs(&t, good, 2, &err), 0);
	cr_expect_eq(sp_target_check_outputs(&t, bad, 2, &err), -EINVAL);
	cr_expect(strstr(err.text, "-f b.txt: 2 targets"), "%s", err.text);
	cr_expect_eq(sp_target_check_outputs(&t, out, 1, &err), -EINVAL);
	t.n = 1;
	cr_expect_eq(sp_target_check_outputs(&t, bad, 2, &err), 0);
}
