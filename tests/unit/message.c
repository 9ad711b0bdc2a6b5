/* What a person gets to read on stderr. */
#include "cli/message.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TestSuite(message, .init = cr_redirect_stderr);

/* Everything that was written to stderr so far. */
static const char *said(void)
{
	static char text[8192];
	FILE *f = cr_get_redirected_stderr();
	size_t n;

	close(STDERR_FILENO);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	return text;
}

Test(message, a_warning_is_said_once)
{
	for (int i = 0; i < 3; i++)
		sp_message_warn("no kernel frames: %s", "perf_event_paranoid is 2");
	sp_message_warn("another");
	cr_expect_str_eq(said(), "sparkprof: no kernel frames: perf_event_paranoid is 2\n"
				 "sparkprof: another\n");
}

Test(message, quiet_leaves_errors)
{
	sp_message_set_quiet(true);
	sp_message_warn("a warning");
	sp_message_note("a note");
	sp_message_error("an error");
	cr_expect_str_eq(said(), "sparkprof: an error\n");
}

Test(message, a_message_is_one_line_without_control_characters)
{
	sp_message_error("a\nb\x1b[31m\x7f"
			 "c é");
	cr_expect_str_eq(said(), "sparkprof: a?b?[31m?c é\n");
}

Test(message, a_long_message_is_cut_and_ended)
{
	char text[5000];
	const char *line;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	sp_message_note("%s", text);
	line = said();
	cr_expect_gt(strlen(line), 1000);
	cr_expect_eq(strcspn(line, "\n"), strlen(line) - 1);
}
