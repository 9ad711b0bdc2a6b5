/* Python's part in a run (target_run.h): a Python process as the target, or the Python workers
 * below a JVM that records itself. The latter have a recording of their own, OUT.python.jfr beside
 * the JVM's, so that a killed run loses neither; at the end its chunks are put behind the JVM's. */
#ifndef SP_LAUNCHER_RUN_PY_RUN_H
#define SP_LAUNCHER_RUN_PY_RUN_H

#include "target_run.h"

/* Whether a target that is no JVM can be sampled as a Python. Returns 0; -errno with a sentence
 * that follows "pid N: ". */
int sp_pyrun_check(const struct sp_jvm *target, const struct sp_call *call, struct sp_err *err);

/* Whether a target is no JVM, but a Python whose memory may be read. */
bool sp_pyrun_is(const struct sp_jvm *target);

/* Starts the recording of a Python target in run->outputs, which are open. Returns 0 or -errno with
 * a sentence. */
int sp_pyrun_start(struct sp_target_run *run, const struct sp_call *call, struct sp_err *err);

/* Begins with the Python workers of a JVM whose recording runs, where --python wants them. What
 * goes wrong is said; the JVM's half goes on. */
void sp_pyrun_start_beside(struct sp_target_run *run, const struct sp_call *call);

/* Puts what was recorded of workers behind the JVM's recording, which has ended. */
void sp_pyrun_join(struct sp_target_run *run, const struct sp_call *call);
void sp_pyrun_done(struct sp_target_run *run);

/* Brings run->counts up to date; where the target has ended, run->recording ends too. */
void sp_pyrun_look(struct sp_target_run *run);

/* Ends the recording. Failures are reported and kept in run->code. */
void sp_pyrun_stop(struct sp_target_run *run);

#endif
