/* Python workers in the profile of a JVM: their stacks are put on top of the JVM's frame that waits
 * for them. Inside of src/prof. */
#ifndef SP_PROF_LOAD_PYTHON_GRAFT_H
#define SP_PROF_LOAD_PYTHON_GRAFT_H

#include "prof/model/profile.h"

/* Rows of Python workers (of a driver's Python: "[python driver]"): "[python worker]"
 * below their stack, and below that the frames of their task's thread down from where it reads what
 * the worker sends; of another task of the stage where the task's own thread was not seen there;
 * else nothing. Returns 0 or -ENOMEM. */
int sp_python_graft_join(struct sp_profile *p);

/* Of wall, counts the time of a task once: where its thread waits for Python, and for those who
 * feed it, what these did takes the place of the wait. For rows with times, which they lose then
 * unless @keep_times. Returns 0 or -ENOMEM. */
int sp_python_graft_fill(struct sp_profile *p, bool keep_times);

#endif
