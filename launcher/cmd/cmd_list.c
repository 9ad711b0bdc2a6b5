/* sparkprof list [TARGET]: every event, and why one is not to be had. Without a target it is probed
 * in this process; with one inside the target, by the agent, with the target's own permissions. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "cli/command.h"
#include "cli/event_names.h"
#include "cli/message.h"
#include "cli/safe_print.h"
#include "discover/target.h"
#include "probe/probe.h"
#include "proc/proc.h"
#include "run/agent_link.h"
#include "run/py_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 80, NAME_AT = 2, NOTE_AT = 6, HELP_AT = 38 };

/* A row, kept until the rows next to it are known. */
struct kept {
	enum sp_probe_group group;
	enum sp_probe_state state;
	char name[48], note[320];
	const char *help; /* static */
};

struct table {
	struct kept *rows; /* owned */
	size_t n, cap;
};

static const char *const state_names[SP_PROBE_STATES] = {"available", "limited", "no"};

static const char *help_of(const char *name, bool *ret_built)
{
	const struct sp_event_info *e;
	size_t n;

	*ret_built = true;
	e = sp_event_names_table(&n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(e[i].name, name) == 0) {
			*ret_built = e[i].built;
			return e[i].help;
		}
	return "";
}

/* Words of @text from column @at on, further lines indented by @indent. */
static void add_wrapped(struct sp_buf *out, const char *text, size_t at, size_t indent)
{
	for (size_t len; *text; text += len) {
		text += strspn(text, " ");
		len = strcspn(text, " ");
		if (at > indent && at + 1 + len > WIDTH) {
			sp_buf_addf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			sp_buf_addc(out, ' ');
			at++;
		}
		sp_buf_add(out, text, len);
		at += len;
	}
	sp_buf_addc(out, '\n');
}

/* A state and its reason in lines of their own; a reason that was given before is not repeated. */
static void add_reason(struct sp_buf *out, const struct table *t, const struct kept *row)
{
	SP_AUTO_BUF struct sp_buf text;
	const struct kept *first = t->rows;

	while (strcmp(first->note, row->note) != 0 || first->state != row->state)
		first++;
	sp_buf_init(&text);
	sp_buf_addf(&text, "%s: %s%s", state_names[row->state],
		first == row ? "" : "the same as for ", first == row ? row->note : first->name);
	sp_buf_addf(out, "%*s", NOTE_AT, "");
	add_wrapped(out, sp_buf_str(&text), NOTE_AT, NOTE_AT);
}

/* One row: on one line if it fits. */
static void add_single(struct sp_buf *out, const struct table *t, const struct kept *row)
{
	const char *note = row->note[0] ? row->note : row->help;

	if (row->note[0] && HELP_AT + strlen(note) > WIDTH) {
		sp_buf_addf(out, "%*s%s\n", NAME_AT, "", row->name);
		add_reason(out, t, row);
		return;
	}
	sp_buf_addf(out, "%*s%-24s %s", NAME_AT, "", row->name, state_names[row->state]);
	if (note[0])
		sp_buf_addf(out, "%*s", 11 - (int)strlen(state_names[row->state]), "");
	add_wrapped(out, note, HELP_AT, HELP_AT);
}

/* Rows that share their reason: the names, then the reason once. */
static void add_group(struct sp_buf *out, const struct table *t, const struct kept *row, size_t n)
{
	SP_AUTO_BUF struct sp_buf names;

	sp_buf_init(&names);
	for (size_t i = 0; i < n; i++)
		sp_buf_addf(&names, "%s%s", row[i].name, i + 1 < n ? ", " : "");
	sp_buf_addf(out, "%*s", NAME_AT, "");
	add_wrapped(out, sp_buf_str(&names), NAME_AT, NAME_AT);
	add_reason(out, t, row);
}

static void show_text(const struct table *t, struct sp_buf *out)
{
	for (size_t i = 0, n; i < t->n; i += n) {
		const struct kept *row = &t->rows[i];
		const char *heading = sp_probe_group_name(row->group);

		if (i == 0 || row[-1].group != row->group)
			sp_buf_addf(out, "%s%s:\n", i ? "\n" : "", heading ? heading : "others");
		for (n = 1; i + n < t->n && row[n].group == row->group && row->note[0] &&
			    row[n].state == row->state && strcmp(row[n].note, row->note) == 0;
			n++)
			;
		if (n > 1)
			add_group(out, t, row, n);
		else
			add_single(out, t, row);
	}
}

static void show_json(const struct table *t, struct sp_buf *out)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct kept *row = &t->rows[i];
		const char *heading = sp_probe_group_name(row->group);

		sp_buf_adds(out, i ? ",\n {\"event\": " : "[{\"event\": ");
		sp_safe_print_json(out, row->name);
		sp_buf_adds(out, ", \"group\": ");
		sp_safe_print_json(out, heading ? heading : "others");
		sp_buf_addf(out, ", \"state\": \"%s\", \"note\": ", state_names[row->state]);
		sp_safe_print_json(out, row->note);
		sp_buf_adds(out, ", \"help\": ");
		sp_safe_print_json(out, row->help);
		sp_buf_addc(out, '}');
	}
	sp_buf_adds(out, t->n ? "]\n" : "[]\n");
}

