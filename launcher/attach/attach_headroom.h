/* Room for attaching: a JVM that does not listen yet starts a thread for it, and exits where it
 * cannot (seen with JDK 17, 21 and 25). */
#ifndef SP_LAUNCHER_ATTACH_ATTACH_HEADROOM_H
#define SP_LAUNCHER_ATTACH_ATTACH_HEADROOM_H

#include "base/err.h"

#include <sys/types.h>

/* Returns 0, or -EAGAIN and which limit of @pid leaves no room. */
int sp_attach_headroom_check(pid_t pid, struct sp_err *err);

#endif
