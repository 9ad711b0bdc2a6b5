/* Workers of Spark that go on after their daemon has died: nobody below the JVM is their parent any
 * more. They stay in the daemon's process group, which has lost its leader; whose they are says the
 * socket that a task's thread waits for. */
#ifndef SP_PYSAMPLE_PY_ORPHANS_H
#define SP_PYSAMPLE_PY_ORPHANS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SP_PYORPHANS_MAX = 64 };

struct sp_pyorphans {
	bool wanted; /* a daemon died, or may have died before: set by the user */
	pid_t list[SP_PYORPHANS_MAX];
	size_t count;
	unsigned rounds; /* in which they are still asked for */
};

/* Once a second: brings the list up to date, by a look at all processes where @o->wanted says so.
 * They stay for ten rounds, for a task's thread does not wait all the time. */
void sp_pyorphans_look(struct sp_pyorphans *o);

#endif
