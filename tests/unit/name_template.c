/* Patterns in output names. */
#include "base/cleanup.h"
#include "base/name_template.h"
#include "failing_realloc.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static const struct sp_name_template_vars vars = {.pid = 4321,
	.time = 1700000000,
	.round = 5,
	.host = "node7",
	.app_id = "application_1_2",
	.executor_id = "7"};

static void environment(void)
{
	setenv("TZ", "UTC", 1);
	setenv("SP_HOST", "node1", 1);
	setenv("SP_EVIL", "../../etc/x", 1);
	setenv("SP_UP", "..", 1);
	setenv("SP_DIR", "/var/log/c 1", 1);
	unsetenv("SP_NONE");
	unsetenv("APP_ID");
	unsetenv("EXECUTOR_ID");
}

TestSuite(name_template, .init = environment);

Test(name_template, sequences_are_replaced)
{
	static const struct {
		const char *path, *name;
	} cases[] = {
		{"", ""},
		{"plain.jfr", "plain.jfr"},
		{"%p", "4321"},
		{"a-%p-%t.jfr", "a-4321-20231114-221320.jfr"},
		{"%n", "5"},
		{"%n{3}.jfr", "2.jfr"},
		{"%n{5}", "5"},
		{"%{SP_HOST}/x", "node1/x"},
		{"%{SP_EVIL}", ".._.._etc_x"},
		{"%{SP_DIR}/x", "/var/log/c 1/x"},
		{"d/%{SP_DIR}", "d/_var_log_c 1"},
		{"d/%{SP_UP}/x", "d/_/x"},
		{"100%%", "100%"},
		{"%h/x", "node7/x"},
		{"{{APP_ID}}/exec-{{EXECUTOR_ID}}.jfr", "application_1_2/exec-7.jfr"},
		{"%{APP_ID}/exec-%{EXECUTOR_ID}.jfr", "application_1_2/exec-7.jfr"},
		{"{x}", "{x}"},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf b;
		struct sp_err err = {""};

		sp_buf_init(&b);
		cr_expect_eq(sp_name_template_check(cases[i].path, &err), 0, "%s", cases[i].path);
		cr_expect_eq(sp_name_template_expand(cases[i].path, &vars, &b, &err), 0, "%s: %s",
			cases[i].path, err.text);
		cr_expect_str_eq(sp_buf_str(&b), cases[i].name);
	}
}

Test(name_template, ids_with_one_brace_give_way_to_the_environment)
{
	SP_AUTO_BUF struct sp_buf b;

	sp_buf_init(&b);
	cr_expect(sp_name_template_has_ids("%{EXECUTOR_ID}") &&
		  sp_name_template_differs("%{EXECUTOR_ID}"));
	setenv("EXECUTOR_ID", "mine", 1);
	cr_expect_eq(sp_name_template_expand("%{EXECUTOR_ID}-%{APP_ID}", &vars, &b, NULL), 0);
	cr_expect_str_eq(sp_buf_str(&b), "mine-application_1_2");
	cr_expect_not(sp_name_template_has_ids("%{EXECUTOR_ID}"));
}

Test(name_template, unknown_sequences_are_refused)
{
	static const char *const cases[] = {"%", "x%", "%q", "%P", "%n{", "%n{}", "%n{0}", "%n{x}",
		"%n{99999999999999999999}", "%{", "%{}", "%{A-B}", "%{A", "{{X}}", "{{",
		"{{APP_ID}"};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_err err = {""};

		cr_expect_eq(sp_name_template_check(cases[i], &err), -EINVAL, "%s", cases[i]);
		cr_expect(err.text[0]);
		cr_expect_not(sp_name_template_differs(cases[i]));
	}
}

Test(name_template, what_is_missing_is_said)
{
	SP_AUTO_BUF struct sp_buf b;
	struct sp_err err;
	struct sp_name_template_vars none = {.pid = 1};

	sp_buf_init(&b);
	cr_expect_eq(sp_name_template_expand("%{SP_NONE}", &vars, &b, &err), -ENOENT);
	cr_expect(strstr(err.text, "SP_NONE"));
	cr_expect_eq(sp_name_template_expand("{{APP_ID}}", &none, &b, &err), -ENOENT);
	cr_expect_eq(sp_name_template_expand("{{EXECUTOR_ID}}", &none, &b, &err), -ENOENT);
}

Test(name_template, two_targets_need_two_names)
{
	cr_expect(sp_name_template_differs("a%p.jfr"));
	cr_expect(sp_name_template_differs("a{{EXECUTOR_ID}}.jfr"));
	cr_expect_not(sp_name_template_differs("a%%p.jfr"));
	cr_expect_not(sp_name_template_differs("a%t{{APP_ID}}%n.jfr"));
	cr_expect_not(sp_name_template_differs("-"));
}

Test(name_template, an_event_is_put_in_when_it_is_known)
{
	SP_AUTO_BUF struct sp_buf b;
	SP_AUTO_BUF struct sp_buf whole;
	struct sp_err err;

	sp_buf_init(&b);
	sp_buf_init(&whole);
	cr_expect_eq(sp_name_template_expand("a%p-{{EVENT}}.svg", &vars, &b, &err), 0);
	cr_expect(sp_name_template_has_event(sp_buf_str(&b)));
	cr_expect_eq(sp_name_template_set_event(sp_buf_str(&b), "sched:x/y", &whole), 0);
	cr_expect(strstr(sp_buf_str(&whole), "-sched:x_y.svg"), "%s", sp_buf_str(&whole));
	cr_expect_not(sp_name_template_has_event(sp_buf_str(&whole)));
}

Test(name_template, the_nth_allocation_fails)
{
	char path[2048] = "";
	unsigned n = 0;
	int r;

	for (size_t i = 0; i < 500; i++)
		strcat(path, "%p");
	do {
		SP_AUTO_BUF struct sp_buf b;
		struct sp_err err;

		sp_buf_init(&b);
		realloc_fails_at = ++n;
		r = sp_name_template_expand(path, &vars, &b, &err);
		realloc_fails_at = 0;
		cr_assert(r == 0 || r == -ENOMEM, "%u: %d", n, r);
		cr_expect_eq(strlen(sp_buf_str(&b)), r ? 0 : 2000);
	} while (r < 0);
	cr_expect_gt(n, 3, "only %u allocations", n);
}
