/* Python processes below this JVM, such as PySpark's workers, and the Python of a driver's
 * application, in the JVM's own recording (src/pysample). They are sampled by a thread of their
 * own: a look at another process may take long, and nothing that the collector drains waits for it.
 * That thread writes by the collector's writer, under a lock that the collector holds while it is
 * awake; it is held neither while another process is read nor while anybody sleeps. */
#ifndef SP_AGENT_COLLECT_PYTHON_WORKERS_H
#define SP_AGENT_COLLECT_PYTHON_WORKERS_H

#include "capture/engine.h"
#include "jfr/writer.h"
#include "spark/spark_identity.h"
#include "spark/task_table.h"

struct sp_python_workers;

/* Whether @args ask for something that can be had of Python at all, and @id is of a JVM that may
 * have such: one of Spark's, or with python=on any. */
bool sp_python_workers_wanted(const struct sp_args *args, const struct sp_spark_identity *id);

/* Starts the thread. @capture, @tasks, @w and @dict are borrowed until _stop; @lock is the
 * caller's, who holds it whenever it uses @w or @dict; @driver: as below. Returns 0 or -errno with
 * a sentence. */
int sp_python_workers_start(struct sp_python_workers **ret, const struct sp_capture *capture,
	struct sp_task_table *tasks, struct sp_jfrw *w, struct sp_dict *dict, pthread_mutex_t *lock,
	bool driver, struct sp_err *err);

/* This JVM is a driver: also the Python of its application. Any thread. */
void sp_python_workers_of_driver(struct sp_python_workers *p);

/* All below: NULL is allowed, and then nothing happens. */

/* Before a flush, the lock held: writes what has gathered, and gives in @ret (samples,
 * truncated, lost_by) what there was since the last call. @ret_said: a sentence that has not been
 * said yet, or
 * "". */
void sp_python_workers_settle(
	struct sp_python_workers *p, struct sp_counts *ret, struct sp_err *ret_said);

/* After a flush that made all ids void, the lock held. */
void sp_python_workers_new_chunk(struct sp_python_workers *p);

/* Ends the thread, waits for it, and writes the end of all that it sampled. The lock is not held.
 * _settle may still be called. */
void sp_python_workers_end(struct sp_python_workers *p);
void sp_python_workers_free(struct sp_python_workers *p);

#endif
