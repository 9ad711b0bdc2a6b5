/* The recording of Python processes: stacks, threads and tasks into a JFR file, as the agent writes
 * those of a JVM. One thread at a time. */
#ifndef SP_PYSAMPLE_PY_RECORD_H
#define SP_PYSAMPLE_PY_RECORD_H

#include "base/err.h"
#include "dict/python_thread.h"
#include "jfr/writer.h"
#include "py/mixed_stack.h"
#include "py/pyspark_task.h"
#include "py/stack_reader.h"

#include <pthread.h>

struct sp_pyrecord;

struct sp_pyrecord_cfg {
	int fd; /* borrowed */
	bool stream;
	uint64_t chunk_bytes, chunk_ns;
	const char *event; /* "cpu", "wall": what the settings say */
	uint64_t cpu_ns, wall_ns;
	/* Of the process itself, where it is the target: becomes the JVM information of readers.
	 * NULL: Python beside a JVM; the recording of the JVM says all that. Borrowed for the call.
	 */
	const char *version, *command;
	pid_t pid;
};

int sp_pyrecord_open(
	struct sp_pyrecord **ret, const struct sp_pyrecord_cfg *cfg, struct sp_err *err);

/* The same in a recording that is there: @w and @dict are borrowed, and used only while @lock is
 * held. @pid: the target. Whoever owns it calls sp_pyrecord_new_chunk when ids are void; nobody
 * calls _flush. Returns 0 or -ENOMEM. */
int sp_pyrecord_join(struct sp_pyrecord **ret, struct sp_jfrw *w, struct sp_dict *dict,
	pthread_mutex_t *lock, pid_t pid);
void sp_pyrecord_new_chunk(struct sp_pyrecord *r);
bool sp_pyrecord_is_joined(const struct sp_pyrecord *r);

/* Where the recording is somebody else's, who flushes it and begins its chunks on a thread of its
 * own: around whatever is written, and around changes of what is written then (what has gathered in
 * threads of workers, and the lists of both). Ids stay as they are meanwhile. Not for who reads
 * another process, or waits. Elsewhere nothing happens. */
void sp_pyrecord_hold(struct sp_pyrecord *r);
void sp_pyrecord_release(struct sp_pyrecord *r);

/* There as well: around other uses of what is not the sampler's own, and may go with the recording.
 */
void sp_pyrecord_enter(struct sp_pyrecord *r);
void sp_pyrecord_exit(struct sp_pyrecord *r);

/* The recording ends though the sampler's thread does not: from here on that uses nothing of
 * others. In _enter or _hold it sleeps for good. @r stays. Called by who does not hold the lock. */
void sp_pyrecord_leave(struct sp_pyrecord *r);

/* Ids are void as soon as this number changes. */
uint32_t sp_pyrecord_generation(const struct sp_pyrecord *r);

/* Dictionary ids; 0: it is full. */
uint32_t sp_pyrecord_thread(
	struct sp_pyrecord *r, uint32_t tid, const char *name, enum sp_python_thread kind);
uint32_t sp_pyrecord_stack(struct sp_pyrecord *r, const struct sp_pystack *stack, uint32_t depth);
uint32_t sp_pyrecord_mixed(struct sp_pyrecord *r, const struct sp_pymixed *stack, uint32_t depth);

void sp_pyrecord_cpu(struct sp_pyrecord *r, uint64_t time_ns, uint32_t thread, uint32_t stack);
void sp_pyrecord_wall(struct sp_pyrecord *r, uint64_t time_ns, uint32_t thread, uint32_t stack,
	enum sp_state state, uint32_t samples, uint64_t span_ns);
void sp_pyrecord_task(struct sp_pyrecord *r, const struct sp_pytask *t, uint32_t thread,
	uint64_t start_ns, uint64_t end_ns);

/* Memory and CPU of a process, once a second; @task: what it works on, NULL: nothing. */
void sp_pyrecord_use(struct sp_pyrecord *r, uint64_t time_ns, uint32_t thread, pid_t pid,
	uint64_t rss, uint64_t pss, double cpu, const struct sp_pytask *task);

/* A worker's socket led to thread @java of the JVM; @task: what the worker itself says, -1:
 * nothing. */
void sp_pyrecord_socket(struct sp_pyrecord *r, uint32_t thread, uint32_t java, int64_t task,
	uint64_t start_ns, uint64_t end_ns);

/* Memory of the control group that the target is in, and what it may have. */
void sp_pyrecord_group(struct sp_pyrecord *r, uint64_t time_ns, uint64_t used, uint64_t limit);

/* Why stacks of Python are lost. */
#define SP_PYLOST_CHANGED "Python stack changed while it was read"

/* A sentence that reports repeat; samples that were lost, by reason. */
void sp_pyrecord_note(struct sp_pyrecord *r, const char *sentence);
void sp_pyrecord_lost(struct sp_pyrecord *r, const char *reason, uint64_t count);

/* Makes everything durable. Returns 0 or -errno, with a sentence. */
int sp_pyrecord_flush(struct sp_pyrecord *r, struct sp_err *err);
/* The same, and frees @r in any case. */
int sp_pyrecord_close(struct sp_pyrecord *r, struct sp_err *err);

/* A file as reports show it: without what is before its package ("pyspark/worker.py"). */
const char *sp_pyrecord_file(const char *path);

#endif
