/* sparkprof diff BASE NEW: compares two inputs of report, each a file or a directory. */
#include "cli/command.h"
#include "prof/spark/task_roots.h"

#include "base/cleanup.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/output_names.h"
#include "out/diff.h"
#include "out/outfile.h"
#include "prof/model/tasks.h"
#include "prof/spark/match_runs.h"
#include "report/report_inputs.h"
#include "report/sigbus_guard.h"
#include "report/write_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sides {
	struct sp_profile *p[2]; /* base and new */
};

static void sides_done(struct sides *s)
{
	sp_profile_free(s->p[0]);
	sp_profile_free(s->p[1]);
}

static int check_formats(const struct sp_call *call, struct sp_err *err)
{
	for (size_t i = 0; i < call->n_outputs; i++) {
		const char *name = sp_output_format_name(call->outputs[i].format);

		if (!sp_diff_writer(name))
			return sp_err_set(err, -EINVAL,
				"%s: '%s' has no comparison; write html, svg, text, collapsed, csv "
				"or json",
				call->outputs[i].path, name);
	}
	return 0;
}

/* The event log of a side: of "BASE,NEW" its own, else the one for both. Owner: the caller. */
static char *log_of(const char *logs, unsigned side)
{
	const char *comma = logs ? strrchr(logs, ',') : NULL;

	if (!logs)
		return NULL;
	if (!comma)
		return strdup(logs);
	return side == SP_DIFF_BASE ? strndup(logs, (size_t)(comma - logs)) : strdup(comma + 1);
}

/* All stages: which are the ones that were asked for is known when they are matched. */
static int load_side(
	const struct sp_call *call, unsigned side, struct sp_profile **ret, struct sp_err *err)
{
	__attribute__((cleanup(sp_report_inputs_done))) struct sp_report_inputs in = {0};
	SP_AUTO_FREE char *log = log_of(call->event_log, side);
	struct sp_call mine = *call;
	int r = sp_report_inputs_add(&in, call->targets[side], err);

	mine.event_log = log;
	mine.stage = NULL;
	return r < 0 ? r : sp_report_inputs_load(&in, &mine, ret, err);
}

/* Leaves all other stages out: --stage is the new run's number, and the base has its partner. */
static int keep_stage(const struct sp_call *call, const struct sides *s,
	const struct sp_run_match *m, struct sp_err *err)
{
	char *end;
	int64_t stage = strtoll(call->stage, &end, 10);
	int64_t attempt = *end == '.' ? strtoll(end + 1, NULL, 10) : -1;
	const struct sp_stage_pair *p = sp_run_match_find(m, SP_RUN_NEW, stage, attempt);
	unsigned there = p ? SP_RUN_NEW : SP_RUN_BASE;
	int r = 0;

	if (!p)
		p = sp_run_match_find(m, SP_RUN_BASE, stage, attempt);
	if (!p)
		return sp_report_no_stage(call, s->p[SP_RUN_NEW], err);
	if (there == SP_RUN_BASE && p->of[SP_RUN_NEW].there)
		return sp_err_set(err, -ENODATA,
			"--stage takes the number in the new recording: stage %d.%d of %s is %d.%d "
			"of %s; write --stage %d",
			p->of[SP_RUN_BASE].stage, p->of[SP_RUN_BASE].attempt,
			call->targets[SP_RUN_BASE], p->of[SP_RUN_NEW].stage,
			p->of[SP_RUN_NEW].attempt, call->targets[SP_RUN_NEW],
			p->of[SP_RUN_NEW].stage);
	if (!p->of[SP_RUN_NEW - there].there)
		return sp_err_set(err, -ENODATA,
			"--stage %s: only %s has it; no stage of %s has its call site or plan",
			call->stage, call->targets[there], call->targets[SP_RUN_NEW - there]);
	for (unsigned i = 0; i < SP_RUNS && r == 0; i++)
		r = sp_profile_filter_tasks(
			s->p[i], &(struct sp_task_filter){.stage = p->of[i].stage,
					 .attempt = p->of[i].attempt,
					 .task = -1,
					 .sql = -1,
					 .event = -1});
	return r < 0 ? sp_err_set(err, r, "out of memory") : 0;
}

