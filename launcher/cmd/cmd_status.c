/* sparkprof status TARGET… and sparkprof metrics TARGET…: gets in, asks the agent what it does,
 * lets go. */
#include "base/cleanup.h"
#include "base/redact.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/safe_print.h"
#include "discover/target.h"
#include "proc/proc.h"
#include "run/agent_link.h"
#include "run/py_run.h"
#include "run/record_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What metrics prints of a target. */
enum { METRIC_RUNS, METRIC_SINCE, METRIC_PROGRESS, METRICS = METRIC_PROGRESS + SP_PROGRESS_NUMS };

struct sp_status_row {
	pid_t pid;
	uint64_t num[METRICS];
};

struct sp_status_rows {
	struct sp_status_row *rows;
	size_t n;
};

/* The paths of the outputs, a line each behind a format and a space; one after another. */
static const char *next_path(const char *outputs, size_t *ret_len, const char **ret_rest)
{
	size_t line = strcspn(outputs, "\n"), word = strcspn(outputs, " \n");

	if (word >= line)
		return NULL;
	*ret_len = line - word - 1;
	*ret_rest = outputs + line + (outputs[line] == '\n');
	return outputs + word + 1;
}

static void print_where(struct sp_buf *out, const struct sp_msg *m)
{
	const char *rest = m->text[2], *path;
	char when[40];
	size_t len, n = 0;

	while ((path = next_path(rest, &len, &rest))) {
		char copy[512];

		snprintf(copy, sizeof(copy), "%.*s", (int)len, path);
		sp_redact_in_place(copy, sizeof(copy));
		sp_buf_adds(out, n++ ? ", " : "  to ");
		sp_safe_print_text(out, strcmp(copy, "-") == 0 ? "its launcher's stdout" : copy, 0);
	}
	if (m->num[3])
		sp_buf_addf(out, "%sends by itself at %s", n ? "; " : "  ",
			sp_link_when(m->num[3], when));
	if (n || m->num[3])
		sp_buf_addc(out, '\n');
}

static void print_counts(struct sp_buf *out, const uint64_t *n)
{
	sp_buf_addf(out, ": %llu samples, %llu lost, %llu truncated, %llu unknown",
		(unsigned long long)n[SP_PROGRESS_SAMPLES], (unsigned long long)n[SP_PROGRESS_LOST],
		(unsigned long long)n[SP_PROGRESS_TRUNCATED],
		(unsigned long long)n[SP_PROGRESS_UNKNOWN]);
}

static void print_text(struct sp_buf *out, const struct sp_link *l, const struct sp_msg *m)
{
	SP_AUTO_BUF struct sp_buf events = {0};
	struct sp_record_options options;
	char when[40];

	sp_buf_addf(out, "pid %d, JDK ", (int)l->pid);
	sp_safe_print_text(out, l->jdk[0] ? l->jdk : "unknown", 0);
	if (!m->num[0]) {
		sp_buf_adds(out, ": nothing is being recorded\n");
		return;
	}
	/* Of another build's recording nothing is known but who and since when. */
	sp_record_options_get(m, &options);
	sp_record_request_events(&options, &events);
	sp_buf_adds(out, events.len ? ": recording " : ": recording");
	sp_safe_print_text(out, sp_buf_str(&events), 0);
	sp_buf_addf(out, " since %s, by ", sp_link_when(m->num[2], when));
	sp_safe_print_text(out, m->text[0], 0);
	sp_buf_adds(out, m->num[1] ? " (goes on by itself)" : "");
	if (events.len)
		print_counts(out, m->num + SP_STATE_PROGRESS);
	sp_buf_addc(out, '\n');
	print_where(out, m);
	if (m->text[1][0]) {
		SP_AUTO_BUF struct sp_buf note = {0};

		sp_redact_line(m->text[1], strlen(m->text[1]), &note);
		sp_buf_adds(out, "  ");
		sp_safe_print_text(out, sp_buf_str(&note), 0);
		sp_buf_addc(out, '\n');
	}
}

