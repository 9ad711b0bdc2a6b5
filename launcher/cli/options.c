/* The parser of the command line: see options.h. It walks argv once; options_validate.c then checks
 * the call as a whole. */
#include "options.h"

#include "base/name_template.h"
#include "event_names.h"
#include "option_value.h"
#include "parser.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void remember(struct sp_pending *p, const char *spelled, const char *text)
{
	p->text = text;
	snprintf(p->spelled, sizeof(p->spelled), "%s", spelled);
}

int sp_parser_add_event(struct sp_parser *p, const char *spelled, const char *name, size_t len)
{
	struct sp_call *call = p->call;
	struct sp_call_event *e = &call->events[call->n_events];

	if (call->n_events == SP_CALL_MAX_EVENTS)
		return sp_err_set(
			p->err, -EINVAL, "%s: at most %d events", spelled, SP_CALL_MAX_EVENTS);
	if (len >= sizeof(e->name))
		return sp_err_set(
			p->err, -EINVAL, "%s: '%.20s…' is too long for an event", spelled, name);
	memcpy(e->name, name, len);
	e->name[len] = '\0';
	e->interval = 0;
	e->given = false;
	if (!len)
		return sp_err_set(p->err, -EINVAL, "%s: is empty; write an event", spelled);
	for (size_t i = 0; i < call->n_events; i++) {
		if (strcmp(call->events[i].name, e->name) == 0)
			return sp_err_set(p->err, -EINVAL, "%s: '%s' is given twice; omit one",
				spelled, e->name);
	}
	call->n_events++;
	return 0;
}

static int add_events(struct sp_parser *p, const char *spelled, const char *text)
{
	p->last_event = p->call->n_events;
	for (;;) {
		size_t len = strcspn(text, ",");
		int r = sp_parser_add_event(p, spelled, text, len);

		if (r < 0)
			return r;
		if (!text[len])
			return 0;
		text += len + 1;
	}
}

static void add_interval(struct sp_parser *p, const char *spelled, const char *text)
{
	if (p->call->n_events == 0)
		remember(&p->any_interval, spelled, text);
	for (size_t i = p->last_event; i < p->call->n_events; i++)
		remember(&p->interval[i], spelled, text);
}

static int add_file(struct sp_parser *p, const char *spelled, const char *path)
{
	struct sp_call *call = p->call;
	int r;

	if (!*path)
		return sp_err_set(p->err, -EINVAL, "%s: is empty; write a file name", spelled);
	if (call->n_outputs == SP_CALL_MAX_OUTPUTS)
		return sp_err_set(
			p->err, -EINVAL, "%s: at most %d files", spelled, SP_CALL_MAX_OUTPUTS);
	for (size_t i = 0; i < call->n_outputs; i++) {
		if (strcmp(call->outputs[i].path, path) == 0)
			return sp_err_set(p->err, -EINVAL, "%s: '%s' is given twice; omit one",
				spelled, path);
	}
	r = sp_name_template_check(path, p->err);
	if (r < 0)
		return sp_err_prefix(p->err, r, "%s", spelled);
	call->outputs[call->n_outputs++].path = path;
	return 0;
}

static int set_help(struct sp_parser *p, const char *spelled, const char *topic)
{
	p->done = true;
	if (!topic) {
		p->call->help = p->action_given	    ? SP_HELP_ACTION
				: spelled[1] == '-' ? SP_HELP_WHOLE
						    : SP_HELP_SHORT;
		return 0;
	}
	p->call->help = SP_HELP_ONE;
	p->call->help_topic = topic;
	return 0;
}

/* The last of the two counts. */
static void set_weight(struct sp_parser *p, const struct sp_option *o)
{
	if (strcmp(o->name, "total") == 0)
		p->call->samples = false;
	else if (strcmp(o->name, "samples") == 0)
		p->call->total = false;
}

static bool is_for_reports(const struct sp_option *o)
{
	return o->actions & (1u << SP_ACTION_REPORT | SP_OPTION_SHAPES) &&
	       !(o->actions & 1u << SP_ACTION_START);
}

static int take_option(
	struct sp_parser *p, const struct sp_option *o, const char *spelled, const char *value)
{
	const char *text = value ? value : "";

