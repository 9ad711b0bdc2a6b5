/* The agent's end of the control socket: one thread per connection, which lives as long as the
 * launcher does (or, after DETACH, as long as the recording), then leaves nothing behind.
 * The thread never calls malloc (a thread's first call may map a malloc arena that stays), never
 * prints, and has all signals blocked. */
#ifndef SP_AGENT_CONTROL_CONTROL_H
#define SP_AGENT_CONTROL_CONTROL_H

#include "wire/token_proof.h"

#include <jni.h>

#define SP_CONTROL_PATH_MAX 100

/* What `load` brings: "1 <token> <socket path>". */
struct sp_control_call {
	JavaVM *vm;
	struct sp_token token;
	char path[SP_CONTROL_PATH_MAX + 1];
	char jdk[64];
};

/* Parses the option string of `load` over @ret->token and ->path. 0 or -EINVAL. Pure. */
int sp_control_parse(const char *options, struct sp_control_call *ret);

/* Starts the control thread for @call (copied). Returns 0 or -errno; nothing is left then.
 * Context: the JVM's attach listener. */
__attribute__((warn_unused_result)) int sp_control_start(const struct sp_control_call *call);

#endif
