/* Python workers in the profile of a JVM: their stacks are put on top of the JVM's frame that waits
 * for them. Inside of src/prof. */
#ifndef SP_PROF_PYTHON_H
#define SP_PROF_PYTHON_H

#include "prof/profile.h"

/* Rows of threads called python-worker-…: "[python worker]" below their stack, and below that the
 * frames of their task's thread down from where it reads what the worker sends; of another task of
 * the stage where the task's own thread was not seen there; else nothing. Returns 0 or -ENOMEM. */
int sp_profile_join_python(struct sp_profile *p);

#endif
