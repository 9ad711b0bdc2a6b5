/* Writing one report: see write_report.h. */
#include "write_report.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file_error.h"
#include "base/name_template.h"
#include "base/units.h"
#include "cli/message.h"
#include "in/eventlog.h"
#include "out/outfile.h"
#include "prof/model/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STAGES = 20 /* named where one is not found */ };

static bool is_utf8(void)
{
	const char *l = getenv("LC_ALL");

	l = l && *l ? l : getenv("LC_CTYPE");
	l = l && *l ? l : getenv("LANG");
	return l && (strcasestr(l, "utf-8") || strcasestr(l, "utf8"));
}

void sp_report_style(struct sp_out_opts *o, const struct sp_call *call, int fd)
{
	struct winsize ws;
	bool terminal = isatty(fd);

	*o = (struct sp_out_opts){
		.view = {.threads = call->threads,
			.by = call->by,
			.total = call->total,
			.lines = call->lines,
			.name_lines = call->lines,
			.include = call->include.text,
			.include_count = call->include.n,
			.exclude = call->exclude.text,
			.exclude_count = call->exclude.n,
			.style = {.simple = call->simple,
				.signatures = call->signatures,
				.stable = call->normalize,
				.dotted = call->dotted,
				.annotate = call->annotate,
				.readable = call->names == SP_NAMES_SHORT,
				.libraries = call->libs}},
		.colour = terminal && !getenv("NO_COLOR"),
		.utf8 = terminal && is_utf8(),
		.source = call->source,
		.minwidth = call->minwidth,
		.reverse = call->reverse,
		.inverted = call->inverted,
		.parts = call->text_parts,
		.methods = call->flat,
		.traces = call->traces,
	};
	if (terminal && ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col >= 60)
		o->width = ws.ws_col;
}

static int check_directory(const char *path, struct sp_err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return sp_err_read(err, -errno, path);
	return S_ISDIR(st.st_mode)
		       ? 0
		       : sp_err_set(err, -ENOTDIR,
				 "%s: is a file; name the top directory of your source code", path);
}

int sp_report_tasks(struct sp_load_opts *o, const struct sp_call *call,
	struct sp_stage_names *names, struct sp_err *err)
{
	o->by = call->by;
	o->tasks = true;
	o->tasks_only = call->all_threads  ? SP_TASKS_AND_ALL
			: call->tasks_only ? SP_TASKS_ONLY
					   : SP_TASKS_ONLY_WALL;
	o->python_both = call->python_both;
	o->stage = call->stage;
	o->task = call->task;
	o->sql = call->sql;
	o->executor_id = call->executor;
	o->host = call->host;
	if (call->source && check_directory(call->source, err) < 0)
		return sp_err_prefix(err, -ENOENT, "--source");
	if (!call->event_log)
		return 0;
	o->names = names;
	return sp_eventlog_read(call->event_log, names, err);
}

/* The lowest stage above @after that has samples; INT32_MAX: none. */
static int32_t next_stage(const struct sp_profile *p, int32_t after)
{
	int32_t next = INT32_MAX;

	for (size_t i = 0; i < p->row_count; i++) {
		const struct sp_task_run *t = sp_profile_task(p, &p->rows[i]);

		if (t && t->name.stage > after && t->name.stage < next)
			next = t->name.stage;
	}
	return next;
}

int sp_report_no_stage(const struct sp_call *call, const struct sp_profile *all, struct sp_err *err)
{
	SP_AUTO_BUF struct sp_buf there = {0};
	int32_t stage = all ? next_stage(all, -1) : INT32_MAX;

	for (unsigned n = 0; stage != INT32_MAX; stage = next_stage(all, stage)) {
		if (n++ == STAGES) {
			sp_buf_adds(&there, " and more");
			break;
		}
		sp_buf_addf(&there, "%s%d", there.len ? ", " : "", stage);
	}
	if (!there.len)
		return sp_err_set(err, -ENODATA, "--stage %s: no samples of it, nor of any stage",
			call->stage);
	return sp_err_set(err, -ENODATA, "--stage %s: no samples of it, only of %s", call->stage,
		sp_buf_str(&there));
}

static void free_areas(struct sp_areas **a)
{
	sp_areas_free(*a);
}