	if (p->call->n_given < SP_CALL_MAX_GIVEN)
		p->call->given[p->call->n_given++] = (struct sp_call_given){
			o->name, sp_option_takes_value(o) ? text : NULL, is_for_reports(o)};
	snprintf(p->spelled[o - p->rows], SP_PARSER_SPELLED, "%s", spelled);
	switch (o->kind) {
	case SP_OPTION_KIND_EVENT:
		return add_events(p, spelled, text);
	case SP_OPTION_KIND_INTERVAL:
		add_interval(p, spelled, text);
		return 0;
	case SP_OPTION_KIND_BESIDE_TIME:
	case SP_OPTION_KIND_BESIDE_SIZE:
		remember(&p->beside[o - p->rows], spelled, text);
		return 0;
	case SP_OPTION_KIND_FILE:
		return add_file(p, spelled, text);
	case SP_OPTION_KIND_FORMAT:
		return sp_parser_set_format(p, spelled, text);
	case SP_OPTION_KIND_HELP:
		return set_help(p, spelled, value);
	case SP_OPTION_KIND_VERSION:
		p->call->action = SP_ACTION_VERSION;
		p->done = true;
		return 0;
	default:
		set_weight(p, o);
		return sp_option_value_set(o, spelled, text, p->call, p->err);
	}
}

/* Whether an option may be taken at all. */
static int admit(
	struct sp_parser *p, const struct sp_option *o, const char *spelled, const char *value)
{
	if (o->state == SP_OPTION_FOREIGN)
		return sp_err_set(
			p->err, -EINVAL, "%s is not an option of sparkprof: %s", spelled, o->help);
	if (!value && sp_option_takes_value(o))
		return sp_err_set(p->err, -EINVAL, "%s: needs a value%s%s", spelled,
			o->value[0] ? ": " : "", o->value);
	return 0;
}

/* Is each word of @text, parted by commas or plus signs, among @known? */
static bool all_known(const char *text, const char *known)
{
	for (;; text++) {
		size_t len = strcspn(text, ",+");
		const char *at = known;

		while (*at && (strcspn(at, " ") != len || strncmp(at, text, len) != 0))
			at += strcspn(at, " ") + (at[strcspn(at, " ")] == ' ');
		if (!*at)
			return false;
		text += len;
		if (!*text)
			return true;
	}
}

/* What async-profiler has a word for and sparkprof does in any case. */
static int take_always(
	struct sp_parser *p, const struct sp_option *o, const char *spelled, const char *value)
{
	struct sp_call *call = p->call;

	if (o->value[0] && !all_known(value, o->value))
		return sp_err_set(p->err, -EINVAL,
			"%s: '%s' is not supported; these values are always on: %s", spelled, value,
			o->value);
	for (size_t i = 0; i < call->n_notes; i++)
		if (call->notes[i].name == o->name)
			return 0;
	if (call->n_notes < SP_CALL_MAX_NOTES)
		call->notes[call->n_notes++] = (struct sp_call_note){o->name, o->help};
	return 0;
}

int sp_parser_take(
	struct sp_parser *p, const struct sp_option *o, const char *spelled, const char *value)
{
	int r = admit(p, o, spelled, value);

	if (r < 0)
		return r;
	if (o->state == SP_OPTION_ALWAYS)
		return take_always(p, o, spelled, value);
	return take_option(p, o, spelled, value);
}

static int unknown_long(struct sp_parser *p, const char *name, size_t len)
{
	const struct sp_option *near = sp_option_nearest(name, len);

	if (near)
		return sp_err_set(p->err, -EINVAL, "--%.*s: no such option; did you mean --%s?",
			(int)len, name, near->name);
	return sp_err_set(
		p->err, -EINVAL, "--%.*s: no such option; --help lists them", (int)len, name);
}

/* "--name", "--name=value" or "--name value" at argv[*i]. */
static int parse_long(struct sp_parser *p, int argc, char *const argv[], int *i)
{
	const char *name = argv[*i] + 2, *value = strchr(name, '=');
	size_t len = value ? (size_t)(value - name) : strlen(name);
	const struct sp_option *o = sp_option_find(name, len);
	char spelled[SP_PARSER_SPELLED];

	if (!o)
		return unknown_long(p, name, len);
	snprintf(spelled, sizeof(spelled), "--%s", o->name);
	if (value)
		value++;
	else if (sp_option_takes_value(o) && *i + 1 < argc)
		value = argv[++*i];
	if (o->state != SP_OPTION_FOREIGN && value && !sp_option_takes_value(o) &&
		o->kind != SP_OPTION_KIND_HELP)
		return sp_err_set(p->err, -EINVAL, "%s: takes no value; write it alone", spelled);
	return sp_parser_take(p, o, spelled, value);
}

