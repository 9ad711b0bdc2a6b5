/* One Python process that is being sampled: its threads, the task it works on, what it uses. Used
 * by the sampler's thread alone. */
#ifndef SP_PYSAMPLE_PY_WORKER_H
#define SP_PYSAMPLE_PY_WORKER_H

#include "py/find_runtime.h"
#include "py/pyspark_task.h"
#include "py/stack_reader.h"
#include "pysample/py_proc.h"
#include "pysample/py_record.h"

struct sp_pyworker_thread {
	uint64_t addr;	     /* of its thread state */
	uint32_t python_tid; /* what Python calls it */
	uint32_t tid;	     /* in its own pid namespace */
	pid_t host_tid;	     /* as seen from here; 0: not found */
	int fds[2];
	bool seen, known; /* in the list now; was looked at before */
	bool sampled;	  /* … and its stack was read */
	bool looked;	  /* at is of this look, whose stack is not read yet */
	struct sp_pyproc_look at;
	uint64_t run_ns, delay_ns, last_ns, carry_ns;
	uint64_t held_ns;     /* since when there is CPU time without a known stack; 0: none */
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
	void *way;	       /* of struct sp_pyway, who frees it in gone(); NULL: nothing yet */
	bool whole;	       /* at the last look all of it was read */
	bool rests;	       /* as sp_pyworker_rests said before this look */
	uint64_t now_clock_ns; /* its CPU clock just now; 0: it is gone */
	uint64_t clock_ns;     /* … before its memory was read last; 0: it was not yet */
	uint64_t looked_ns;    /* … and when that was */
	struct sp_pyworker_thread *threads; /* owned */
	size_t thread_count, thread_cap;
	struct sp_pytask_place task_place;
	struct sp_pytask task; /* tid -1: none */
	uint64_t task_since_ns, task_search_ns, first_ns;
	uint64_t idle_ns;     /* since when it has no task, or none that its socket showed */
	uint64_t idle_run_ns; /* its CPU time then */
	uint32_t java;	      /* the JVM's thread that its socket led to then; 0: none */
	bool had_task;
	bool was_idle;		 /* it said that it has no task, or had another before */
	uint64_t cpu_ns, use_ns; /* at the last look */
	uint64_t pss;		 /* the last one */
	uint64_t pss_due_ns;	 /* when it is looked at again */
	uint64_t rss, use_clock; /* the last one, and its CPU clock then */
};

struct sp_pysampling;

/* Another way to a stack than by memory alone: with native frames, or of a thread that is stopped
 * meanwhile. */
struct sp_pyway {
	void *ctx;
	/* Reads the stack of w->reader.threads[@number], which is thread @tid seen from here, into
	 * s->stack; or, where *ret_mixed says so, with native frames into s->mixed.
	 * Returns as sp_pyreader_stack. */
	int (*read)(void *ctx, struct sp_pyworker *w, size_t number, pid_t tid,
		struct sp_pysampling *s, bool *ret_mixed);
	void (*gone)(void *ctx, struct sp_pyworker *w); /* before it is freed */
};

/* What all workers share. */
struct sp_pysampling {
	struct sp_pyrecord *record;
	uint64_t cpu_ns, wall_ns;   /* intervals; 0: not asked for */
	uint32_t depth, depth_left; /* frames of a stack, and of one that has more; left 0: depth */
	const char *thread;	    /* --thread, NULL: all */
	struct sp_pystack *stack;   /* room */
	struct sp_pywalk *walk;	    /* room, for all readers */
	struct sp_pymixed *mixed;   /* room; NULL: no native frames */
	const struct sp_pyway *way; /* borrowed; NULL: by memory */
	uint64_t samples, truncated; /* so far */
	uint64_t lost;		     /* stacks that changed while they were read */
	uint64_t refused;	     /* those that the recording had no room for */
};

