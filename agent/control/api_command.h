/* Commands of the program itself (api/sparkprof.h): start, stop, dump, status and version, with the
 * words of -agentpath. A recording that was stopped can be dumped until another is started.
 * Context: any thread of the host; a thread of the agent does the work, one command at a time. */
#ifndef SP_AGENT_CONTROL_API_COMMAND_H
#define SP_AGENT_CONTROL_API_COMMAND_H

#include "base/buf.h"
#include "base/err.h"

#include <jni.h>

/* Adds what it gives back to @out. Returns 0, or -errno with a sentence: -EINVAL for a wrong word,
 * -EBUSY and -ENOENT where somebody else records or nothing does. */
__attribute__((warn_unused_result)) int sp_api_command_run(
	JavaVM *vm, const char *words, struct sp_buf *out, struct sp_err *err);

/* Samples of the recording that runs. */
uint64_t sp_api_command_samples(void);

#endif