/* Stages that are the same have one name in both. */
static int match_sides(const struct sp_call *call, const struct sides *s, struct sp_run_match *m,
	struct sp_err *err)
{
	int r = sp_run_match_init(m, s->p[SP_DIFF_BASE], s->p[SP_DIFF_NEW]);

	for (unsigned i = 0; i < SP_RUNS && r == 0 && call->by == SP_BY_STAGE; i++)
		r = sp_profile_root_tasks(s->p[i], call->by);
	if (r < 0)
		return sp_err_set(err, r, "out of memory");
	return call->stage ? keep_stage(call, s, m, err) : 0;
}

static int write_one(const struct sp_diff *d, const struct sp_call *call, struct sp_areas *areas,
	const struct sp_call_output *out, struct sp_err *err)
{
	struct sp_out_opts opts;
	struct sp_outfile file;
	struct sp_sink sink;
	int r = sp_outfile_open(&file, out->path, SP_OUTFILE_REPORT, err), e;

	if (r < 0)
		return r;
	sp_report_style(&opts, call, file.fd);
	opts.view.areas = areas;
	sp_sink_init(&sink, file.fd);
	r = sp_diff_writer(sp_output_format_name(out->format))(d, &opts, &sink);
	e = sp_sink_done(&sink);
	r = r < 0 ? r : e;
	return sp_report_close(&file, out->path, r, err);
}

static int compare(const struct sp_call *call, const struct sides *s, struct sp_err *err)
{
	struct sp_areas *areas;
	struct sp_out_opts opts;
	struct sp_diff d = {0};
	__attribute__((cleanup(sp_run_match_done))) struct sp_run_match match = {0};
	int r = match_sides(call, s, &match, err);

	if (r == 0)
		r = sp_areas_new(&areas, call->areas, err);
	if (r < 0)
		return r;
	if (sp_areas_learn(areas, s->p[SP_DIFF_NEW]) < 0)
		r = sp_err_set(err, -ENOMEM, "out of memory");
	sp_report_style(&opts, call, -1);
	opts.view.areas = areas;
	if (r == 0)
		r = sp_diff_init(&d, s->p[0], s->p[1], &match, &opts.view, call->absolute);
	if (r == -ENOENT)
		sp_err_set(err, r, "%s and %s have no event in common; name one with -e",
			call->targets[0], call->targets[1]);
	else if (r < 0)
		sp_err_set(err, r, "cannot compare: %s", strerror(-r));
	d.names[SP_DIFF_BASE] = call->targets[0];
	d.names[SP_DIFF_NEW] = call->targets[1];
	for (size_t i = 0; i < call->n_outputs && r == 0; i++)
		r = write_one(&d, call, areas, &call->outputs[i], err);
	sp_diff_done(&d);
	sp_areas_free(areas);
	return r;
}

int sp_cmd_diff(const struct sp_call *given)
{
	__attribute__((cleanup(sides_done))) struct sides s = {{NULL, NULL}};
	__attribute__((cleanup(sp_output_names_done))) struct sp_output_names names = {{0}};
	struct sp_call named = *given;
	const struct sp_call *call = &named;
	struct sp_err err = {0};
	int r = check_formats(call, &err);

	if (r == 0)
		r = sp_output_names_expand(&names, &named, &err);
	sp_sigbus_guard_install();
	for (unsigned i = 0; i < 2 && r == 0; i++)
		r = load_side(call, i, &s.p[i], &err);
	sp_interrupt_install();
	if (r == 0)
		r = compare(call, &s, &err);
	if (r < 0) {
		sp_message_error("%s", err.text);
		return r == -EINVAL ? SP_EXIT_USAGE : SP_EXIT_FAILED;
	}
	return SP_EXIT_DONE;
}
