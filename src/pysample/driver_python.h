/* The Python process of a PySpark driver: the JVM's parent where Python started the JVM (a
 * notebook, `python app.py`, pyspark), or its child under `spark-submit app.py`. Found by command
 * lines: no memory is read. */
#ifndef SP_PYSAMPLE_DRIVER_PYTHON_H
#define SP_PYSAMPLE_DRIVER_PYTHON_H

#include <sys/types.h>

/* Of the driver @jvm: returns its pid as seen from here; 0: it has none. */
pid_t sp_driver_python(pid_t jvm);

#endif
