/* The checks of a whole call: see parser.h. Each works on what the walk over argv left. */
#include "parser.h"

#include "base/cleanup.h"
#include "base/name_template.h"
#include "event_names.h"
#include "option_value.h"

#include <errno.h>
#include <string.h>

static bool reads_files(const struct sp_call *call)
{
	return call->action == SP_ACTION_REPORT || call->action == SP_ACTION_DIFF;
}

bool sp_parser_given(const struct sp_parser *p, const char *name)
{
	return p->spelled[sp_option_find(name, strlen(name)) - p->rows][0];
}

/* Without an action, --timeout and --loop mean start, as with async-profiler. */
static void settle_action(struct sp_parser *p)
{
	struct sp_call *call = p->call;

	if (!p->action_given && (sp_parser_given(p, "timeout") || sp_parser_given(p, "loop")))
		call->action = SP_ACTION_START;
	call->quiet |= call->log >= SP_LOG_ERROR;
}

static int check_action(struct sp_parser *p)
{
	enum sp_action action = p->call->action;
	const struct sp_action_info *info = sp_action_info(action);

	if (info->refused)
		return sp_err_set(p->err, -EINVAL, "%s %s", info->name, info->refused);
	for (size_t i = 0; i < p->n_rows; i++) {
		const char *instead;

		if (!p->spelled[i][0] || (p->rows[i].actions & 1u << action))
			continue;
		instead = sp_option_elsewhere(&p->rows[i], action);
		return sp_err_set(p->err, -EINVAL, "%s: '%s' does not take it%s%s", p->spelled[i],
			info->name, instead ? "; " : "", instead ? instead : "");
	}
	return 0;
}

/* --wall is one more event, or the interval of a -e wall; so are --alloc and the like. */
static int finish_beside(struct sp_parser *p, size_t row)
{
	const struct sp_pending *given = &p->beside[row];
	const char *name = p->rows[row].name;
	struct sp_call *call = p->call;

	if (!given->text)
		return 0;
	for (size_t i = 0; i < call->n_events; i++) {
		if (strcmp(call->events[i].name, name) == 0) {
			p->interval[i] = *given;
			return 0;
		}
	}
	p->interval[call->n_events % SP_CALL_MAX_EVENTS] = *given;
	return sp_parser_add_event(p, given->spelled, name, strlen(name));
}

static bool has_event(const struct sp_call *call, const char *name)
{
	for (size_t i = 0; i < call->n_events; i++)
		if (strcmp(call->events[i].name, name) == 0)
			return true;
	return false;
}

/* --live alone is an event; with alloc it says which of them to report. */
static int finish_live(struct sp_parser *p)
{
	struct sp_call *call = p->call;

	if (!call->live || has_event(call, "alloc") || has_event(call, "live"))
		return 0;
	return sp_parser_add_event(p, "--live", "live", strlen("live"));
}

/* --all is what one would write to have everything. */
static int finish_all(struct sp_parser *p)
{
	static const char *const names[] = {
		"cpu", "wall", "alloc", "live", "lock", "nativelock", "nativemem"};
	const struct sp_option *o = sp_option_find("event", strlen("event"));
	int r = 0;

	if (!p->call->all)
		return 0;
	if (p->spelled[o - p->rows][0])
		return sp_err_set(p->err, -EINVAL, "--all: has its own events; omit %s",
			p->spelled[o - p->rows]);
	for (size_t i = 0; i < SP_COUNT(names) && r == 0; i++)
		r = sp_parser_add_event(p, "--all", names[i], strlen(names[i]));
	return r;
}

static int finish_intervals(struct sp_parser *p)
{
	const struct sp_option *o = sp_option_find("interval", strlen("interval"));
	bool used = !p->any_interval.text;

	for (size_t i = 0; i < p->call->n_events; i++) {
		bool own = p->interval[i].text;
		const struct sp_pending *v = own ? &p->interval[i] : &p->any_interval;
		struct sp_call_event *e = &p->call->events[i];
		int r;

		/* --all -i: of what is sampled by time */
		if (!own && p->call->all && sp_event_is_hook(e->name))
			continue;
		used |= !own;
		r = v->text ? sp_option_value_interval(
				      o, v->spelled, v->text, e->name, &e->interval, p->err)
			    : 0;
		if (r < 0)
			return r;
		e->given = v->text != NULL;
	}
	if (!used)
		return sp_err_set(p->err, -EINVAL, "%s: '%s' belongs to no -e; write it after one",
			p->any_interval.spelled, p->any_interval.text);
	return 0;
}

