/* sparkprof report FILE…: makes reports of recordings that lie somewhere. No target is touched. */
#include "cli/command.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/output_names.h"
#include "report/merge_recordings.h"
#include "report/report_inputs.h"
#include "report/sigbus_guard.h"
#include "report/write_report.h"

#include <errno.h>
#include <string.h>

static void print_outputs(const struct sp_call *call, const struct sp_profile *p)
{
	SP_AUTO_BUF struct sp_buf line;

	sp_buf_init(&line);
	if (p)
		sp_out_summary(p, &line);
	for (size_t i = 0; i < call->n_outputs; i++)
		sp_report_describe(call->outputs[i].path, p, &line);
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
			    : call->host	    ? "--host"
			    : call->tasks_only	    ? "--tasks-only"
			    : call->n_events	    ? "-e"
						    : NULL;

	for (size_t i = 0; i < call->n_outputs && given; i++)
		if (call->outputs[i].format == SP_FORMAT_JFR)
			return sp_err_set(err, -EINVAL,
				"%s: a merged recording (%s) is always whole; omit %s, or "
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

static bool has_event(const struct sp_profile *p, const char *name)
{
	for (unsigned i = 0; i < p->event_count; i++)
		if (p->events[i].samples && strcmp(sp_profile_event_name(p, i), name) == 0)
			return true;
	return false;
}

/* "cpu" is what people call whatever sampled CPU time: it is there if anything is. */
static bool finds_all(const struct sp_call *call, const struct sp_profile *p)
{
	for (size_t i = 0; i < call->n_events; i++)
		if (!has_event(p, call->events[i].name) &&
			(p->samples == 0 || strcmp(call->events[i].name, "cpu") != 0))
			return false;
	return true;
}

/* Names of the events that the inputs have samples of: these are read once more, without -e. */
static void name_events(
	const struct sp_call *call, const struct sp_report_inputs *in, struct sp_buf *ret)
{
	struct sp_call whole = *call;
	struct sp_profile *all = NULL;
	struct sp_err err;

	whole.n_events = 0;
	whole.quiet = true;
	if (sp_report_inputs_load(in, &whole, &all, &err) < 0)
		return;
	for (unsigned i = 0; i < all->event_count; i++)
		if (all->events[i].samples)
			sp_buf_addf(
				ret, "%s%s", ret->len ? ", " : "", sp_profile_event_name(all, i));
	sp_profile_free(all);
}

/* Says that of --stage nothing is left; the inputs are read once more, without it. */
static int refuse_stage(
	const struct sp_call *call, const struct sp_report_inputs *in, struct sp_err *err)
{
	struct sp_call whole = *call;
	struct sp_profile *all = NULL;
	struct sp_err ignored;
	int r;

	whole.stage = NULL;
	whole.quiet = true;
	if (sp_report_inputs_load(in, &whole, &all, &ignored) < 0)
		all = NULL;
	r = sp_report_no_stage(call, all, err);
	sp_profile_free(all);
	return r;
}

static bool is_filtered(const struct sp_call *call)
{
	return call->n_events || call->from.kind || call->to.kind || call->thread || call->states ||
	       call->stage || call->task || call->sql || call->executor || call->host ||
	       call->min_duration_ns || call->tasks_only;
}

/* "; there are 0 (node-1), 1 (node-2) and more", where executors were asked for. */
static void name_places(const struct sp_call *call, const struct sp_profile *p, struct sp_buf *ret)
{
	for (size_t i = 0; (call->executor || call->host) && i < p->placed_count && i < 20; i++)
		sp_buf_addf(ret, "%s%s (%s)", i ? ", " : "; there are ",
			sp_dict_get_string(p->dict, p->placed[i].executor, NULL),
			sp_dict_get_string(p->dict, p->placed[i].host, NULL));
	if (ret->len && p->placed_count > 20)
		sp_buf_adds(ret, " and more");
}

/* A report with nothing in it is not what was asked for, unless there is nothing in the inputs:
 * says what is missing. Returns 0 where there is something to write, else -ENODATA. */
static int check_found(const struct sp_call *call, const struct sp_report_inputs *in,
	const struct sp_profile *p, struct sp_err *err)
{
	SP_AUTO_BUF struct sp_buf there = {0}, places = {0};

	if (!finds_all(call, p))
		name_events(call, in, &there);
	for (size_t i = 0; i < call->n_events && there.len; i++) {
		if (has_event(p, call->events[i].name))
			continue;
		sp_err_set(err, -ENODATA, "-e %s: no samples of it, only of %s",
			call->events[i].name, sp_buf_str(&there));
		if (p->samples == 0)
			return -ENODATA;
		sp_message_warn("%s", err->text);
	}
	if (p->samples == 0 && call->stage)
		return refuse_stage(call, in, err);
	if (p->samples == 0 && is_filtered(call)) {
		name_places(call, p, &places);
		return sp_err_set(err, -ENODATA, "no samples: nothing passes the filters%s",
			sp_buf_str(&places));
	}
	if (p->samples == 0)
		sp_message_warn("no samples: there are none in what was read");
	return 0;
}

static int write_all(
	const struct sp_call *call, const struct sp_report_inputs *in, struct sp_err *err)
{
	struct sp_profile *p = NULL;
	int r = needs_profile(call) ? sp_report_inputs_load(in, call, &p, err) : 0;

	if (r == 0 && p)
		r = check_found(call, in, p, err);
	sp_interrupt_install(); /* from here on there is something to clean up */
	for (size_t i = 0; i < call->n_outputs && r == 0; i++) {
		const struct sp_call_output *o = &call->outputs[i];

		if (o->format == SP_FORMAT_JFR)
			r = sp_merge_recordings(in, o->path, !call->no_redact, err);
		else
			r = sp_report_write(o->path, o->format, call, p, err);
	}
	if (r == 0)
		print_outputs(call, p);
	sp_profile_free(p);
	return r;
}

int sp_cmd_report(const struct sp_call *given)
{
	__attribute__((cleanup(sp_report_inputs_done))) struct sp_report_inputs in = {0};
	__attribute__((cleanup(sp_output_names_done))) struct sp_output_names names = {{0}};
	struct sp_call named = *given;
	const struct sp_call *call = &named;
	struct sp_err err = {0};
	int r = check_filters(call, &err);

	if (r == 0)
		r = sp_output_names_expand(&names, &named, &err);
	if (r < 0) {
		sp_message_error("%s", err.text);
		return SP_EXIT_USAGE;
	}
	sp_sigbus_guard_install();
	for (size_t i = 0; i < call->n_targets && r == 0; i++)
		r = sp_report_inputs_add(&in, call->targets[i], &err);
	if (r == 0)
		r = write_all(call, &in, &err);
	if (r < 0) {
		sp_message_error("%s", err.text);
		return r == -EINVAL ? SP_EXIT_USAGE : SP_EXIT_FAILED;
	}
	return SP_EXIT_DONE;
}
