/* Python processes that the agent in a JVM was refused by the kernel: the launcher may be root, or
 * of another user, and tries. Whoever reads the control connection adds; the sampler's thread asks.
 */
#ifndef SP_LAUNCHER_PYTHON_PY_REFUSED_H
#define SP_LAUNCHER_PYTHON_PY_REFUSED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SP_PYREFUSED_MAX = 1024 }; /* the newest */

struct sp_py_refused {
	pthread_mutex_t lock;
	size_t count; /* ever */
	pid_t pids[SP_PYREFUSED_MAX];
};

void sp_py_refused_init(struct sp_py_refused *r);
void sp_py_refused_done(struct sp_py_refused *r);

/* @pid: as the JVM counts. */
void sp_py_refused_add(struct sp_py_refused *r, pid_t pid);

/* Whether @pid, as seen from here, is one of them. */
bool sp_py_refused_has(struct sp_py_refused *r, pid_t pid);

#endif