/* Begins a recording that outlives the call. */
static bool starts(const struct sp_call *call)
{
	return call->action == SP_ACTION_START || call->action == SP_ACTION_RESUME;
}

/* Only samples that the timers of threads make can be picked by the moment. */
static int finish_gate(struct sp_parser *p)
{
	struct sp_call *call = p->call;
	const char *option = call->begin ? "--begin" : "--ttsp";
	const char *event = call->events[0].name;
	bool ok =
		call->n_events == 1 && (strcmp(event, "cpu") == 0 || strcmp(event, "ctimer") == 0);

	if (call->end && !call->begin)
		return sp_err_set(p->err, -EINVAL, "--end: needs --begin");
	if (call->nostop && !call->begin)
		return sp_err_set(p->err, -EINVAL, "--nostop: needs --begin");
	if (call->ttsp && call->begin)
		return sp_err_set(p->err, -EINVAL,
			"--ttsp and --begin: take one; --ttsp has a begin and an end of its own");
	if (!call->ttsp && !call->begin)
		return 0;
	if (!ok || call->capture == SP_CAPTURE_RING)
		return sp_err_set(p->err, -EINVAL,
			"%s: works with -e cpu or ctimer alone, by signals; omit %s", option,
			ok ? "--capture=ring" : "other events");
	/* What is in no JVM stops at none of its safepoints, and calls none of its functions. */
	call->python = SP_PYTHON_OFF;
	return 0;
}

/* Only events of the kernel's can be of one CPU. */
static int finish_cpu(struct sp_parser *p)
{
	static const char *const not [] = {"ctimer", "itimer", "wall"};
	struct sp_call *call = p->call;

	if (!call->target_cpu)
		return 0;
	if (strspn(call->target_cpu, "0123456789") != strlen(call->target_cpu))
		return sp_err_set(p->err, -EINVAL, "--target-cpu: '%s' is not the number of a CPU",
			call->target_cpu);
	if (call->capture == SP_CAPTURE_RING || call->ttsp || call->begin)
		return sp_err_set(
			p->err, -EINVAL, "--target-cpu: omit --capture=ring, --ttsp and --begin");
	for (size_t i = 0; i < call->n_events; i++)
		for (size_t k = 0; k < SP_COUNT(not ); k++)
			if (strcmp(call->events[i].name, not [k]) == 0)
				return sp_err_set(p->err, -EINVAL,
					"--target-cpu: works with perf events, cpu among them; "
					"omit %s",
					not [k]);
	/* What is in no JVM is not looked at by CPUs. */
	call->python = SP_PYTHON_OFF;
	return 0;
}

/* The words of --features, parted by commas or plus signs. */
static int finish_features(struct sp_parser *p)
{
	static const char *const always[] = {"mixed", "agct", "jnienv", "stats"};
	const struct sp_option *o = sp_option_find("features", strlen("features"));
	struct sp_call *call = p->call;
	size_t len;

	for (const char *at = call->features; at && *at; at += len + (at[len] != 0)) {
		bool known = false;

		len = strcspn(at, ",+");
		for (size_t i = 0; i < SP_COUNT(always); i++)
			known |= len == strlen(always[i]) && memcmp(at, always[i], len) == 0;
		if (len == 6 && memcmp(at, "vtable", 6) == 0)
			call->vtable = known = true;
		else if (len == 8 && memcmp(at, "comptask", 8) == 0)
			call->comptask = known = true;
		if (!known)
			return sp_err_set(p->err, -EINVAL,
				"%s: '%s' is not supported; there are vtable and comptask; always "
				"on are mixed, agct, jnienv, stats",
				p->spelled[o - p->rows], call->features);
	}
	return 0;
}

static int finish_events(struct sp_parser *p)
{
	const struct sp_option *o = sp_option_find("event", strlen("event"));
	struct sp_call *call = p->call;
	const char *first = NULL;
	int r;

	if (call->action != SP_ACTION_COLLECT && !starts(call))
		return 0;
	r = finish_all(p);
	for (size_t i = 0; i < p->n_rows && r == 0; i++)
		r = finish_beside(p, i);
	if (r == 0)
		r = finish_live(p);
	if (r == 0 && call->n_events == 0 && call->trace.n == 0)
		r = sp_parser_add_event(p, "-e", o->fallback, strlen(o->fallback));
	if (r < 0)
		return r;
	for (size_t i = 0; i < call->n_events; i++) {
		const char *name = call->events[i].name;

		r = sp_event_check(name, p->err);
		if (r < 0)
			return sp_err_prefix(p->err, r, "%s",
				p->spelled[o - p->rows][0] ? p->spelled[o - p->rows] : "-e");
		if (strcmp(name, "wall") == 0 || sp_event_is_hook(name))
			continue;
		if (first)
			return sp_err_set(p->err, -EINVAL,
				"-e: '%s' and '%s' cannot be sampled together; take one, and wall, "
				"alloc, lock and the like beside it",
				first, name);
		first = name;
	}
	r = finish_intervals(p);
	r = r < 0 ? r : finish_gate(p);
	r = r < 0 ? r : finish_features(p);
	return r < 0 ? r : finish_cpu(p);
}

