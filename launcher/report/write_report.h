/* Writing one report, as the options of a call want it to look. */
#ifndef SP_LAUNCHER_REPORT_WRITE_REPORT_H
#define SP_LAUNCHER_REPORT_WRITE_REPORT_H

#include "cli/options.h"
#include "out/out.h"
#include "out/outfile.h"

/* How stacks are shown, by the options of @call; strings are borrowed from it. */
void sp_report_style(struct sp_out_opts *o, const struct sp_call *call, int fd);

/* What of Spark's tasks @call wants to see, into what a recording is loaded with. @names is filled
 * from --event-log and borrowed by @o; the caller frees it in any case (sp_stage_names_done).
 * Returns 0, or -errno with a sentence. */
int sp_report_tasks(struct sp_load_opts *o, const struct sp_call *call,
	struct sp_stage_names *names, struct sp_err *err);

/* Writes @p to @path ("-" is stdout) in the format @type, whole or not at all; with {{EVENT}} in
 * @path, a file for each event that has samples. A format that has room for one event shows the
 * first and says so. Returns 0, or -errno with a sentence that names the file. */
int sp_report_write(const char *path, enum sp_format type, const struct sp_call *call,
	const struct sp_profile *p, struct sp_err *err);

/* Where nothing is left of --stage: says which stages there are, by @all, what was read without
 * that option (NULL: not known). Returns -ENODATA. */
int sp_report_no_stage(
	const struct sp_call *call, const struct sp_profile *all, struct sp_err *err);

/* Ends the file at @path: @result is 0, or -errno of writing it. A reader of stdout that went away
 * is no failure. Returns 0, or -errno with a sentence that names the file. */
int sp_report_close(struct sp_outfile *file, const char *path, int result, struct sp_err *err);

/* Appends "path (size)" for what was written to @path, each file behind a semicolon. */
void sp_report_describe(const char *path, const struct sp_profile *p, struct sp_buf *line);

#endif
