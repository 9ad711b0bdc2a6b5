/* A recording of a run of an earlier version that was killed has its Python half in a file beside
 * it, OUT.jfr.python.jfr: both are read as one. */
#ifndef SP_LAUNCHER_REPORT_PYTHON_SIDECAR_H
#define SP_LAUNCHER_REPORT_PYTHON_SIDECAR_H

#include <stdbool.h>

/* Behind a recording's name. */
#define SP_HALF_PYTHON ".python.jfr"

/* Opens @path for reading; with its other half behind it where there is one of the same time.
 * Returns a descriptor, the caller's, or -errno. */
__attribute__((warn_unused_result)) int sp_python_sidecar_open(const char *path);

/* Whether @other is the half that sp_python_sidecar_open(@path) reads too. */
bool sp_python_sidecar_has(const char *path, const char *other);

#endif
