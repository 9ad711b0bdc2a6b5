/* What a START asks of an agent: the fields of wire/record_options.h by the options of a call. */
#ifndef SP_LAUNCHER_RUN_RECORD_REQUEST_H
#define SP_LAUNCHER_RUN_RECORD_REQUEST_H

#include "base/buf.h"
#include "cli/options.h"
#include "wire/record_options.h"

#include <stdbool.h>

struct sp_record_request {
	struct sp_record_options fields; /* texts are borrowed from below and from the call */
	struct sp_buf methods, trace, loop;
};

#define SP_AUTO_RECORD_REQUEST __attribute__((cleanup(sp_record_request_done)))

/* @stream: the output is a pipe. Returns 0 or -ENOMEM; _done in either case. */
__attribute__((nonnull, warn_unused_result)) int sp_record_request_init(
	struct sp_record_request *r, const struct sp_call *call, bool stream);
void sp_record_request_done(struct sp_record_request *r);

/* Whether the launcher samples the Python processes below a JVM, and not the agent: where threads
 * are stopped for it. */
bool sp_call_samples_python(const struct sp_call *call);

/* What is sampled, as the user named it: "cpu, wall, alloc". "" for a recording of another build,
 * of which nothing is known. */
void sp_record_request_events(const struct sp_record_options *o, struct sp_buf *ret);

/* All of it in the words of -agentpath, to be shown. */
void sp_record_request_words(const struct sp_record_options *o, struct sp_buf *ret);

#endif
