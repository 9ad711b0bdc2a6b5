/* Reports in the place of recordings: where file= is x.html, the JVM records to x.html.jfr, and
 * when that is whole the launcher that lies beside the library makes x.html of it, as a child
 * process; x.html.jfr is removed then. Where it cannot, the recording is kept as x.jfr and one line
 * says so. The writers of reports stay out of the JVM. */
#ifndef SP_AGENT_OUTPUT_REPORT_WRITER_H
#define SP_AGENT_OUTPUT_REPORT_WRITER_H

#include "options/args.h"
#include "segments.h"

#define SP_REPORT_LAUNCHER 4096

/* The launcher beside this library, into @ret of SP_REPORT_LAUNCHER bytes; false: there is none. */
bool sp_report_writer_launcher(char *ret);

/* Makes the report @out in @format ("html,total") of the recording @in, and waits for it. Returns 0
 * or -errno with a sentence. Context: a thread of the agent. */
__attribute__((warn_unused_result)) int sp_report_writer_make(
	const char *format, const char *in, const char *out, struct sp_err *err);

struct sp_report_writer;

/* Begins to make a report of each segment that gets complete, in a thread of its own; it holds
 * @segments. Returns 0 or -errno. */
__attribute__((warn_unused_result)) int sp_report_writer_start(
	struct sp_report_writer **ret, struct sp_segments *segments, const struct sp_args *args);

/* No segment follows: returns when all reports are made, or after @limit_ns. May be called again.
 */
void sp_report_writer_finish(struct sp_report_writer *w, uint64_t limit_ns);
void sp_report_writer_free(struct sp_report_writer *w);

#endif
