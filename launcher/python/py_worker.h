/* One Python process that is being sampled: its threads, the task it works on, what it uses. Used
 * by the sampler's thread alone. */
#ifndef SP_LAUNCHER_PYTHON_PY_WORKER_H
#define SP_LAUNCHER_PYTHON_PY_WORKER_H

#include "py/find_runtime.h"
#include "py/pyspark_task.h"
#include "py/stack_reader.h"
#include "py_proc.h"
#include "py_record.h"

struct sp_pyworker_thread {
	uint64_t addr;	/* of its thread state */
	uint32_t told;	/* what Python calls it */
	uint32_t tid;	/* in its own pid namespace */
	pid_t host_tid; /* as seen from here; 0: not found */
	int fds[2];
	bool seen, known; /* in the list now; was looked at before */
	bool sampled;	  /* … and its stack was read */
	uint64_t run_ns, delay_ns, last_ns, carry_ns;
	uint64_t held_ns;     /* since when there is CPU time whose place is not known; 0: none */
	int64_t wait_owed_ns; /* waited for a CPU, not written yet; below 0: written too much */
	uint32_t generation, thread, stack; /* ids of the recording; stack 0: none to be had */
	uint32_t busy; /* … of its stack when it was last found running; 0: not yet */
	/* wall time in one stack and state that is not written yet; samples 0: none */
	uint64_t since_ns, span_ns;
	uint32_t samples;
	enum sp_state state;
};

struct sp_pyworker {
	pid_t pid, parent;
	uint64_t start_ticks;
	bool python, worker; /* it is one; it works for Spark */
	bool spark;	     /* a worker, or the daemon that forks them */
	bool driver;	     /* the Python of a driver's application */
	bool refused;	     /* its memory may not be read */
	bool asked;	     /* … and the JVM's agent was asked to open it, */
	pid_t own_pid;	     /* by this number; */
	struct sp_err why;   /* what to say if it cannot */
	bool jvm;	     /* a java of its own, such as an executor below its driver */
	char exe[256];	     /* what it ran when it was looked at */
	char name[64];	     /* python-worker-123 */
	struct sp_pyruntime place;
	struct sp_pymem_process process;
	struct sp_pyreader reader;
	struct sp_pynative *native; /* owned; NULL: not asked for, or not to be had */
	bool native_tried;
	struct sp_pyptrace stop;	    /* --blocking */
	struct sp_pyworker_thread *threads; /* owned */
	size_t thread_count;
	struct sp_pytask_place task_place;
	struct sp_pytask task; /* tid -1: none */
	uint64_t task_since_ns, task_search_ns, first_ns;
	uint64_t idle_ns;     /* since when it has no task, or none that its socket told */
	uint64_t idle_run_ns; /* its CPU time then */
	uint32_t java;	      /* the JVM's thread that its socket led to then; 0: none */
	bool had_task;
	bool was_idle;		 /* it said that it has no task, or had another before */
	uint64_t cpu_ns, use_ns; /* at the last look */
	uint64_t pss;		 /* the last one */
	unsigned pss_pause;	 /* looks without pss that are still to come */
};

/* What all workers share. */
struct sp_pysampling {
	struct sp_pyrecord *record;
	uint64_t cpu_ns, wall_ns; /* intervals; 0: not asked for */
	uint32_t depth;
	const char *thread;		   /* --thread, NULL: all */
	struct sp_pystack *stack;	   /* room */
	struct sp_pymixed *mixed;	   /* room; NULL: no native frames */
	bool blocking;			   /* threads that run are stopped */
	struct sp_pyptraces stops;	   /* of processes that have gone */
	uint64_t bare;			   /* samples without their native frames */
	uint64_t unstopped;		   /* threads that could not be */
	uint64_t samples, lost, truncated; /* so far */
};

/* Looks whether @pid is a Python and prepares to read it. @like: a process that it may have been
 * forked from, NULL: none. @file: /proc/PID/mem, opened by somebody who may, ownership passes; -1:
 * none. Returns 0, also for what is no Python (w->python says); -EPERM where it is one that may not
 * be read, with a sentence; -ESRCH; -ENOMEM. sp_pyworker_done in any case. */
int sp_pyworker_init(struct sp_pyworker *w, pid_t pid, const struct sp_pyworker *like, int file,
	struct sp_err *err);
void sp_pyworker_done(struct sp_pyworker *w);

/* It is the Python of a driver's application: its name says so, and what it starts is its own. */
void sp_pyworker_is_drivers(struct sp_pyworker *w);

/* Adds how often threads of @w were stopped. */
void sp_pyworker_stops(const struct sp_pyworker *w, struct sp_pyptraces *sum);

/* CPU time since the last look, which found it in @stack: samples, now or once their place is
 * known; and what is held back still, at a task's or thread's end. For sp_pyworker_sample. */
void sp_pyworker_cpu(struct sp_pyworker_thread *t, struct sp_pysampling *s, uint64_t now_ns,
	uint64_t used_ns, uint32_t stack, bool runs);
void sp_pyworker_settle(struct sp_pyworker_thread *t, struct sp_pysampling *s);

/* Writes the wall time of a thread that has gathered: before its stack, state or task is another.
 */
void sp_pyworker_wall(struct sp_pyworker_thread *t, struct sp_pysampling *s);

/* Which task it works on now; and the end of it. For sp_pyworker_sample and _flush. */
void sp_pyworker_task(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns);
void sp_pyworker_end_task(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns);
void sp_pyworker_thread_name(
	const struct sp_pyworker *w, const struct sp_pyworker_thread *t, char *ret, size_t len);

/* Takes a sample of each thread. Returns 0, or -ESRCH once it has ended (or runs something else).
 */
int sp_pyworker_sample(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns);

/* Writes what has gathered: before every flush. With @end also the task that it works on. */
void sp_pyworker_flush(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns, bool end);

/* Whether it has worked since its socket was looked at, and does not say for whom. */
bool sp_pyworker_is_unknown(const struct sp_pyworker *w);

/* What its socket tells: it leads to thread @java of the JVM. Where the worker says itself whom it
 * works for, that is compared; else it is what is known. */
void sp_pyworker_socket(
	struct sp_pyworker *w, struct sp_pysampling *s, uint32_t java, uint64_t now_ns);

/* Memory and CPU, once a second. */
void sp_pyworker_use(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns);

#endif
