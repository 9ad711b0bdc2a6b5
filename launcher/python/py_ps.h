/* PySpark's workers below a JVM, for `ps`. */
#ifndef SP_LAUNCHER_PYTHON_PY_PS_H
#define SP_LAUNCHER_PYTHON_PY_PS_H

#include "discover/jvm.h"

/* Fills python_workers and python_driver of a JVM of Spark's, by the command lines of what it
 * started: no memory of theirs is read. Others are left as they are. */
void sp_pyps_fill(struct sp_jvm *j);

#endif
