/* Native frames of Python threads, between the Python ones. A thread that waits in the kernel is
 * read where it waits; one that runs, or needs its registers read, is stopped by ptrace(2) for
 * as long as copying its registers, its stack and its Python frames takes. One thread at a time. */
#ifndef SP_LAUNCHER_PYTHON_PY_NATIVE_H
#define SP_LAUNCHER_PYTHON_PY_NATIVE_H

#include "base/err.h"
#include "py/mixed_stack.h"
#include "py_ptrace.h"

struct sp_pynative;

/* Returns 0, or -errno with a sentence that follows "pid N: ". */
int sp_pynative_new(struct sp_pynative **ret, pid_t pid, struct sp_err *err);
void sp_pynative_free(struct sp_pynative *n);

/* The stack of reader->threads[@thread], which is thread @tid seen from here. @python: room.
 * Returns 0; -EPERM where it may not be stopped (another tracer, yama, a pod's filter); -ESRCH; and
 * what sp_pyreader_stack returns. */
int sp_pynative_stack(struct sp_pynative *n, struct sp_pyreader *reader, size_t thread, pid_t tid,
	struct sp_pystack *python, struct sp_pymixed *ret);

/* How often threads were stopped so far. */
struct sp_pyptraces sp_pynative_stops(const struct sp_pynative *n);

#endif
