/* Help: see help.h. */
#include "help.h"

#include "base/cleanup.h"
#include "option_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 28, WIDTH = 96, HEAD = 160 };

static const char usage[] = "Usage: sparkprof [ACTION] [OPTIONS] TARGET…\n";

static const char targets[] = "Targets: a pid; driver; executor (the only one); executor:ID; "
			      "executors (all on this host);\n"
			      "an application id; APPID/ID; else part of a main class name. '--' "
			      "before a target that is\n"
			      "spelled like an action or option.\n";

static const char example[] = "Example: sparkprof -e wall -d 30 -f out.jfr executor\n";

/* How an action is called: its usage behind "sparkprof", and two calls. */
static const struct {
	const char *usage, *examples[2];
} calls[SP_ACTION_COUNT] = {
	[SP_ACTION_COLLECT] = {"[collect] [OPTIONS] TARGET…",
		{"sparkprof -e wall -d 30 -f out.html executor:3",
			"sparkprof -e wall -d 30 -f {{EXECUTOR_ID}}.jfr executors"}},
	[SP_ACTION_START] = {"start [OPTIONS] TARGET…",
		{"sparkprof start -e wall -f /tmp/out.jfr executor:3",
			"sparkprof start -e cpu --alloc 2m --timeout 2h -f /tmp/%p.jfr executors"}},
	[SP_ACTION_STOP] = {"stop [OPTIONS] TARGET…",
		{"sparkprof stop executor:3", "sparkprof stop -f out.html executor:3"}},
	[SP_ACTION_DUMP] = {"dump [OPTIONS] TARGET…",
		{"sparkprof dump executor:3", "sparkprof dump --stage 5 -f now.html executor:3"}},
	[SP_ACTION_RESUME] = {"resume [OPTIONS] TARGET…",
		{"sparkprof resume -f /tmp/out.jfr executor:3",
			"sparkprof resume --timeout 10m -f /tmp/out.jfr driver"}},
	[SP_ACTION_STATUS] = {"status [OPTIONS] TARGET…",
		{"sparkprof status executors", "sparkprof status --json driver"}},
	[SP_ACTION_METRICS] = {"metrics [OPTIONS] TARGET…",
		{"sparkprof metrics executors", "sparkprof metrics -q driver"}},
	[SP_ACTION_LIST] = {"list [OPTIONS] [TARGET]",
		{"sparkprof list", "sparkprof list executor:3"}},
	[SP_ACTION_PS] = {"ps [OPTIONS]", {"sparkprof ps", "sparkprof ps --json"}},
	[SP_ACTION_STACK] = {"stack [OPTIONS] TARGET",
		{"sparkprof stack executor:3",
			"sparkprof stack --all --thread 'shuffle*' executor:3"}},
	[SP_ACTION_REPORT] = {"report [OPTIONS] FILE…",
		{"sparkprof report --stage 5 -f slow.html out.jfr",
			"sparkprof report --by wait -f app.html application_1410901177871_0001"}},
	[SP_ACTION_DIFF] = {"diff [OPTIONS] BASE NEW",
		{"sparkprof diff before.jfr after.jfr",
			"sparkprof diff -e cpu -f change.html before.jfr after.jfr"}},
	[SP_ACTION_VERSION] = {"version", {"sparkprof version", "sparkprof -v"}},
};

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

/* What is too wide goes on below, behind a |. Returns the last line's width. */
static size_t add_head(struct sp_buf *b, const char *head)
{
	size_t at = strlen(head), n = WIDTH;

	if (at <= WIDTH)
		sp_buf_adds(b, head);
	while (at > WIDTH && n > 0 && head[n - 1] != '|')
		n--;
	if (at <= WIDTH || n == 0)
		return at;
	sp_buf_add(b, head, n);
	sp_buf_addf(b, "\n%*s%s", INDENT, "", head + n);
	return INDENT + at - n;
}

static void add_row(struct sp_buf *b, const char *head, const char *text)
{
	size_t at = add_head(b, head);

	if (at + 2 > INDENT) {
		sp_buf_addc(b, '\n');
		at = 0;
	}
	add_wrapped(b, text, at);
}

