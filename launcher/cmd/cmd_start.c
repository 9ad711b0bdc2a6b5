/* sparkprof start TARGET… and sparkprof resume TARGET…: begin a recording, or go on with one that
 * was stopped, and leave it running until stop, --timeout or the target's end. */
#include "cli/command.h"

#include "base/units.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "run/target_run.h"

#include <errno.h>
#include <string.h>

/* stdout goes away with the launcher. */
static int refuse_stdout(const struct sp_call *call)
{
	for (size_t i = 0; i < call->n_outputs; i++) {
		if (strcmp(call->outputs[i].path, "-") == 0) {
			sp_message_error("%s: -f -: the recording outlives this command; name a "
					 "file, or use -f with stop",
				sp_action_name(call->action));
			return SP_EXIT_USAGE;
		}
	}
	return SP_EXIT_DONE;
}

static void detach(struct sp_target_run *run, const struct sp_call *call)
{
	struct sp_err err = {""};
	struct sp_msg m;
	char limit[32];
	const struct sp_msg request = {.type = SP_MSG_DETACH};
	int r = sp_link_ask(&run->link, &request, NULL, 0, &m, &err);

	if (r == 0) /* confirmed: from here on it goes on without us */
		r = sp_link_send(&run->link, &request, &err);
	if (r < 0) {
		sp_message_error("%s", err.text);
		run->code = sp_link_exit_code(r);
		sp_outputs_discard(&run->outputs);
		return;
	}
	sp_duration_format(call->timeout_ns, limit, sizeof(limit));
	if (call->loop)
		sp_message_note(
			"pid %d: recording in a loop to %s, which the JVM writes itself; %s%s",
			(int)run->target->pid, call->outputs[0].path,
			call->timeout_ns ? "it ends by itself after " : "'stop' ends it",
			call->timeout_ns ? limit : "");
	else if (run->outputs.recording)
		sp_message_note("pid %d: recording to %s; it ends by itself after %s",
			(int)run->target->pid, run->outputs.recording, limit);
	else
		sp_message_note("pid %d: recording; it ends by itself after %s and is written by "
				"'stop -f FILE' before that",
			(int)run->target->pid, limit);
}

static int start(const struct sp_call *call)
{
	SP_AUTO_TARGETS struct sp_targets targets = {0};
	struct sp_target_run *runs = NULL;
	int code = refuse_stdout(call);
	size_t i = 0;

	sp_interrupt_install();
	if (code == SP_EXIT_DONE)
		code = sp_target_runs_new(call, &targets, &runs);
	if (code != SP_EXIT_DONE)
		return code;
	for (; i < targets.n && !sp_interrupted(); i++) {
		sp_target_run_start(&runs[i], call);
		if (runs[i].recording)
			detach(&runs[i], call);
	}
	sp_target_runs_skip(runs, i, targets.n);
	code = sp_target_runs_code(runs, targets.n);
	sp_target_runs_free(runs, targets.n);
	return code;
}

int sp_cmd_start(const struct sp_call *call)
{
	return start(call);
}

int sp_cmd_resume(const struct sp_call *call)
{
	return start(call);
}
