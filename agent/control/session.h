/* One recording: engines, collector and JFR writer together. The control connection
 * (agent/control/control.c) and autostart (Agent_OnLoad) start and stop it; at most one exists in a
 * JVM. Context: called from the agent's own control thread, never from a signal handler or a JVM
 * callback. */
#ifndef SP_AGENT_CONTROL_SESSION_H
#define SP_AGENT_CONTROL_SESSION_H

#include "base/err.h"
#include "host/counts.h"
#include "host/say.h"
#include "options/args.h"

#include <jni.h>
#include <stdint.h>

struct sp_session;

struct sp_parcel;
struct sp_segments;
struct sp_perf_source;

/* Starts recording to @out_fd (ownership passes on success), which must be a regular file unless
 * @args->stream. @segments (borrowed for the session's life, may be NULL) says when another file is
 * to follow it. @perf (borrowed for the session's life, may be NULL) opens perf events that this
 * process may not. Returns 0, or -errno with a sentence in @err and nothing left behind. */
__attribute__((warn_unused_result)) int sp_session_start(struct sp_session **ret, JavaVM *vm,
	const struct sp_args *args, int out_fd, struct sp_segments *segments,
	const struct sp_perf_source *launcher, sp_say_fn *say, void *say_ctx, struct sp_err *err);

/* The calling thread is one of ours and is not sampled. */
void sp_session_exclude_self(struct sp_session *s);

/* A new descriptor of the file in hand, the caller's; -errno. */
int sp_session_dup(const struct sp_session *s);

/* Current counts; cheap, any agent thread. */
void sp_session_counts(const struct sp_session *s, struct sp_counts *ret);

/* The Spark stages that have tasks running now, as text; "" where there are none. Returns @buf. */
const char *sp_session_stages(const struct sp_session *s, char *buf, size_t size);

/* What was asked for and never seen, as a sentence; "" where all was. Returns @buf. */
const char *sp_session_missing(const struct sp_session *s, char *buf, size_t size);

/* Perf events that @perf was asked for; the descriptors are taken in any case. */
void sp_session_perf(struct sp_session *s, const struct sp_parcel *parcel);

/* Makes everything sampled so far durable in the file. Returns 0 or -errno (disk full …). */
int sp_session_flush(struct sp_session *s, struct sp_err *err);

/* Stops the engines, puts back all hooks, finishes the recording, frees everything. @ret_counts may
 * be NULL. Returns 0, or -errno with a sentence if the recording could not be finished. */
int sp_session_stop(struct sp_session *s, struct sp_counts *ret_counts, struct sp_err *err);

#endif
