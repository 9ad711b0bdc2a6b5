/* The launcher as a guest in the target's cgroup: see agent_link.h. */
#include "agent_link.h"
#include "base/units.h"
#include "base/cgroup.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	IOPRIO_WHO_SELF = 1,
	IOPRIO_IDLE = 3 << 13,
	/* The launcher stays below 64 MB; what it really takes for an attach is about 2 MB, the
	 * rest is room for the page cache of its own file and of the output. */
	LAUNCHER_BYTES = 32 << 20,
};

/* Failures do not matter: then the priority is what it was. */
void sp_guest_lower_priority(pid_t pid)
{
	struct sched_param none = {0};

	/* On a plain host both may sit in one session without limits: nothing is taken from it. */
	if (!sp_cgroup_is_guest(pid) || !sp_cgroup_is_limited(pid))
		return;
	setpriority(PRIO_PROCESS, 0, 19);
	sched_setscheduler(0, SCHED_IDLE, &none);
	syscall(SYS_ioprio_set, IOPRIO_WHO_SELF, 0, IOPRIO_IDLE);
}

int sp_guest_check_memory(pid_t pid, uint64_t agent_bytes, struct sp_err *err)
{
	uint64_t left, need = agent_bytes + (sp_cgroup_is_guest(pid) ? LAUNCHER_BYTES : 0);
	char a[32], b[32];

	if (sp_cgroup_memory_left(pid, &left) < 0 || left >= need)
		return 0;
	return sp_err_set(err, -ENOMEM,
		"pid %d: its cgroup has %s of memory left and this needs %s: the kernel might kill "
		"the "
		"target; raise its limit, take less with --memory, or go on with --force",
		(int)pid, sp_size_format(left, a, sizeof(a)), sp_size_format(need, b, sizeof(b)));
}
