/* See py_ps.h. */
#include "py_ps.h"

#include "base/cleanup.h"
#include "pysample/driver_python.h"
#include "pysample/py_proc.h"

#include <string.h>

enum { CHILDREN = 256 };

static void add(struct sp_jvm *j, pid_t pid)
{
	if (j->python_worker_count < SP_COUNT(j->python_workers))
		j->python_workers[j->python_worker_count++] = pid;
}

/* A daemon's workers are what it forked; without one the JVM starts each itself. */
void sp_pyps_fill(struct sp_jvm *j)
{
	pid_t children[CHILDREN], workers[CHILDREN];
	size_t n = sp_jvm_is_spark(j) ? sp_pyproc_children(j->pid, false, children, CHILDREN) : 0;
	char command[4096];

	j->python_driver = j->role == SP_ROLE_DRIVER ? sp_driver_python(j->pid) : 0;
	for (size_t i = 0; i < n; i++) {
		size_t m;

		sp_pyproc_command(children[i], command, sizeof(command));
		if (sp_pyproc_is_worker(command))
			add(j, children[i]);
		if (!sp_pyproc_is_daemon(children[i], command))
			continue;
		m = sp_pyproc_children(children[i], true, workers, CHILDREN);
		for (size_t k = 0; k < m; k++)
			add(j, workers[k]);
	}
}
