/* One function per action, each in its own cmd_<name>.c. A command reports its own failure once
 * through message.h and returns the exit code. */
#ifndef SP_LAUNCHER_CLI_COMMAND_H
#define SP_LAUNCHER_CLI_COMMAND_H

#include "options.h"

enum sp_exit {
	SP_EXIT_DONE = 0,
	SP_EXIT_FAILED = 1,
	SP_EXIT_USAGE = 2,  /* wrong call */
	SP_EXIT_TARGET = 3, /* no such target, or not permitted */
	SP_EXIT_PART =
		4, /* outputs are written, but end early: the target died or did not answer */
};

/* Which of two says more of a call that did several things. */
static inline int sp_exit_worse(int a, int b)
{
	static const int badness[] = {[SP_EXIT_DONE] = 0,
		[SP_EXIT_PART] = 1,
		[SP_EXIT_TARGET] = 2,
		[SP_EXIT_USAGE] = 3,
		[SP_EXIT_FAILED] = 4};

	return badness[b] > badness[a] ? b : a;
}

int sp_cmd_collect(const struct sp_call *call);
__attribute__((warn_unused_result)) int sp_cmd_start(const struct sp_call *call);
int sp_cmd_stop(const struct sp_call *call);
int sp_cmd_dump(const struct sp_call *call);
int sp_cmd_resume(const struct sp_call *call);
int sp_cmd_status(const struct sp_call *call);
int sp_cmd_metrics(const struct sp_call *call);
int sp_cmd_list(const struct sp_call *call);
int sp_cmd_ps(const struct sp_call *call);
int sp_cmd_stack(const struct sp_call *call);
int sp_cmd_report(const struct sp_call *call);
int sp_cmd_diff(const struct sp_call *call);
int sp_cmd_version(const struct sp_call *call);

#endif
