/* Of the time that tasks are held at safepoints, what the collections themselves took, and what the
 * rest is: until all threads have stopped, and what the JVM does there beside. Inside of src/prof.
 *
 * No sample tells one from the other, but the JVM counts how long it collects, and a recording has
 * that once a second. So each stage's time at safepoints is divided as a whole. */
#ifndef SP_PROF_LOAD_GC_SHARE_H
#define SP_PROF_LOAD_GC_SHARE_H

#include "prof/model/profile.h"

/* Notes of each task for how long the JVM collected while it ran, and divides rows by that. Nothing
 * is done where the recording does not have the JVM's own count. @part: not all rows of the tasks
 * are there. Rows of the rest get the state SP_STATE_SAFEPOINT. Returns 0 or -ENOMEM. */
int sp_gc_share_apply(struct sp_profile *p, bool part);

#endif
