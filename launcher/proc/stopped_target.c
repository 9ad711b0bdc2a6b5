/* Stopped targets: see stopped_target.h. A tracer such as strace stops a process for
 * moments, all the time: only one that is found stopped twice is worth a word. */
#include "stopped_target.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/message.h"
#include "proc.h"

static const uint64_t look_ns = 500000000;

bool sp_stopped_target_is(pid_t pid, const char **ret_by)
{
	SP_AUTO_CLOSE int procfd = sp_proc_root();
	SP_AUTO_PROC struct sp_proc p = {.dir = -1};
	struct sp_proc_status status;

	if (sp_proc_open(procfd, pid, &p) < 0 || sp_proc_read_status(&p, &status) < 0 ||
		(status.state != 'T' && status.state != 't'))
		return false;
	if (ret_by)
		*ret_by = status.state == 't' ? "by a debugger" : "SIGSTOP";
	return true;
}

bool sp_stopped_target_look(struct sp_stopped_target *h, pid_t pid, const char *so)
{
	uint64_t now = sp_clock_mono_ns();
	const char *by;

	if (now - h->looked_ns < look_ns)
		return h->times > 1;
	h->looked_ns = now;
	h->times = sp_stopped_target_is(pid, &by) ? h->times + 1 : 0;
	if (h->times > 1)
		sp_message_warn("pid %d: it is stopped (%s), so %s; kill -CONT %d lets it go on",
			(int)pid, by, so, (int)pid);
	return h->times > 1;
}