static int write_one(const char *path, const struct sp_out_format *format, const char *event,
	const struct sp_call *call, const struct sp_profile *p, struct sp_err *err)
{
	__attribute__((cleanup(free_areas))) struct sp_areas *areas = NULL;
	struct sp_profile titled = *p;
	struct sp_out_opts opts;
	struct sp_outfile file;
	struct sp_sink sink;
	int r = sp_areas_new(&areas, call->areas, err), e;

	if (r == 0 && sp_areas_learn(areas, p) < 0)
		r = sp_err_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		r = sp_outfile_open(&file, path, SP_OUTFILE_REPORT, err);
	if (r < 0)
		return r;
	if (call->title)
		titled.title_id = sp_dict_string(p->dict, call->title, strlen(call->title));
	sp_report_style(&opts, call, file.fd);
	opts.view.areas = areas;
	opts.view.event = event;
	opts.view.style.stable = p->several;
	sp_sink_init(&sink, file.fd);
	r = format->write(&titled, &opts, &sink);
	e = sp_sink_done(&sink);
	r = r < 0 ? r : e;
	return sp_report_close(&file, path, r, err);
}

int sp_report_close(struct sp_outfile *file, const char *path, int result, struct sp_err *err)
{
	if (result == 0)
		return sp_outfile_commit(file, err);
	sp_outfile_abort(file);
	/* Who reads has seen enough: head, or a pager that was left. */
	if (result == -EPIPE && strcmp(path, "-") == 0)
		return 0;
	return sp_err_write(err, result, strcmp(path, "-") == 0 ? "standard output" : path);
}

/* The name of the @nth event that has samples; NULL: there are fewer. */
static const char *event_name(const struct sp_profile *p, unsigned nth)
{
	for (unsigned i = 0; i < p->event_count; i++)
		if (p->events[i].samples && nth-- == 0)
			return sp_profile_event_name(p, i);
	return NULL;
}

/* The @nth file that @path means, and the event in it. Returns 1, 0 where there are no more, or
 * -ENOMEM. */
static int nth_file(const char *path, const struct sp_profile *p, unsigned nth,
	struct sp_buf *ret_path, const char **ret_event)
{
	const char *event = event_name(p, nth);

	sp_buf_init(ret_path);
	*ret_event = NULL;
	if (!sp_name_template_has_event(path)) {
		sp_buf_adds(ret_path, path);
		return ret_path->failed ? -ENOMEM : nth == 0;
	}
	if (!event)
		return 0;
	*ret_event = event;
	return sp_name_template_set_event(path, event, ret_path) < 0 ? -ENOMEM : 1;
}

static void say_others(const char *path, const struct sp_profile *p)
{
	SP_AUTO_BUF struct sp_buf others;
	const char *event;

	sp_buf_init(&others);
	for (unsigned i = 1; (event = event_name(p, i)); i++)
		sp_buf_addf(&others, "%s%s", i > 1 ? ", " : "", event);
	if (others.len)
		sp_message_note("%s shows %s; for %s too, write {{EVENT}} in its name, or use "
				"'report -e'",
			strcmp(path, "-") == 0 ? "this" : path, event_name(p, 0),
			sp_buf_str(&others));
}

int sp_report_write(const char *path, enum sp_format type, const struct sp_call *call,
	const struct sp_profile *p, struct sp_err *err)
{
	const struct sp_out_format *format = &sp_out_formats[type];
	int more = 1, r = 0;

	for (unsigned i = 0; more > 0 && r == 0; i++) {
		SP_AUTO_BUF struct sp_buf name;
		const char *event;

		more = nth_file(path, p, i, &name, &event);
		if (more < 0)
			return sp_err_set(err, more, "out of memory");
		if (more)
			r = write_one(sp_buf_str(&name), format, event, call, p, err);
	}
	if (r == 0 && format->one_event && !sp_name_template_has_event(path))
		say_others(path, p);
	return r;
}

void sp_report_describe(const char *path, const struct sp_profile *p, struct sp_buf *line)
{
	int more = strcmp(path, "-") != 0;

	for (unsigned i = 0; more > 0; i++) {
		SP_AUTO_BUF struct sp_buf name;
		const char *event;
		struct stat st;
		char size[32];

		more = p ? nth_file(path, p, i, &name, &event) : i == 0;
		if (!p) {
			sp_buf_init(&name);
			sp_buf_adds(&name, path);
		}
		if (more > 0 && stat(sp_buf_str(&name), &st) == 0)
			sp_buf_addf(line, "%s%s (%s)", line->len ? "; " : "", sp_buf_str(&name),
				sp_size_format((uint64_t)st.st_size, size, sizeof(size)));
	}
}
