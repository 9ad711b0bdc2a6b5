/* sparkprof status TARGET…: gets in, asks the agent what it does, lets go. */
#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/safe_print.h"
#include "discover/target.h"
#include "proc/proc.h"
#include "run/agent_link.h"
#include "run/py_run.h"

#include <stdio.h>
#include <string.h>

/* The value of @word in the agent's options, and its length; NULL: they have no such word. Commas
 * inside of a value have a backslash. */
static const char *find_word(const char *options, const char *word, size_t *ret_len)
{
	for (const char *p = options; *p;) {
		const char *end = p;

		while (*end && (*end != ',' || (end > p && end[-1] == '\\')))
			end++;
		if (strncmp(p, word, strlen(word)) == 0) {
			*ret_len = (size_t)(end - p) - strlen(word);
			return p + strlen(word);
		}
		p = end + (*end == ',');
	}
	return NULL;
}

/* What is sampled, as the user named it: the agent's own word for "nothing but hooks" is none. */
static void list_events(const char *options, struct sp_buf *ret)
{
	static const struct {
		const char *word, *name;
	} others[] = {{"wall=", "wall"}, {"alloc=", "alloc"}, {"live", "live"}, {"lock=", "lock"},
		{"nativemem=", "nativemem"}, {"methods=", NULL}, {"trace=", "trace"}};
	static const char *const hooks[] = {"alloc", "live", "lock", "nativemem", "calls", "trace"};
	size_t len = 3;
	const char *event = find_word(options, "event=", &len);
	bool hook = false;

	event = event ? event : "cpu";
	for (size_t i = 0; i < SP_COUNT(hooks); i++)
		hook |= strlen(hooks[i]) == len && strncmp(hooks[i], event, len) == 0;
	if (!hook)
		sp_buf_add(ret, event, len);
	for (size_t i = 0; i < SP_COUNT(others); i++) {
		const char *value = find_word(options, others[i].word, &len);
		size_t unused;

		if (!value || (i == 1 && find_word(options, "live", &unused) &&
				      !find_word(options, "allocs", &unused)))
			continue;
		if (ret->len)
			sp_buf_adds(ret, ", ");
		if (others[i].name)
			sp_buf_adds(ret, others[i].name);
		else
			sp_buf_add(ret, value, len);
	}
}

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
	const char *rest = m->text[3], *path;
	char when[40];
	size_t len, n = 0;

	while ((path = next_path(rest, &len, &rest))) {
		char copy[512];

		snprintf(copy, sizeof(copy), "%.*s", (int)len, path);
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
	char when[40];

	sp_buf_addf(out, "pid %d, JDK ", (int)l->pid);
	sp_safe_print_text(out, l->jdk[0] ? l->jdk : "unknown", 0);
	if (!m->num[0]) {
		sp_buf_adds(out, ": nothing is being recorded\n");
		return;
	}
	/* Of another build's recording nothing is known but who and since when. */
	if (m->text[1][0])
		list_events(m->text[1], &events);
	sp_buf_adds(out, events.len ? ": recording " : ": recording");
	sp_safe_print_text(out, sp_buf_str(&events), 0);
	sp_buf_addf(out, " since %s, by ", sp_link_when(m->num[2], when));
	sp_safe_print_text(out, m->text[0], 0);
	sp_buf_adds(out, m->num[1] ? " (goes on by itself)" : "");
	if (m->text[1][0])
		print_counts(out, m->num + SP_STATE_PROGRESS);
	sp_buf_addc(out, '\n');
	print_where(out, m);
	if (m->text[2][0]) {
		sp_buf_adds(out, "  ");
		sp_safe_print_text(out, m->text[2], 0);
		sp_buf_addc(out, '\n');
	}
}

static void json_text(struct sp_buf *out, const char *key, const char *value)
{
	sp_buf_addf(out, ", \"%s\": ", key);
	sp_safe_print_json(out, value);
}

static void json_where(struct sp_buf *out, const struct sp_msg *m)
{
	const char *rest = m->text[3], *path, *before = "";
	char when[40];
	size_t len;

	sp_buf_adds(out, ", \"files\": [");
	for (; (path = next_path(rest, &len, &rest)); before = ", ") {
		char copy[512];

		snprintf(copy, sizeof(copy), "%.*s", (int)len, path);
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
	static const char *const names[SP_PROGRESS_NUMS] = {
		"samples", "lost", "truncated", "unknown", "bytes"};
	char when[40];

	sp_buf_addf(out, "%s{\"pid\": %d", out->len > 1 ? ",\n " : "", (int)l->pid);
	json_text(out, "jdk", l->jdk);
	sp_buf_addf(out, ", \"recording\": %s", m->num[0] ? "true" : "false");
	if (m->num[0]) {
		json_text(out, "since", sp_link_when(m->num[2], when));
		json_text(out, "by", m->text[0]);
		json_text(out, "options", m->text[1]);
		list_events(m->text[1], &events);
		json_text(out, "events", sp_buf_str(&events));
		json_where(out, m);
		if (m->text[2][0])
			json_text(out, "note", m->text[2]);
		sp_buf_addf(out, ", \"detached\": %s", m->num[1] ? "true" : "false");
		for (int i = 0; i < SP_PROGRESS_NUMS; i++)
			sp_buf_addf(out, ", \"%s\": %llu", names[i],
				(unsigned long long)m->num[SP_STATE_PROGRESS + i]);
	}
	sp_buf_addc(out, '}');
}

static int one(const struct sp_call *call, const struct sp_jvm *target, struct sp_buf *out)
{
	pid_t pid = target->pid;
	struct sp_link link;
	struct sp_msg state;
	struct sp_err err;
	int r;

	if (sp_pyrun_is(target)) {
		sp_message_error("pid %d: is a Python: nothing stays in it that could record; "
				 "'collect' does, for as long as it runs itself",
			(int)pid);
		return SP_EXIT_TARGET;
	}
	sp_guest_lower_priority(pid);
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
		int c = one(call, &targets.list[i], &out);

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
