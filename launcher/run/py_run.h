/* Python's part in a run (target_run.h): a Python process as the target, or the Python workers
 * below a JVM that records itself. These the agent samples, into its own recording; the launcher
 * does where threads are stopped for it (--native, --blocking), and those processes that the agent
 * may not read: into a file without a name, which is put behind the JVM's recording at the end. The
 * agent has that too, and does so where the launcher is killed. */
#ifndef SP_LAUNCHER_RUN_PY_RUN_H
#define SP_LAUNCHER_RUN_PY_RUN_H

#include "target_run.h"

/* Whether a target that is no JVM can be sampled as a Python. Returns 0; -errno with a sentence
 * that follows "pid N: ". */
int sp_pyrun_check(const struct sp_jvm *target, const struct sp_call *call, struct sp_err *err);

/* Whether a target is no JVM, but a Python with memory that may be read. */
bool sp_pyrun_is(const struct sp_jvm *target);

/* Starts the recording of a Python target in run->outputs, which are open. Returns 0 or -errno with
 * a sentence. */
__attribute__((warn_unused_result)) int sp_pyrun_start(
	struct sp_target_run *run, const struct sp_call *call, struct sp_err *err);

/* Before the agent starts: opens what the launcher may sample into, run->python_fd, where --python
 * wants any, and waits for processes that the agent may not read. @call is borrowed until the end.
 */
void sp_pyrun_prepare(struct sp_target_run *run, const struct sp_call *call);

/* Begins with the Python workers of a JVM that is being recorded, where the agent leaves them to
 * us. What goes wrong is said; the JVM's half goes on. */
void sp_pyrun_start_beside(struct sp_target_run *run, const struct sp_call *call);

/* Puts what the launcher recorded of workers behind the JVM's recording, which has ended. */
void sp_pyrun_join(struct sp_target_run *run, const struct sp_call *call);
void sp_pyrun_done(struct sp_target_run *run);

/* Brings run->counts up to date; where the target has ended, run->recording ends too. */
void sp_pyrun_look(struct sp_target_run *run);

/* Ends the recording. Failures are reported and kept in run->code. */
void sp_pyrun_stop(struct sp_target_run *run);

#endif
