/* Help: see help.h. */
#include "help.h"

#include "option_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 28, WIDTH = 96 };

static const char usage[] = "Usage: sparkprof [ACTION] [OPTIONS] TARGET…\n";

static const char targets[] = "Targets: a pid; driver; executor (the only one); executor:ID; "
			      "executors (all on this host);\n"
			      "an application id; APPID/ID; else part of a main class name. '--' "
			      "before a target that is\n"
			      "spelled like an action or option.\n";

static const char example[] = "Example: sparkprof -e wall -d 30 -f out.jfr executor\n";

/* Appends @text as words, broken before WIDTH and indented, beginning at column @at. */
static void add_wrapped(struct sp_buf *b, const char *text, size_t at)
{
	while (at < INDENT) {
		sp_buf_addc(b, ' ');
		at++;
	}
	for (bool first = true;; first = false) {
		size_t n = strcspn(text, " ");

		if (!first && at + 1 + n > WIDTH) {
			sp_buf_addf(b, "\n%*s", INDENT, "");
			at = INDENT;
		} else if (!first) {
			sp_buf_addc(b, ' ');
			at++;
		}
		sp_buf_add(b, text, n);
		at += n;
		if (!text[n])
			break;
		text += n + 1;
	}
	sp_buf_addc(b, '\n');
}

static void add_row(struct sp_buf *b, const char *head, const char *text)
{
	size_t at = strlen(head);

	sp_buf_adds(b, head);
	if (at + 2 > INDENT) {
		sp_buf_addc(b, '\n');
		at = 0;
	}
	add_wrapped(b, text, at);
}

static void option_head(const struct sp_option *o, char *buf, size_t len)
{
	char letter[8] = "    ";
	const char *eq = o->kind == SP_KIND_HELP ? "[=" : o->value[0] ? "=" : "";

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	snprintf(buf, len, "  %s--%s%s%s%s", letter, o->name, eq, o->value,
		o->kind == SP_KIND_HELP ? "]" : "");
}

static void add_option(struct sp_buf *b, const struct sp_option *o)
{
	char head[96], text[320];
	bool tell = o->fallback[0] && o->kind != SP_KIND_FILE;

	option_head(o, head, sizeof(head));
	snprintf(text, sizeof(text), "%s%s%s%s", o->help, tell ? " (default " : "",
		tell ? o->fallback : "", tell ? ")" : "");
	add_row(b, head, text);
}

static void add_actions(struct sp_buf *b)
{
	sp_buf_adds(b, "\nActions\n");
	for (int i = 0; i < SP_ACTION_COUNT; i++) {
		const struct sp_action_info *a = sp_action_info((enum sp_action)i);
		char head[32];

		if (a->refused)
			continue;
		snprintf(head, sizeof(head), "  %s", a->name);
		add_row(b, head, a->help);
	}
}

/* The short help holds the options with a letter that users know; the whole one all. */
static void add_options(struct sp_buf *b, bool whole)
{
	size_t n;
	const struct sp_option *o = sp_option_table(&n);

	if (!whole)
		sp_buf_adds(b, "\nOptions\n");
	for (const struct sp_option *end = o + n; o < end; o++) {
		if (o->state == SP_OPTION_GROUP && whole)
			sp_buf_addf(b, "\n%s\n", o->name);
		else if (o->state == SP_OPTION_BUILT && (whole || o->letter))
			add_option(b, o);
	}
}

static void add_rest(struct sp_buf *b, bool whole)
{
	sp_buf_addf(b, "\n%s\n%s", targets, example);
	if (whole)
		sp_buf_adds(b,
			"Exit codes: 0 done; 1 failed; 2 wrong call; 3 target or permission; "
			"4 done, but the target\ndied before the end.\n");
	else
		sp_buf_adds(b, "All options: --help. One of them: --help=OPTION.\n");
}

static const struct sp_option *find_topic(const char *topic)
{
	size_t dashes = strspn(topic, "-"), len = strlen(topic) - dashes;

	return len == 1 ? sp_option_find_letter(topic[dashes])
			: sp_option_find(topic + dashes, len);
}

static void add_taken_by(struct sp_buf *b, const struct sp_option *o)
{
	const char *sep = "  With: ";

	for (int i = 0; i < SP_ACTION_COUNT; i++) {
		const struct sp_action_info *a = sp_action_info((enum sp_action)i);

		if (a->refused || !(o->actions & 1u << i))
			continue;
		sp_buf_addf(b, "%s%s", sep, a->name);
		sep = ", ";
	}
	sp_buf_adds(b, ".\n");
}

static int write_one(const char *topic, struct sp_buf *b, struct sp_err *err)
{
	const struct sp_option *o = find_topic(topic), *near;
	char head[96];

	if (!o) {
		near = sp_option_nearest(topic, strlen(topic));
		return sp_err_set(err, -EINVAL, "--help: '%s' is not an option%s%s", topic,
			near ? "; did you mean --" : "; --help lists them", near ? near->name : "");
	}
	if (o->state == SP_OPTION_FOREIGN) {
		sp_buf_addf(b, "--%s is not an option of sparkprof: %s\n", o->name, o->help);
		return 0;
	}
	option_head(o, head, sizeof(head));
	sp_buf_addf(b, "%s\n  %s%s.\n", head, o->help,
		o->state == SP_OPTION_LATER ? "; not built yet" : "");
	if (o->least[0])
		sp_buf_addf(b, "  From %s to %s.\n", o->least, o->most);
	if (o->fallback[0])
		sp_buf_addf(b, "  Default: %s.\n", o->fallback);
	add_taken_by(b, o);
	return 0;
}

int sp_help_write(const struct sp_call *call, struct sp_buf *ret_text, struct sp_err *err)
{
	bool whole = call->help == SP_HELP_WHOLE;

	if (call->help == SP_HELP_ONE)
		return write_one(call->help_topic, ret_text, err);
	sp_buf_adds(ret_text, usage);
	add_actions(ret_text);
	add_options(ret_text, whole);
	add_rest(ret_text, whole);
	return 0;
}
