/* Where a process keeps its Python: which of its files is the interpreter, which version, where its
 * _PyRuntime lies. Reads /proc and the file as the process sees it. */
#ifndef SP_PY_FIND_RUNTIME_H
#define SP_PY_FIND_RUNTIME_H

#include "base/err.h"
#include "py/target_mem.h"

struct sp_pyruntime {
	uint64_t runtime; /* address of _PyRuntime */
	unsigned minor;	  /* 11: Python 3.11 */
	unsigned micro;	  /* 7 of 3.11.7; 255: unknown */
	char how[32];	  /* found by: ".dynsym", ".symtab", ".PyRuntime", "memory" */
};

/* Looks at process->pid. Where only process_vm_readv(2) is denied, @process has its file
 * afterwards: the caller closes it. Returns 0; -ENOEXEC where the process is no Python (or one
 * older than 3.8, which has another shape); -ENOENT where it is one but nothing shows where it
 * keeps its state; -EPERM where its memory may not be read; -ESRCH; with a sentence that follows
 * "pid N: ". */
int sp_pyruntime_find(
	struct sp_pymem_process *process, struct sp_pyruntime *ret, struct sp_err *err);

/* The minor version that a path names ("…/libpython3.11.so.1.0", "…/python3.8/lib-dynload/…"),
 * 0: none. */
unsigned sp_pyruntime_version(const char *path);

#endif
