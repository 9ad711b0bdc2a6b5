/* Memory of Python workers that the kernel does not let us read, but the JVM that they are children
 * of (kernel.yama.ptrace_scope 1): its agent is asked to open it and to pass the descriptor. The
 * sampler's thread asks and takes; whoever reads the control connection gives. */
#ifndef SP_LAUNCHER_PYTHON_PY_MEMORY_REQUEST_H
#define SP_LAUNCHER_PYTHON_PY_MEMORY_REQUEST_H

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

enum { SP_PYASK_MAX = 64 };

struct sp_py_memory_request_answer {
	pid_t pid; /* as the JVM counts */
	int error; /* 0: @fd is open */
	int fd;	   /* owned */
};

struct sp_py_memory_request {
	int socket; /* owned; -1: there is nobody to ask */
	pthread_mutex_t lock;
	struct sp_py_memory_request_answer answers[SP_PYASK_MAX];
	size_t count;
};

/* @socket: of the control connection, borrowed for the call; -1: none. */
void sp_py_memory_request_init(struct sp_py_memory_request *a, int socket);
void sp_py_memory_request_done(struct sp_py_memory_request *a);

/* Asks for the memory of @pid, a process as seen from here. Never waits. Returns the number by
 * which the answer will name it; -errno. */
pid_t sp_py_memory_request(struct sp_py_memory_request *a, pid_t pid);

/* An answer has come: from any thread. Ownership of @fd passes. */
void sp_py_memory_request_give(struct sp_py_memory_request *a, pid_t pid, int error, int fd);

/* The answers so far, at most SP_PYASK_MAX: returns how many. Ownership of descriptors passes. */
size_t sp_py_memory_request_take(
	struct sp_py_memory_request *a, struct sp_py_memory_request_answer *ret);

#endif
