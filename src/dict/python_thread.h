/* Which threads of a recording are Python's. The mark is the thread's group, written by who
 * samples them and read by reports: names of threads are anybody's. */
#ifndef SP_DICT_PYTHON_THREAD_H
#define SP_DICT_PYTHON_THREAD_H

#include "dict/dict.h"

enum sp_python_thread {
	SP_PYTHON_THREAD_NONE, /* not one of Python's */
	SP_PYTHON_THREAD_WORKER,
	SP_PYTHON_THREAD_DAEMON, /* forks workers */
	SP_PYTHON_THREAD_DRIVER, /* of a driver's application */
	SP_PYTHON_THREAD_OTHER,
	SP_PYTHON_THREADS
};

/* The name of the group that marks such threads; NULL for SP_PYTHON_THREAD_NONE. */
const char *sp_python_thread_group(enum sp_python_thread kind);

/* What thread @id is. Where its group is unknown (recordings before the mark, formats without
 * groups), its name decides, as these recordings have it: "python-worker-123". */
enum sp_python_thread sp_python_thread_of(const struct sp_dict *d, uint32_t id);

#endif
