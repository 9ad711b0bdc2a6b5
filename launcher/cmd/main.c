/* sparkprof: the command. It parses the call, prints help, and hands over to one command. */
#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/message.h"
#include "cli/std_streams.h"
#include "via/far.h"
#include "via/via.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An action without a function is refused as not built yet. */
static int (*const commands[SP_ACTION_COUNT])(const struct sp_call *) = {
	[SP_ACTION_COLLECT] = sp_cmd_collect,
	[SP_ACTION_DIFF] = sp_cmd_diff,
	[SP_ACTION_DUMP] = sp_cmd_dump,
	[SP_ACTION_LIST] = sp_cmd_list,
	[SP_ACTION_METRICS] = sp_cmd_metrics,
	[SP_ACTION_PS] = sp_cmd_ps,
	[SP_ACTION_RESUME] = sp_cmd_resume,
	[SP_ACTION_START] = sp_cmd_start,
	[SP_ACTION_STACK] = sp_cmd_stack,
	[SP_ACTION_STATUS] = sp_cmd_status,
	[SP_ACTION_STOP] = sp_cmd_stop,
	[SP_ACTION_REPORT] = sp_cmd_report,
	[SP_ACTION_VERSION] = sp_cmd_version,
};

static int help(const struct sp_call *call)
{
	SP_AUTO_BUF struct sp_buf text;
	struct sp_err err;

	sp_buf_init(&text);
	if (sp_help_write(call, &text, &err) < 0) {
		sp_message_error("%s", err.text);
		return SP_EXIT_USAGE;
	}
	if (fputs(sp_buf_str(&text), stdout) < 0 || fflush(stdout)) {
		sp_message_error("help: cannot write to stdout");
		return SP_EXIT_FAILED;
	}
	return SP_EXIT_DONE;
}

static void close_each(void)
{
	DIR *all = opendir("/proc/self/fd");
	const struct dirent *d;

	while (all && (d = readdir(all))) {
		int fd = atoi(d->d_name);

		if (fd > STDERR_FILENO && fd != dirfd(all))
			close(fd);
	}
	if (all)
		closedir(all);
}

/* An agent that makes a report starts us with the descriptors of its host: they are not ours. */
static void leave_host(void)
{
	int none = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (none >= 0) {
		dup2(none, STDIN_FILENO);
		dup2(none, STDOUT_FILENO);
	}
	if (syscall(SYS_close_range, 3u, ~0u, 0u) < 0)
		close_each(); /* before Linux 5.9 */
}

int main(int argc, char **argv)
{
	static struct sp_call call; /* large: 1,024 targets */
	struct sp_err err;

	if (getenv("SPARKPROF_CHILD"))
		leave_host();
	if (sp_std_streams_fill() < 0)
		return SP_EXIT_FAILED; /* a message might end up in a file */
	if (argc > 1 && strcmp(argv[1], SP_FAR_WORD) == 0)
		return sp_via_far(argc, argv);
	if (sp_options_parse(argc, argv, &call, &err) < 0) {
		sp_message_error("%s", err.text);
		return SP_EXIT_USAGE;
	}
	if (call.help != SP_HELP_NONE)
		return help(&call);
	sp_message_set_quiet(call.quiet);
	for (size_t i = 0; i < call.n_notes; i++)
		sp_message_warn("--%s: not needed: %s", call.notes[i].name, call.notes[i].why);
	if (!commands[call.action]) {
		sp_message_error("%s is not built yet", sp_action_name(call.action));
		return SP_EXIT_USAGE;
	}
	return call.via > SP_VIA_LOCAL ? sp_via_call(&call) : commands[call.action](&call);
}
