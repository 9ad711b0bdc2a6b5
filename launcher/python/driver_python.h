/* The Python process of a PySpark driver: the JVM's parent where Python started the JVM (a
 * notebook, `python app.py`, pyspark), or its child under `spark-submit app.py`. Found by command
 * lines: no memory is read. */
#ifndef SP_LAUNCHER_PYTHON_DRIVER_PYTHON_H
#define SP_LAUNCHER_PYTHON_DRIVER_PYTHON_H

#include "discover/jvm.h"

/* Returns its pid as seen from here; 0: @j is no driver, or has none. */
pid_t sp_driver_python(const struct sp_jvm *j);

#endif
