/* What /proc says of a Python process and its threads, for the sampler. */
#ifndef SP_PYSAMPLE_PY_PROC_H
#define SP_PYSAMPLE_PY_PROC_H

#include "jfr/types.h" /* enum sp_state */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Children of all threads of @pid, at most @cap. With @main_only those of its main thread: what a
 * process that forks without threads has, and quicker. Returns how many. */
size_t sp_pyproc_children(pid_t pid, bool main_only, pid_t *ret, size_t cap);

/* Whether it may have children: a process can ask for its own without a look at each of its
 * threads; of others it may. Nothing changes by that. */
bool sp_pyproc_has_children(pid_t pid);

/* Start time in clock ticks: pid and this name one process. 0: it is gone. */
uint64_t sp_pyproc_start(pid_t pid);

/* The words of its command line with blanks between them, cut to fit; "" where there are none. */
void sp_pyproc_command(pid_t pid, char *ret, size_t len);

/* Whether the command line is one by which Spark starts Python: a module that is its worker, or
 * else its daemon, with a name that the user may choose (spark.python.daemon.module). Other Pythons
 * that a JVM runs as a module look alike. */
bool sp_pyproc_is_worker(const char *command);
bool sp_pyproc_is_daemon(pid_t pid, const char *command);

/* The thread of @pid that its own pid namespace calls @tid; 0: there is none. */
pid_t sp_pyproc_thread(pid_t pid, uint32_t tid);

/* The other way: what its own pid namespace calls thread @tid of @pid. */
uint32_t sp_pyproc_own_tid(pid_t pid, pid_t tid);

/* Where a thread is in the kernel. */
struct sp_pyproc_look {
	enum sp_state state;
	uint64_t run_ns;   /* CPU time so far, as schedstat has it */
	uint64_t delay_ns; /* waited for a CPU so far, booked when it gets one */
	uint64_t where;	   /* a hash of the system call that it is in; 0: not looked at */
};

/* @ret: from the last look at this thread, or zeros. @fds: two descriptors that are opened at the
 * first call and kept, as long as there are enough; -1 both before it. The caller closes them.
 * Returns 0 or -errno. */
int sp_pyproc_look(pid_t pid, pid_t tid, int fds[2], struct sp_pyproc_look *ret);

/* Memory and CPU time of a process. */
struct sp_pyproc_use {
	uint64_t rss, pss; /* bytes; pss 0: not asked for, or unknown */
	uint64_t cpu_ns;
};
int sp_pyproc_use(pid_t pid, bool with_pss, struct sp_pyproc_use *ret);

#endif
