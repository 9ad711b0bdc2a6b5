/* sparkprof report FILE…: makes reports of recordings that lie somewhere. No target is touched. */
#include "command.h"

#include "inputs.h"
#include "interrupt.h"
#include "merge_jfr.h"
#include "message.h"
#include "names.h"
#include "shrunk.h"
#include "write_report.h"
#include "base/buf.h"
#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

static void tell(const struct sp_call *call, const struct sp_profile *p)
{
	SP_AUTO_BUF struct sp_buf line;

	sp_buf_init(&line);
	if (p)
		sp_out_summary(p, &line);
	for (size_t i = 0; i < call->n_outputs; i++)
		sp_report_tell(call->outputs[i].path, p, &line);
	if (line.len)
		sp_message_note("%s", sp_buf_str(&line));
}

/* A merged recording is always whole: filters say nothing about it. */
static int check_filters(const struct sp_call *call, struct sp_err *err)
{
	const char *given = call->from.kind	    ? "--from"
			    : call->to.kind	    ? "--to"
			    : call->states	    ? "--state"
			    : call->thread	    ? "--thread"
			    : call->min_duration_ns ? "--min-duration"
			    : call->by		    ? "--by"
			    : call->stage	    ? "--stage"
			    : call->task	    ? "--task"
			    : call->sql		    ? "--sql"
			    : call->executor	    ? "--executor"
			    : call->tasks_only	    ? "--tasks-only"
			    : call->n_events	    ? "-e"
						    : NULL;

	for (size_t i = 0; i < call->n_outputs && given; i++)
		if (call->outputs[i].format == SP_FORMAT_JFR)
			return sp_err_set(err, -EINVAL,
				"%s: a merged recording (%s) is always whole; leave %s out, or "
				"write another format",
				given, call->outputs[i].path, given);
	return 0;
}

static bool needs_profile(const struct sp_call *call)
{
	for (size_t i = 0; i < call->n_outputs; i++)
		if (call->outputs[i].format != SP_FORMAT_JFR)
			return true;
	return false;
}

static int write_all(const struct sp_call *call, const struct sp_inputs *in, struct sp_err *err)
{
	struct sp_profile *p = NULL;
	int r = needs_profile(call) ? sp_inputs_load(in, call, &p, err) : 0;

	for (size_t i = 0; i < call->n_outputs && r == 0; i++) {
		const struct sp_call_output *o = &call->outputs[i];

		if (o->format == SP_FORMAT_JFR)
			r = sp_merge_jfr(in, o->path, err);
		else
			r = sp_report_write(o->path, o->format, call, p, err);
	}
	if (r == 0 && p && p->samples == 0)
		sp_message_warn("no samples: %s",
			call->n_events || call->from.kind || call->to.kind || call->thread ||
					call->states || call->stage || call->task || call->sql ||
					call->executor
				? "nothing passes the filters"
				: "there are none in what was read");
	if (r == 0)
		tell(call, p);
	sp_profile_free(p);
	return r;
}

int sp_cmd_report(const struct sp_call *given)
{
	__attribute__((cleanup(sp_inputs_done))) struct sp_inputs in = {0};
	__attribute__((cleanup(sp_names_done))) struct sp_named names = {{0}};
	struct sp_call named = *given;
	const struct sp_call *call = &named;
	struct sp_err err = {0};
	int r = check_filters(call, &err);

	if (r == 0)
		r = sp_names_expand(&names, &named, &err);
	if (r < 0) {
		sp_message_error("%s", err.text);
		return SP_EXIT_USAGE;
	}
	sp_interrupt_mind();
	sp_shrunk_mind();
	for (size_t i = 0; i < call->n_targets && r == 0; i++)
		r = sp_inputs_add(&in, call->targets[i], &err);
	if (r == 0)
		r = write_all(call, &in, &err);
	if (r < 0) {
		sp_message_error("%s", err.text);
		return r == -EINVAL ? SP_EXIT_USAGE : SP_EXIT_FAILED;
	}
	return SP_EXIT_DONE;
}