static int unknown_letter(struct sp_parser *p, char letter)
{
	char other = (char)(letter ^ ('a' ^ 'A'));
	const struct sp_option *o = sp_option_find_letter(other);

	if (o && o->state == SP_OPTION_BUILT)
		return sp_err_set(p->err, -EINVAL, "-%c: no such option; did you mean -%c (--%s)?",
			letter, other, o->name);
	return sp_err_set(p->err, -EINVAL, "-%c: no such option; -h lists them", letter);
}

static const struct sp_option *find_letter(const struct sp_parser *p, char letter)
{
	return p->kubectl && letter == 'n' ? sp_option_find("namespace", 9)
					   : sp_option_find_letter(letter);
}

/* "-abc", "-d30" or "-d 30" at argv[*i]. */
static int parse_letters(struct sp_parser *p, int argc, char *const argv[], int *i)
{
	for (const char *s = argv[*i] + 1; *s && !p->done; s++) {
		const struct sp_option *o = find_letter(p, *s);
		char spelled[] = {'-', *s, '\0'};
		const char *value = NULL;
		bool wants;
		int r;

		if (!o)
			return unknown_letter(p, *s);
		wants = sp_option_takes_value(o);
		if (wants && s[1])
			value = s + 1;
		else if (wants && *i + 1 < argc)
			value = argv[++*i];
		r = sp_parser_take(p, o, spelled, value);
		if (r < 0 || wants)
			return r;
	}
	return 0;
}

static int add_word(struct sp_parser *p, const char *word)
{
	struct sp_call *call = p->call;

	if (!p->action_known) {
		p->action_known = true;
		p->action_given = sp_action_find(word, &call->action) == 0;
		if (p->action_given)
			return 0;
	}
	if (!*word)
		return sp_err_set(p->err, -EINVAL, "a target is empty; write a pid or 'executor'");
	if (call->n_targets == SP_CALL_MAX_TARGETS)
		return sp_err_set(p->err, -EINVAL, "at most %d targets", SP_CALL_MAX_TARGETS);
	call->targets[call->n_targets++] = word;
	return 0;
}

/* Is --via kubectl among the words, wherever? */
static bool has_kubectl(int argc, char *const argv[])
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--via=kubectl") == 0 ||
			(strcmp(argv[i], "--via") == 0 && i + 1 < argc &&
				strcmp(argv[i + 1], "kubectl") == 0))
			return true;
	return false;
}

static int walk(struct sp_parser *p, int argc, char *const argv[])
{
	bool options = true;

	for (int i = 1; i < argc && !p->done; i++) {
		const char *arg = argv[i];
		int r;

		if (options && strcmp(arg, "--") == 0) {
			options = false;
			p->action_known = true;
			r = 0;
		} else if (options && strncmp(arg, "--", 2) == 0) {
			r = parse_long(p, argc, argv, &i);
		} else if (options && arg[0] == '-' && arg[1]) {
			r = parse_letters(p, argc, argv, &i);
		} else {
			r = add_word(p, arg);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static void set_defaults(struct sp_parser *p)
{
	memset(p->call, 0, sizeof(*p->call));
	for (size_t i = 0; i < p->n_rows; i++) {
		const struct sp_option *o = &p->rows[i];

		if (o->state == SP_OPTION_BUILT && o->fallback[0])
			sp_option_value_set(o, o->name, o->fallback, p->call, NULL);
	}
}

int sp_options_parse(int argc, char *const argv[], struct sp_call *ret_call, struct sp_err *err)
{
	struct sp_parser p = {.call = ret_call, .err = err};
	int r;

	p.rows = sp_option_table(&p.n_rows);
	if (p.n_rows > SP_PARSER_ROWS)
		return sp_err_set(err, -EINVAL, "the table of options is too long");
	set_defaults(&p);
	p.kubectl = has_kubectl(argc, argv);
	r = walk(&p, argc, argv);
	return r < 0 || p.done ? r : sp_options_validate(&p);
}