static void option_head(const struct sp_option *o, char *buf, size_t len)
{
	char letter[8] = "    ";
	const char *eq = o->kind == SP_OPTION_KIND_HELP ? "[=" : o->value[0] ? "=" : "";

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	snprintf(buf, len, "  %s--%s%s%s%s", letter, o->name, eq, o->value,
		o->kind == SP_OPTION_KIND_HELP ? "]" : "");
}

static void add_option(struct sp_buf *b, const struct sp_option *o)
{
	char head[HEAD], text[320];
	bool show = o->fallback[0] && o->kind != SP_OPTION_KIND_FILE;

	option_head(o, head, sizeof(head));
	snprintf(text, sizeof(text), "%s%s%s%s", o->help, show ? " (default " : "",
		show ? o->fallback : "", show ? ")" : "");
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
		sp_buf_adds(b, "All options: --help. One of them: --help=OPTION. Of an action: "
			       "report -h.\n");
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
	char head[HEAD];

	if (!o) {
		near = sp_option_nearest(topic, strlen(topic));
		return sp_err_set(err, -EINVAL, "--help: '%s' is not an option%s%s", topic,
			near ? "; did you mean --" : "; --help lists them", near ? near->name : "");
	}
	if (o->state == SP_OPTION_FOREIGN) {
		sp_buf_addf(b, "--%s is not an option of sparkprof: %s\n", o->name, o->help);
		return 0;
	}
	if (o->state == SP_OPTION_ALWAYS) {
		sp_buf_addf(b, "--%s is taken, but not needed: %s\n", o->name, o->help);
		return 0;
	}
	option_head(o, head, sizeof(head));
	sp_buf_addf(b, "%s\n  %s.\n", head, o->help);
	if (o->least[0])
		sp_buf_addf(b, "  From %s to %s.\n", o->least, o->most);
	if (o->fallback[0])
		sp_buf_addf(b, "  Default: %s.\n", o->fallback);
	add_taken_by(b, o);
	return 0;
}

/* Headings of groups in which the action takes nothing are left out. */
static void add_options_of(struct sp_buf *b, enum sp_action action)
{
	size_t n;
	const struct sp_option *o = sp_option_table(&n);
	const char *heading = NULL;

	for (const struct sp_option *end = o + n; o < end; o++) {
		if (o->state == SP_OPTION_GROUP)
			heading = o->name;
		if (o->state != SP_OPTION_BUILT || !(o->actions & 1u << action))
			continue;
		if (heading)
			sp_buf_addf(b, "\n%s\n", heading);
		heading = NULL;
		add_option(b, o);
	}
}

/* "prints X" becomes "Prints X.": a sentence of its own. */
static void add_sentence(struct sp_buf *b, const char *text)
{
	char first = (char)(text[0] >= 'a' && text[0] <= 'z' ? text[0] - 'a' + 'A' : text[0]);

	sp_buf_addf(b, "%c%s.\n", first, text + (text[0] != 0));
}

static void write_action(enum sp_action action, struct sp_buf *b)
{
	sp_buf_addf(b, "Usage: sparkprof %s\n", calls[action].usage);
	add_sentence(b, sp_action_info(action)->help);
	add_options_of(b, action);
	sp_buf_addf(b, "\nExamples\n  %s\n  %s\n", calls[action].examples[0],
		calls[action].examples[1]);
}

const char *sp_help_example(enum sp_action action, unsigned n)
{
	return n < SP_COUNT(calls[action].examples) ? calls[action].examples[n] : NULL;
}

int sp_help_write(const struct sp_call *call, struct sp_buf *ret_text, struct sp_err *err)
{
	bool whole = call->help == SP_HELP_WHOLE;

	if (call->help == SP_HELP_ONE)
		return write_one(call->help_topic, ret_text, err);
	if (call->help == SP_HELP_ACTION && !sp_action_info(call->action)->refused) {
		write_action(call->action, ret_text);
		return 0;
	}
	sp_buf_adds(ret_text, usage);
	add_actions(ret_text);
	add_options(ret_text, whole);
	add_rest(ret_text, whole);
	return 0;
}
