/* sparkprof status TARGET…: gets in, asks the agent what it does, lets go. */
#include "command.h"
#include "message.h"
#include "proc.h"
#include "session.h"
#include "show.h"
#include "target.h"
#include "base/cleanup.h"

#include <stdio.h>

static void print_text(struct sp_buf *out, const struct sp_link *l, const struct sp_msg *m)
{
	const uint64_t *n = m->num + SP_STATE_PROGRESS;
	char when[40];

	sp_buf_addf(out, "pid %d, JDK ", (int)l->pid);
	sp_show_text(out, l->jdk[0] ? l->jdk : "unknown", 0);
	if (!m->num[0]) {
		sp_buf_adds(out, ": nothing is being recorded\n");
		return;
	}
	sp_buf_addf(out, ": recording since %s, by ", sp_session_when(m->num[2], when));
	sp_show_text(out, m->text[0], 0);
	sp_buf_adds(out, m->num[1] ? " (goes on by itself): " : ": ");
	sp_buf_addf(out, "%llu samples, %llu lost, %llu truncated, %llu unknown\n",
		(unsigned long long)n[SP_PROGRESS_SAMPLES], (unsigned long long)n[SP_PROGRESS_LOST],
		(unsigned long long)n[SP_PROGRESS_TRUNCATED],
		(unsigned long long)n[SP_PROGRESS_UNKNOWN]);
	if (m->text[2][0]) {
		sp_buf_adds(out, "  ");
		sp_show_text(out, m->text[2], 0);
		sp_buf_addc(out, '\n');
	}
}

static void json_text(struct sp_buf *out, const char *key, const char *value)
{
	sp_buf_addf(out, ", \"%s\": ", key);
	sp_show_json(out, value);
}

static void print_json(struct sp_buf *out, const struct sp_link *l, const struct sp_msg *m)
{
	static const char *const names[SP_PROGRESS_NUMS] = {
		"samples", "lost", "truncated", "unknown", "bytes"};
	char when[40];

	sp_buf_addf(out, "%s{\"pid\": %d", out->len > 1 ? ",\n " : "", (int)l->pid);
	json_text(out, "jdk", l->jdk);
	sp_buf_addf(out, ", \"recording\": %s", m->num[0] ? "true" : "false");
	if (m->num[0]) {
		json_text(out, "since", sp_session_when(m->num[2], when));
		json_text(out, "by", m->text[0]);
		json_text(out, "options", m->text[1]);
		sp_buf_addf(out, ", \"detached\": %s", m->num[1] ? "true" : "false");
		for (int i = 0; i < SP_PROGRESS_NUMS; i++)
			sp_buf_addf(out, ", \"%s\": %llu", names[i],
				(unsigned long long)m->num[SP_STATE_PROGRESS + i]);
	}
	sp_buf_addc(out, '}');
}

static int one(const struct sp_call *call, pid_t pid, struct sp_buf *out)
{
	struct sp_link link;
	struct sp_msg state;
	struct sp_err err;
	int r;

	sp_guest_be_modest(pid);
	r = sp_link_open(&link, pid, call->attach_timeout_ns, &err);
	if (r == 0) {
		r = sp_link_ask(
			&link, &(struct sp_msg){.type = SP_MSG_STATUS}, NULL, 0, &state, &err);
		if (r == 0)
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
	struct sp_err err;
	int code = SP_EXIT_DONE;
	int r = sp_target_resolve(procfd, call->targets, call->n_targets, &targets, &err);

	sp_buf_init(&out);
	if (r < 0) {
		sp_message_error("%s", err.text);
		return sp_link_exit_code(r);
	}
	if (call->json)
		sp_buf_addc(&out, '[');
	for (size_t i = 0; i < targets.n; i++) {
		int c = one(call, targets.list[i].pid, &out);

		code = c != SP_EXIT_DONE ? c : code;
	}
	if (call->json)
		sp_buf_adds(&out, "]\n");
	if (fputs(sp_buf_str(&out), stdout) < 0 || fflush(stdout)) {
		sp_message_error("status: cannot write to stdout");
		return SP_EXIT_FAILED;
	}
	return code;
}
