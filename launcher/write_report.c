/* Writing one report: see write_report.h. */
#include "write_report.h"

#include "in/eventlog.h"
#include "out/outfile.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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
			.include = call->include.text,
			.include_count = call->include.n,
			.exclude = call->exclude.text,
			.exclude_count = call->exclude.n,
			.style = {.simple = call->simple,
				.annotate = call->annotate,
				.readable = call->names == SP_NAMES_SHORT,
				.libraries = call->libs}},
		.colour = terminal && !getenv("NO_COLOR"),
		.utf8 = terminal && is_utf8(),
	};
	if (terminal && ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col >= 60)
		o->width = ws.ws_col;
}

int sp_report_tasks(struct sp_load_opts *o, const struct sp_call *call,
	struct sp_stage_names *names, struct sp_err *err)
{
	o->by = call->by;
	o->tasks = true;
	o->tasks_only = call->all_threads  ? SP_TASKS_AND_ALL
			: call->tasks_only ? SP_TASKS_ONLY
					   : SP_TASKS_ONLY_WALL;
	o->stage = call->stage;
	o->task = call->task;
	o->sql = call->sql;
	o->executor_id = call->executor;
	if (!call->event_log)
		return 0;
	o->names = names;
	return sp_eventlog_read(call->event_log, names, err);
}

static void free_areas(struct sp_areas **a)
{
	sp_areas_free(*a);
}

int sp_report_write(const char *path, enum sp_format type, const struct sp_call *call,
	const struct sp_profile *p, struct sp_err *err)
{
	const struct sp_out_format *format = sp_out_by_name(sp_format_name(type));
	__attribute__((cleanup(free_areas))) struct sp_areas *areas = NULL;
	struct sp_out_opts opts;
	struct sp_outfile file;
	struct sp_sink sink;
	int r = sp_areas_new(&areas, call->areas, err), e;

	if (r == 0)
		r = sp_outfile_open(&file, path, err);
	if (r < 0)
		return r;
	sp_report_style(&opts, call, file.fd);
	opts.view.areas = areas;
	sp_sink_init(&sink, file.fd);
	r = format->write(p, &opts, &sink);
	e = sp_sink_done(&sink);
	r = r < 0 ? r : e;
	if (r < 0) {
		sp_outfile_abort(&file);
		return sp_err_set(err, r, "%s: cannot be written: %s", path, strerror(-r));
	}
	return sp_outfile_commit(&file, err);
}