static enum sp_format format_or_text(const struct sp_parser *p)
{
	return p->format.text ? p->format_is : SP_FORMAT_TEXT;
}

/* Gives each -f its format: by extension, else by -o. */
static int finish_files(struct sp_parser *p)
{
	struct sp_call *call = p->call;
	enum sp_format format = format_or_text(p);
	bool used = false;

	for (size_t i = 0; i < call->n_outputs; i++) {
		struct sp_call_output *out = &call->outputs[i];
		int r = sp_output_format_of_path(out->path, &out->format, p->err);

		if (r == -EINVAL && !p->format.text)
			return sp_err_prefix(p->err, r, "-f");
		if (r < 0)
			out->format = format;
		if (out->format == SP_FORMAT_JFR && sp_name_template_has_event(out->path))
			return sp_err_set(p->err, -EINVAL,
				"-f %s: a recording holds all events; omit {{EVENT}} in its "
				"name",
				out->path);
		used |= out->format == format;
	}
	if (p->format.text && call->n_outputs && !used)
		return sp_err_set(p->err, -EINVAL,
			"%s %s: '%s' says %s by its extension; omit -o or rename the file",
			p->format.spelled, p->format.text, call->outputs[0].path,
			sp_output_format_name(call->outputs[0].format));
	return 0;
}

/* What other hosts have recorded is written here, and not where the start said. */
static bool writes_here(const struct sp_call *call)
{
	return call->via > SP_VIA_LOCAL &&
	       (call->action == SP_ACTION_STOP || call->action == SP_ACTION_DUMP);
}

/* Where no -f was given: collect, report and diff write to stdout, and so do stop and dump with -o.
 */
static int finish_stdout(struct sp_parser *p)
{
	struct sp_call *call = p->call;
	enum sp_format format = format_or_text(p);

	if (call->n_outputs || (call->action != SP_ACTION_COLLECT && !reads_files(call) &&
				       !p->format.text && !writes_here(call)))
		return 0;
	if (starts(call) || format == SP_FORMAT_JFR)
		return sp_err_set(p->err, -EINVAL, "%s %s: needs -f FILE%s", p->format.spelled,
			p->format.text, starts(call) ? "" : ", or -f - for stdout");
	call->outputs[call->n_outputs++] = (struct sp_call_output){"-", format};
	return 0;
}

/* Options that shape printed stacks say nothing about a recording. */
static int check_shapes(struct sp_parser *p)
{
	const struct sp_call *call = p->call;
	bool printed = call->n_outputs == 0;

	for (size_t i = 0; i < call->n_outputs; i++)
		printed |= call->outputs[i].format != SP_FORMAT_JFR;
	for (size_t i = 0; i < p->n_rows && !printed; i++) {
		if (p->spelled[i][0] && (p->rows[i].actions & SP_OPTION_SHAPES))
			return sp_err_set(p->err, -EINVAL,
				"%s: changes nothing in a jfr recording; omit it, or add a -f "
				"of another format",
				p->spelled[i]);
	}
	return 0;
}

/* A target that is named twice is one. */
static void drop_twins(struct sp_call *call)
{
	size_t n = 0;

	for (size_t i = 0; i < call->n_targets; i++) {
		size_t k = 0;

		while (k < n && strcmp(call->targets[k], call->targets[i]) != 0)
			k++;
		if (k == n)
			call->targets[n++] = call->targets[i];
	}
	call->n_targets = n;
}