static void json_text(struct sp_buf *out, const char *key, const char *value)
{
	SP_AUTO_BUF struct sp_buf safe = {0};

	sp_redact_line(value, strlen(value), &safe);
	sp_buf_addf(out, ", \"%s\": ", key);
	sp_safe_print_json(out, sp_buf_str(&safe));
}

static void json_where(struct sp_buf *out, const struct sp_msg *m)
{
	const char *rest = m->text[2], *path, *before = "";
	char when[40];
	size_t len;

	sp_buf_adds(out, ", \"files\": [");
	for (; (path = next_path(rest, &len, &rest)); before = ", ") {
		char copy[512];

		snprintf(copy, sizeof(copy), "%.*s", (int)len, path);
		sp_redact_in_place(copy, sizeof(copy));
		sp_buf_adds(out, before);
		sp_safe_print_json(out, copy);
	}
	sp_buf_addc(out, ']');
	if (m->num[3])
		json_text(out, "ends", sp_link_when(m->num[3], when));
}

static void print_json(struct sp_buf *out, const struct sp_link *l, const struct sp_msg *m)
{
	SP_AUTO_BUF struct sp_buf events = {0};
	SP_AUTO_BUF struct sp_buf words = {0};
	struct sp_record_options options;
	static const char *const names[SP_PROGRESS_NUMS] = {
		"samples", "lost", "truncated", "unknown", "bytes"};
	char when[40];

	sp_buf_addf(out, "%s{\"pid\": %d", out->len > 1 ? ",\n " : "", (int)l->pid);
	json_text(out, "jdk", l->jdk);
	sp_buf_addf(out, ", \"recording\": %s", m->num[0] ? "true" : "false");
	if (m->num[0]) {
		json_text(out, "since", sp_link_when(m->num[2], when));
		json_text(out, "by", m->text[0]);
		sp_record_options_get(m, &options);
		sp_record_request_words(&options, &words);
		sp_record_request_events(&options, &events);
		json_text(out, "options", sp_buf_str(&words));
		json_text(out, "events", sp_buf_str(&events));
		json_where(out, m);
		if (m->text[1][0])
			json_text(out, "note", m->text[1]);
		sp_buf_addf(out, ", \"detached\": %s", m->num[1] ? "true" : "false");
		for (int i = 0; i < SP_PROGRESS_NUMS; i++)
			sp_buf_addf(out, ", \"%s\": %llu", names[i],
				(unsigned long long)m->num[SP_STATE_PROGRESS + i]);
	}
	sp_buf_addc(out, '}');
}

/* One line for each target; its name and kind are before the first. */
static void print_metric(struct sp_buf *out, const struct sp_status_rows *m, const char *name,
	const char *type, const char *help, int num)
{
	sp_buf_addf(
		out, "# HELP sparkprof_%s %s\n# TYPE sparkprof_%s %s\n", name, help, name, type);
	for (size_t i = 0; i < m->n; i++) {
		const struct sp_status_row *row = &m->rows[i];

		sp_buf_addf(out, "sparkprof_%s{pid=\"%d\"} ", name, (int)row->pid);
		if (num == METRIC_SINCE)
			sp_buf_addf(out, "%.3f\n", (double)row->num[num] / 1e9);
		else
			sp_buf_addf(out, "%llu\n", (unsigned long long)row->num[num]);
	}
}

