/* One target's recording, from the launcher's side: get in, start, follow, stop, write. */
#ifndef SP_LAUNCHER_RUN_TARGET_RUN_H
#define SP_LAUNCHER_RUN_TARGET_RUN_H

#include "agent_link.h"
#include "base/buf.h"
#include "cli/options.h"
#include "discover/jvm.h"
#include "discover/target.h"
#include "outputs.h"

struct sp_pysampler;

struct sp_target_run {
	const struct sp_jvm *target; /* borrowed */
	struct sp_link link;
	struct sp_outputs outputs;
	uint64_t counts[SP_PROGRESS_NUMS];
	char stages[128];	   /* Spark's that ran a moment ago; "" */
	bool recording;		   /* the agent records for this run */
	uint64_t began_ns, cpu_ns; /* when it began to record, and its CPU time at that moment */
	bool died;		   /* the target ended before the recording did */
	int code;		   /* exit code of what went wrong; SP_EXIT_DONE so far */
	size_t after;		   /* so many targets are entered after it */
	bool minds_busy; /* that another records the target is kept in busy, and no failure */
	struct sp_err busy;

	bool is_python;		     /* the target is no JVM: nothing is loaded into it */
	struct sp_pysampler *python; /* owned; NULL: no Python is sampled now */
	/* Of Python processes below a JVM that we sample ourselves, until it is joined: */
	const struct sp_call *python_call; /* borrowed */
	int python_fd;			   /* owned; -1: none */
	uint64_t python_counts[2];	   /* samples, lost */
	unsigned python_workers;	   /* processes that were sampled */
	bool python_said;		   /* why one was not is in it */
};

void sp_target_run_init(struct sp_target_run *run, const struct sp_jvm *target);
void sp_target_run_done(struct sp_target_run *run);

/* Opens the outputs, gets in and starts the recording. A failure is reported and kept in code. */
void sp_target_run_start(struct sp_target_run *run, const struct sp_call *call);

/* Takes one message that is ready: progress, or the end of the target. */
void sp_target_run_follow(struct sp_target_run *run);

/* The agent's sentence of what was asked for and never seen ("": all was) is an error; the
 * recording is whole nonetheless. */
void sp_target_run_missing(struct sp_target_run *run, const char *sentence);

/* Ends the recording and lets go of the target. Failures are reported and kept in code. */
void sp_target_run_stop(struct sp_target_run *run);

/* Ends the recording and writes the outputs; also where the target died: what was flushed is there.
 * Failures are reported and kept in code. */
void sp_target_run_finish(struct sp_target_run *run, const struct sp_call *call);

/* Resolves the targets of @call, refuses those that cannot be entered before anything is attached,
 * and makes a run of each. Returns an exit code; with SP_EXIT_DONE *ret_runs (owned) has one per
 * target. */
__attribute__((warn_unused_result)) int sp_target_runs_new(
	const struct sp_call *call, struct sp_targets *targets, struct sp_target_run **ret_runs);
/* Of runs that were not begun because of a Ctrl-C: those from @from on. Says so, and it is their
 * exit code. */
void sp_target_runs_skip(struct sp_target_run *runs, size_t from, size_t n);

void sp_target_runs_free(struct sp_target_run *runs, size_t n);

/* The worst exit code of all. */
int sp_target_runs_code(const struct sp_target_run *runs, size_t n);

#endif
