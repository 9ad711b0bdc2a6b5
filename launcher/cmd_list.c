/* sparkprof list [TARGET]: every event, and why one is not to be had. Without a target it is probed
 * in this process; with one inside the target, by the agent, with the target's own permissions. */
#include "command.h"
#include "event.h"
#include "message.h"
#include "proc.h"
#include "session.h"
#include "show.h"
#include "target.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "probe/probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct table {
	struct sp_buf out;
	bool json;
	int rows, group; /* group of the last row, -1 at first */
};

static const char *const state_names[SP_PROBE_STATES] = {"available", "limited", "no"};

static const char *help_of(const char *name, bool *ret_built)
{
	const struct sp_event_info *e;
	size_t n;

	*ret_built = true;
	e = sp_event_table(&n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(e[i].name, name) == 0) {
			*ret_built = e[i].built;
			return e[i].help;
		}
	return "";
}

static void add_text(struct table *t, const struct sp_probe_row *r, const char *help)
{
	const char *heading = sp_probe_group_name(r->group);
	size_t n;

	if ((int)r->group != t->group)
		sp_buf_addf(&t->out, "%s%s:\n", t->rows ? "\n" : "", heading ? heading : "others");
	sp_buf_adds(&t->out, "  ");
	n = sp_show_text(&t->out, r->name, 40);
	sp_buf_addf(&t->out, "%*s %-10s", n < 24 ? (int)(24 - n) : 0, "", state_names[r->state]);
	if (r->note[0] || help[0])
		sp_buf_addc(&t->out, ' ');
	sp_show_text(&t->out, r->note[0] ? r->note : help, 0);
	sp_buf_addc(&t->out, '\n');
}

static void add_json(struct table *t, const struct sp_probe_row *r, const char *help)
{
	const char *heading = sp_probe_group_name(r->group);

	sp_buf_adds(&t->out, t->rows ? ",\n {\"event\": " : "[{\"event\": ");
	sp_show_json(&t->out, r->name);
	sp_buf_adds(&t->out, ", \"group\": ");
	sp_show_json(&t->out, heading ? heading : "others");
	sp_buf_addf(&t->out, ", \"state\": \"%s\", \"note\": ", state_names[r->state]);
	sp_show_json(&t->out, r->note);
	sp_buf_adds(&t->out, ", \"help\": ");
	sp_show_json(&t->out, help);
	sp_buf_addc(&t->out, '}');
}

static int add_row(void *ctx, const struct sp_probe_row *row)
{
	struct table *t = ctx;
	struct sp_probe_row r = *row;
	const char *help;
	bool built;

	help = help_of(r.name, &built);
	if (!built) {
		r.state = SP_PROBE_NO;
		r.note = "not built yet";
	}
	(t->json ? add_json : add_text)(t, &r, help);
	t->group = (int)r.group;
	t->rows++;
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

		if (m.num[0] >= SP_PROBE_GROUPS || m.num[1] >= SP_PROBE_STATES || t->rows > 10000)
			return sp_err_set(
				err, -EBADMSG, "pid %d: the agent's table is damaged", (int)l->pid);
		add_row(t, &row);
		r = sp_link_next(l, &m, sp_clock_mono_ns() + 10000000000ull, err);
	}
	if (r == 0 && m.type != SP_MSG_PROBED)
		return sp_err_set(err, -EBADMSG, "pid %d: the agent sent no table", (int)l->pid);
	return r;
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
	sp_guest_be_modest(targets.list[0].pid);
	r = sp_link_open(&link, targets.list[0].pid, call->attach_timeout_ns, err);
	if (r < 0)
		return r;
	r = ask_agent(&link, t, err);
	sp_link_close(&link);
	return r;
}

int sp_cmd_list(const struct sp_call *call)
{
	struct table t = {.json = call->json, .group = -1};
	struct sp_err err;
	int code = SP_EXIT_DONE;
	int r;

	sp_buf_init(&t.out);
	r = call->n_targets ? probe_target(call, &t, &err) : sp_probe_run(add_row, &t);
	if (r < 0) {
		sp_message_error("%s", err.text);
		code = sp_link_exit_code(r);
	} else {
		if (t.json)
			sp_buf_adds(&t.out, "]\n");
		if (fputs(sp_buf_str(&t.out), stdout) < 0 || fflush(stdout)) {
			sp_message_error("list: cannot write to stdout");
			code = SP_EXIT_FAILED;
		}
	}
	sp_buf_done(&t.out);
	return code;
}
