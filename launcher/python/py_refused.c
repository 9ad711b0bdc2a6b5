/* See py_refused.h. */
#include "py_refused.h"

#include "pysample/py_proc.h"

void sp_py_refused_init(struct sp_py_refused *r)
{
	pthread_mutex_init(&r->lock, NULL);
	r->count = 0;
}

void sp_py_refused_done(struct sp_py_refused *r)
{
	pthread_mutex_destroy(&r->lock);
}

void sp_py_refused_add(struct sp_py_refused *r, pid_t pid)
{
	pthread_mutex_lock(&r->lock);
	r->pids[r->count++ % SP_PYREFUSED_MAX] = pid;
	pthread_mutex_unlock(&r->lock);
}

bool sp_py_refused_has(struct sp_py_refused *r, pid_t pid)
{
	pid_t own = (pid_t)sp_pyproc_own_tid(pid, pid);
	bool found = false;

	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->count && i < SP_PYREFUSED_MAX && own; i++)
		found |= r->pids[i] == own;
	pthread_mutex_unlock(&r->lock);
	return found;
}