/* "stat 4711", "profile executor": two targets by the letter, but hardly what was meant. */
static int check_meant_action(const struct sp_parser *p)
{
	const struct sp_call *call = p->call;
	const char *word = call->n_targets < 2 || p->action_given ? "" : call->targets[0], *near;
	bool plain = *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyz")];

	if (!plain || strcmp(word, "driver") == 0 || strncmp(word, "executor", 8) == 0)
		return 0;
	near = sp_action_nearest(word);
	if (near)
		return sp_err_set(
			p->err, -EINVAL, "'%s' is not an action; did you mean %s?", word, near);
	if (call->targets[1][strspn(call->targets[1], "0123456789")] &&
		strncmp(call->targets[1], "executor", 8) != 0 &&
		strcmp(call->targets[1], "driver") != 0)
		return 0; /* parts of the names of two main classes */
	return sp_err_set(p->err, -EINVAL,
		"'%s' is not an action; without one it is collect, and --help lists the others",
		word);
}

static int check_targets(struct sp_parser *p)
{
	struct sp_call *call = p->call;
	const struct sp_action_info *info = sp_action_info(call->action);

	int r = check_meant_action(p);

	if (r < 0)
		return r;
	if (!reads_files(call))
		drop_twins(call);
	if (reads_files(call) && (call->n_targets < info->least || call->n_targets > info->most))
		return sp_err_set(p->err, -EINVAL, "%s: %s", info->name,
			call->action == SP_ACTION_DIFF
				? "takes two files: sparkprof diff BASE NEW"
				: "no file; name recordings, or a directory of them");
	if (call->n_targets < info->least)
		return sp_err_set(p->err, -EINVAL,
			"%s: no target; name a pid or 'executor' ('sparkprof ps' lists them; -h "
			"helps)",
			info->name);
	if (call->n_targets > info->most && info->most == 0)
		return sp_err_set(p->err, -EINVAL,
			"%s: takes no target, but '%s' is given; omit it", info->name,
			call->targets[0]);
	if (call->n_targets > info->most)
		return sp_err_set(p->err, -EINVAL, "%s: takes %zu target", info->name, info->most);
	/* what comes from other hosts becomes one report */
	return reads_files(call) || call->via > SP_VIA_LOCAL
		       ? 0
		       : sp_options_check_outputs(call, call->n_targets, p->err);
}

int sp_options_check_outputs(const struct sp_call *call, size_t n_targets, struct sp_err *err)
{
	for (size_t i = 0; i < call->n_outputs && n_targets > 1; i++) {
		if (!sp_name_template_differs(call->outputs[i].path))
			return sp_err_set(err, -EINVAL,
				"several targets need a file each: -f out-%%p.html, or "
				"{{EXECUTOR_ID}} in its name; '%s' is one for all",
				strcmp(call->outputs[i].path, "-") == 0 ? "standard output"
									: call->outputs[i].path);
	}
	return 0;
}

static int check_driver_ui(struct sp_parser *p)
{
	const char *ui = p->call->driver_ui;

	if (!ui || strcmp(ui, "none") == 0 || strncmp(ui, "http://", 7) == 0 ||
		strncmp(ui, "https://", 8) == 0)
		return 0;
	return sp_err_set(p->err, -EINVAL,
		"--driver-ui: '%s' is not an address; write http://host:4040, or none", ui);
}

/* Files of a loop are the target's own: it writes recordings and nothing else. */
static int check_loop(struct sp_parser *p)
{
	struct sp_call *call = p->call;

	if (!call->loop)
		return 0;
	if (!sp_parser_given(p, "timeout"))
		call->timeout_ns = 0;
	if (call->n_outputs == 1 && call->outputs[0].format == SP_FORMAT_JFR &&
		strcmp(call->outputs[0].path, "-") != 0)
		return 0;
	return sp_err_set(p->err, -EINVAL,
		"--loop: needs one -f FILE.jfr, best with %%t in its name; 'report' makes the "
		"rest");
}

/* What is only of Python's threads wants Python. */
static int check_python(struct sp_parser *p)
{
	const struct sp_call *call = p->call;

	if (call->python != SP_PYTHON_OFF || (!call->native && !call->blocking))
		return 0;
	return sp_err_set(p->err, -EINVAL,
		"%s: is about Python processes, which --python=off leaves out; omit one of them",
		call->native ? "--native" : "--blocking");
}

int sp_options_validate(struct sp_parser *p)
{
	static int (*const checks[])(struct sp_parser *) = {check_action, finish_events,
		finish_files, finish_stdout, check_shapes, check_driver_ui, check_loop,
		check_python, sp_options_check_via, check_targets};
	int r = 0;

	settle_action(p);
	for (size_t i = 0; i < SP_COUNT(checks) && r == 0; i++)
		r = checks[i](p);
	return r;
}
