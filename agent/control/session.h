/* One recording: engines, collector and JFR writer together. The control connection
 * (agent/control.c) and autostart (Agent_OnLoad) start and stop it; at most one exists in a JVM.
 * Context: called from the agent's own control thread, never from a signal handler or a JVM
 * callback. */
#ifndef SP_AGENT_SESSION_H
#define SP_AGENT_SESSION_H

#include "args.h"
#include "base/err.h"

#include <jni.h>
#include <stdint.h>

struct sp_session;

/* Why a sample that was due is not in the recording. */
enum sp_loss {
	SP_LOSS_RING,	/* the handler's ring was full */
	SP_LOSS_NESTED, /* a signal came while the last one was handled */
	SP_LOSS_KERNEL, /* perf events: the kernel's ring was full, or the thread not known */
	SP_LOSS_MEMORY, /* --memory: no place for its stack or thread */
	SP_LOSS_DISK,	/* maxdisk: the file that held it was removed */
	SP_LOSSES
};

/* What has happened so far; every report prints it. */
struct sp_counts {
	uint64_t samples; /* recorded */
	uint64_t lost;	  /* taken but not recorded: the sum of lost_by */
	uint64_t lost_by[SP_LOSSES];
	uint64_t truncated; /* recorded with frames missing below */
	uint64_t too_deep;  /* of them, those deeper than asked for; the rest ended early */
	uint64_t unknown;   /* recorded with an unknown or broken frame */
	uint64_t bytes;	    /* written to the recording */
};

/* How the agent speaks to whoever asked: one plain sentence, no newline (a fallback and its remedy,
 * a warning). Called from the control thread or the collector. */
typedef void sp_session_say_fn(void *ctx, const char *sentence);

struct sp_parcel;
struct sp_pieces;
struct sp_perf_source;

/* Starts recording to @out_fd (ownership passes on success), which must be a regular file unless
 * @args->stream. @pieces (borrowed for the session's life, may be NULL) says when another file is
 * to follow it. @perf (borrowed for the session's life, may be NULL) opens perf events that this
 * process may not. Returns 0, or -errno with a sentence in @err and nothing left behind. */
int sp_session_start(struct sp_session **ret, JavaVM *vm, const struct sp_args *args, int out_fd,
	struct sp_pieces *pieces, const struct sp_perf_source *perf, sp_session_say_fn *say,
	void *say_ctx, struct sp_err *err);

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
