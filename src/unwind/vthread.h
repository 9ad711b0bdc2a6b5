/* Which virtual thread a carrier's stack belongs to. The entry of a continuation on the stack names
 * the Continuation object; from there three references lead to the thread's name. They are read
 * through sp_mem like everything else, a few milliseconds after the sample, and each object is
 * checked to be of the class that belongs there: one that a garbage collection has moved meanwhile
 * gives no name, never another's. No Java code runs and nothing is kept alive.
 * Context: the collector only. */
#ifndef SP_UNWIND_VTHREAD_H
#define SP_UNWIND_VTHREAD_H

#include "unwind/hotspot.h"

#define SP_VTHREAD_NAME 256

struct sp_vthread {
	uint64_t id;		    /* java.lang.Thread's */
	char name[SP_VTHREAD_NAME]; /* UTF-8, cut where it is longer; "": it has none */
};

/* @continuation: sp_unwind_result's. Returns 0; -ENOTSUP where this JVM has no virtual threads or
 * describes them in another way; -ESTALE where the objects are not there (any more). */
int sp_vthread_get(struct sp_hotspot *h, uint64_t continuation, struct sp_vthread *ret);

#endif