/* Looks whether @process is a Python and prepares to read it. @process: its pid, and how it may be
 * read; copied, ownership of its file passes. @like: a process that it may have been forked from,
 * NULL: none. Returns 0, also for what is no Python (w->python says); -EPERM where it is one that
 * may not be read, with a sentence; -ESRCH; -ENOMEM. sp_pyworker_done in any case. */
int sp_pyworker_init(struct sp_pyworker *w, const struct sp_pymem_process *process,
	const struct sp_pyworker *like, struct sp_err *err);
void sp_pyworker_done(struct sp_pyworker *w);

/* The same without a look whether it is a Python: it is none for us. Returns 0 or -ESRCH. */
int sp_pyworker_init_other(struct sp_pyworker *w, pid_t pid);

/* Whether it still executes what it did when it was looked at. */
bool sp_pyworker_is_same_program(const struct sp_pyworker *w);

/* It is the Python of a driver's application: its name says so, and what it starts is its own. */
void sp_pyworker_is_drivers(struct sp_pyworker *w);

/* Its daemon has died: it has the daemon's command line, and is a worker. */
void sp_pyworker_is_orphan(struct sp_pyworker *w);

/* CPU time since the last look, which found it in @stack: samples, now or once their place is
 * known; and what is held back still, at a task's or thread's end. For sp_pyworker_sample. */
void sp_pyworker_cpu(struct sp_pyworker_thread *t, struct sp_pysampling *s, uint64_t now_ns,
	uint64_t used_ns, uint32_t stack, bool runs);
void sp_pyworker_settle(struct sp_pyworker_thread *t, struct sp_pysampling *s);

/* Writes the wall time of a thread that has gathered: before its stack, state or task is another.
 */
void sp_pyworker_wall(struct sp_pyworker_thread *t, struct sp_pysampling *s);

/* A look found it at t->at: what it had to wait for a core since the last one; and its time since
 * then in @stack. For sp_pyworker_sample, in this order. */
void sp_pyworker_owe_wait(struct sp_pyworker_thread *t, struct sp_pysampling *s, uint64_t now_ns);
void sp_pyworker_add_wall(
	struct sp_pyworker_thread *t, struct sp_pysampling *s, uint64_t now_ns, uint32_t stack);

/* How its threads are marked in the recording. */
enum sp_python_thread sp_pyworker_kind(const struct sp_pyworker *w);

/* Which task it works on now; and the end of it. For sp_pyworker_sample and _flush. */
void sp_pyworker_task(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns);
void sp_pyworker_end_task(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns);
void sp_pyworker_thread_name(
	const struct sp_pyworker *w, const struct sp_pyworker_thread *t, char *ret, size_t len);

/* Whether nothing of it has run since it was read last, all of it: then its memory is as it was,
 * and it has no new child. One call of the kernel. Once before each sp_pyworker_sample. */
bool sp_pyworker_rests(struct sp_pyworker *w);

/* Whether it has to be read now. Where only CPU time is asked for, not before it has used enough
 * for a sample; but several times in the life of a short task. */
bool sp_pyworker_is_due(
	const struct sp_pyworker *w, const struct sp_pysampling *s, uint64_t now_ns);

/* Takes a sample of each thread. Returns 0, or -ESRCH once it has ended (or runs something else).
 */
int sp_pyworker_sample(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns);

/* Writes what has gathered: before every flush, while the record is held. With @end it also ends
 * the task that it works on; without, that is written as far as it has come where the recording is
 * somebody else's, whose process may be killed. */
void sp_pyworker_flush(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns, bool end);

/* Whether it has worked since its socket was looked at, and does not say for which task. */
bool sp_pyworker_is_unknown(const struct sp_pyworker *w);

/* What its socket shows: it leads to thread @java of the JVM. Where the worker says itself what it
 * works for, that is compared; else it is what is known. */
void sp_pyworker_socket(
	struct sp_pyworker *w, struct sp_pysampling *s, uint32_t java, uint64_t now_ns);

/* Memory and CPU, once a second. */
void sp_pyworker_use(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns);

#endif