static void print_metrics(struct sp_buf *out, const struct sp_status_rows *m)
{
	print_metric(out, m, "recording", "gauge", "1 while a recording runs", METRIC_RUNS);
	print_metric(out, m, "recording_start_time_seconds", "gauge",
		"When it began, since 1970; 0: none runs", METRIC_SINCE);
	print_metric(out, m, "samples_total", "counter", "Samples of the recording",
		METRIC_PROGRESS + SP_PROGRESS_SAMPLES);
	print_metric(out, m, "lost_samples_total", "counter",
		"Samples that were taken and could not be kept",
		METRIC_PROGRESS + SP_PROGRESS_LOST);
	print_metric(out, m, "truncated_samples_total", "counter",
		"Samples whose stack lacks frames at its root",
		METRIC_PROGRESS + SP_PROGRESS_TRUNCATED);
	print_metric(out, m, "unknown_samples_total", "counter",
		"Samples with a frame that could not be resolved",
		METRIC_PROGRESS + SP_PROGRESS_UNKNOWN);
	print_metric(out, m, "recording_bytes", "gauge", "Size of the recording",
		METRIC_PROGRESS + SP_PROGRESS_BYTES);
}

static void keep_metrics(
	struct sp_status_rows *m, const struct sp_link *l, const struct sp_msg *state)
{
	struct sp_status_row *row = &m->rows[m->n++];

	row->pid = l->pid;
	row->num[METRIC_RUNS] = state->num[0];
	row->num[METRIC_SINCE] = state->num[0] ? state->num[2] : 0;
	for (int i = 0; i < SP_PROGRESS_NUMS && state->num[0]; i++)
		row->num[METRIC_PROGRESS + i] = state->num[SP_STATE_PROGRESS + i];
}

static int one(const struct sp_call *call, const struct sp_jvm *target, struct sp_buf *out,
	struct sp_status_rows *metrics)
{
	pid_t pid = target->pid;
	struct sp_link link;
	struct sp_msg state;
	struct sp_err err;
	int r;

	if (sp_pyrun_is(target)) {
		sp_message_error("pid %d: is a Python process: sparkprof cannot record it in the "
				 "background; use 'collect'",
			(int)pid);
		return SP_EXIT_TARGET;
	}
	sp_guest_lower_priority(pid);
	r = sp_link_open(&link, pid, call->attach_timeout_ns, &err);
	if (r == 0) {
		r = sp_link_ask(
			&link, &(struct sp_msg){.type = SP_MSG_STATUS}, NULL, 0, &state, &err);
		if (r == 0 && call->action == SP_ACTION_METRICS)
			keep_metrics(metrics, &link, &state);
		else if (r == 0)
			(call->json ? print_json : print_text)(out, &link, &state);
		sp_link_close(&link);
	}
	if (r < 0)
		sp_message_error("%s", err.text);
	return r < 0 ? sp_link_exit_code(r) : SP_EXIT_DONE;
}

int sp_cmd_status(const struct sp_call *call)
{
	SP_AUTO_CLOSE int procfd = sp_proc_root();
	SP_AUTO_TARGETS struct sp_targets targets = {0};
	SP_AUTO_BUF struct sp_buf out;
	SP_AUTO_FREE struct sp_status_row *rows = NULL;
	struct sp_status_rows metrics = {0};
	struct sp_err err;
	int code = SP_EXIT_DONE;
	int r = sp_target_resolve(procfd, call->targets, call->n_targets, &targets, &err);

	sp_buf_init(&out);
	if (r < 0) {
		sp_message_error("%s", err.text);
		return sp_link_exit_code(r);
	}
	metrics.rows = rows = calloc(targets.n + 1, sizeof(*rows));
	if (!rows) {
		sp_message_error("out of memory");
		return SP_EXIT_FAILED;
	}
	if (call->json)
		sp_buf_addc(&out, '[');
	for (size_t i = 0; i < targets.n; i++) {
		code = sp_exit_worse(code, one(call, &targets.list[i], &out, &metrics));
	}
	if (call->json)
		sp_buf_adds(&out, "]\n");
	if (metrics.n)
		print_metrics(&out, &metrics);
	if (fputs(sp_buf_str(&out), stdout) < 0 || fflush(stdout)) {
		sp_message_error("%s: cannot write to stdout", sp_action_name(call->action));
		return SP_EXIT_FAILED;
	}
	return code;
}

int sp_cmd_metrics(const struct sp_call *call)
{
	return sp_cmd_status(call);
}