/* What a stranger sent, safe to show. */
static void keep_text(const char *text, char *ret, size_t size)
{
	SP_AUTO_BUF struct sp_buf safe;

	sp_buf_init(&safe);
	sp_safe_print_text(&safe, text, 0);
	snprintf(ret, size, "%s", sp_buf_str(&safe));
}

static int add_row(void *ctx, const struct sp_probe_row *row)
{
	struct table *t = ctx;
	struct kept *k;
	bool built;

	if (sp_grow(&t->rows, &t->cap, t->n, sizeof(*t->rows), 64) < 0)
		return -ENOMEM;
	k = &t->rows[t->n++];
	*k = (struct kept){.group = row->group, .state = row->state};
	keep_text(row->name, k->name, sizeof(k->name));
	keep_text(row->note, k->note, sizeof(k->note));
	k->help = help_of(row->name, &built);
	if (!built) {
		k->state = SP_PROBE_NO;
		snprintf(k->note, sizeof(k->note), "not built yet");
	}
	return 0;
}

/* Rows from the agent: numbers of a stranger are checked before they are used. */
static int ask_agent(struct sp_link *l, struct table *t, struct sp_err *err)
{
	struct sp_msg m;
	int r = sp_link_ask(l, &(struct sp_msg){.type = SP_MSG_PROBE}, NULL, 0, &m, err);

	while (r == 0 && m.type == SP_MSG_ROW) {
		struct sp_probe_row row = {(enum sp_probe_group)m.num[0],
			(enum sp_probe_state)m.num[1], m.text[0], m.text[1]};

		if (m.num[0] >= SP_PROBE_GROUPS || m.num[1] >= SP_PROBE_STATES || t->n > 10000)
			return sp_err_set(
				err, -EBADMSG, "pid %d: the agent's table is damaged", (int)l->pid);
		if (add_row(t, &row) < 0)
			return sp_err_set(err, -ENOMEM, "out of memory");
		r = sp_link_next(l, &m, sp_clock_mono_ns() + 10000000000ull, err);
	}
	if (r == 0 && m.type != SP_MSG_PROBED)
		return sp_err_set(err, -EBADMSG, "pid %d: the agent sent no table", (int)l->pid);
	return r;
}

/* Nothing is loaded into a Python: what can be had of it does not depend on where it runs. */
static int add_python_row(void *ctx, const struct sp_probe_row *row)
{
	struct sp_probe_row r = *row;
	bool timer = strcmp(r.name, "ctimer") == 0 || strcmp(r.name, "itimer") == 0;

	r.state = SP_PROBE_YES;
	r.note = "";
	if (timer || strcmp(r.name, "cpu") == 0) {
		r.note = timer ? "the same as cpu" : "time on CPU, looked at from outside";
	} else if (strcmp(r.name, "wall") != 0) {
		r.state = SP_PROBE_NO;
		r.note = "it is a Python process: only cpu and wall can be sampled";
	}
	return add_row(ctx, &r);
}

static int probe_target(const struct sp_call *call, struct table *t, struct sp_err *err)
{
	SP_AUTO_CLOSE int procfd = sp_proc_root();
	SP_AUTO_TARGETS struct sp_targets targets = {0};
	struct sp_link link;
	int r = sp_target_resolve(procfd, call->targets, call->n_targets, &targets, err);

	if (r < 0)
		return r;
	if (targets.n != 1)
		return sp_err_set(err, -EINVAL, "list takes one target, and %s is %zu processes",
			call->targets[0], targets.n);
	if (sp_pyrun_is(&targets.list[0]))
		return sp_probe_run(add_python_row, t);
	sp_guest_lower_priority(targets.list[0].pid);
	r = sp_link_open(&link, targets.list[0].pid, call->attach_timeout_ns, err);
	if (r < 0)
		return r;
	r = ask_agent(&link, t, err);
	sp_link_close(&link);
	return r;
}

int sp_cmd_list(const struct sp_call *call)
{
	SP_AUTO_BUF struct sp_buf out;
	struct table t = {0};
	struct sp_err err = {"out of memory"};
	int code = SP_EXIT_DONE;
	int r = call->n_targets ? probe_target(call, &t, &err) : sp_probe_run(add_row, &t);

	sp_buf_init(&out);
	if (r == 0)
		(call->json ? show_json : show_text)(&t, &out);
	free(t.rows);
	if (r < 0) {
		sp_message_error("%s", err.text);
		code = sp_link_exit_code(r);
	} else if (fputs(sp_buf_str(&out), stdout) < 0 || fflush(stdout)) {
		sp_message_error("list: cannot write to stdout");
		code = SP_EXIT_FAILED;
	}
	return code;
}
