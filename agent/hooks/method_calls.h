/* Calls of Java methods that the user names: counted where they begin, or timed where they end. */
#ifndef SP_AGENT_HOOKS_METHOD_CALLS_H
#define SP_AGENT_HOOKS_METHOD_CALLS_H

#include "capture/engine.h"
#include "jvmti_thread.h"

#define SP_CALLS_PER_SECOND 5000u

/* Are the methods that @args names well written? Returns 0, or -EINVAL with a sentence. */
int sp_method_calls_check(const struct sp_args *args, struct sp_err *err);

/* The guest that reports calls of c->args->methods, and the time of those of c->args->trace; both
 * have passed the check. @c is borrowed for life. One at a time. */
struct sp_jvm_guest sp_method_calls_guest(struct sp_capture *c);

/* Adds the names that no class had to @buf, with commas. */
void sp_method_calls_missing(char *buf, size_t size);

/* How many calls one represented at worst: 1 where the limit was never reached. */
uint64_t sp_method_calls_max_factor(void);
uint64_t sp_method_calls_trace_max_factor(void);

#endif
