/* See cpu_sum.h. */
#include "cpu_sum.h"

#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/message.h"

#define DEFAULT_NS 10000000ull

/* The kernel's encoding of another process's CPU clock (include/linux/posix-timers_types.h). */
uint64_t sp_cpu_sum_read(pid_t pid)
{
	return sp_clock_read((clockid_t)(~(uint32_t)pid << 3 | 2));
}

/* Much of what was used is in no sample: more than the agent itself may have used. */
static bool is_unseen(const struct sp_cpu_sum *sum, uint64_t shown_ns)
{
	uint64_t least = 1000000000 > sum->took_ns / 20 ? 1000000000 : sum->took_ns / 20;

	return sum->used_ns > 2 * shown_ns && sum->used_ns - shown_ns > least;
}

void sp_cpu_sum_explain(pid_t pid, const struct sp_call *call, const struct sp_cpu_sum *sum)
{
	const struct sp_call_event *e = &call->events[0];
	uint64_t interval = e->interval ? e->interval : DEFAULT_NS;
	uint64_t shown = sum->samples * interval;
	char used[32], seen[32], each[32];

	if (call->n_events != 1 || strcmp(e->name, "cpu") != 0)
		return;
	if (!call->filter && !call->thread && is_unseen(sum, shown))
		sp_message_warn("pid %d: used %s of CPU, and samples show %s of it: most likely "
				"threads end before they have used %s; a shorter -i, or -e itimer, "
				"shows them",
			(int)pid, sp_duration_format(sum->used_ns, used, sizeof(used)),
			sp_duration_format(shown, seen, sizeof(seen)),
			sp_duration_format(interval, each, sizeof(each)));
	else if (sum->samples + sum->others == 0)
		sp_message_warn("pid %d: used so little CPU that there is no sample; -e wall shows "
				"what its threads wait for",
			(int)pid);
}
