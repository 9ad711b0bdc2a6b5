/* Whether what this process takes is taken from a JVM: it runs in the control group of one, and
 * that group has a limit. */
#ifndef SP_LAUNCHER_PROC_CGROUP_GUEST_H
#define SP_LAUNCHER_PROC_CGROUP_GUEST_H

#include <stdbool.h>

/* For actions without a target: looks at the java processes of this host. */
bool sp_cgroup_guest_of_jvm(void);

#endif
