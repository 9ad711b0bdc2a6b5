/* See memory_budget.h. */
#include "memory_budget.h"

#include "base/cgroup.h"
#include "base/units.h"
#include "host/address_room.h"
#include "options/memory_shares.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

uint64_t sp_memory_budget_left(void)
{
	uint64_t left;

	return sp_cgroup_memory_left(0, &left) < 0 ? UINT64_MAX : left;
}

/* Addresses that a recording takes: tables sized for the worst case, stacks of threads, its memory
 * (31 to 50 MB with the usual 12 MB, measured), and the arena that glibc gives to a thread of ours
 * where the JVM allocates on it (64 MB). Python's processes (collect/python_workers.c) come on top.
 */
static uint64_t addresses(const struct sp_args *args)
{
	uint64_t python = strcmp(args->python, "off") == 0
				  ? 0
				  : (4ull << 20) + args->memory / SP_SHARE_PYTHON_CODE +
					    args->memory / SP_SHARE_PYTHON_PROCESSES;

	return (104ull << 20) + 2 * args->memory + python;
}

/* A JVM at its limit of addresses ends itself at the next allocation of its own. */
static int check_addresses(const struct sp_args *args, struct sp_err *err)
{
	uint64_t left = sp_address_room(), need = addresses(args) + SP_BUDGET_HOST;
	char a[32], b[32];

	if (left >= need)
		return 0;
	return sp_err_set(err, -ENOMEM,
		"the target may map only %s more memory (ulimit -v or -d); a recording needs %s to "
		"leave enough for the JVM itself",
		sp_size_format(left, a, sizeof(a)), sp_size_format(need, b, sizeof(b)));
}

int sp_memory_budget_apply(struct sp_args *args, sp_say_fn *say, void *say_ctx, struct sp_err *err)
{
	uint64_t left = sp_memory_budget_left(), may = left / 20;
	char a[32], b[32], text[256];

	if (may >= args->memory)
		return check_addresses(args, err);
	if (may < SP_BUDGET_MIN)
		return sp_err_set(err, -ENOMEM,
			"the target's memory cgroup has only %s left, too little to record there",
			sp_size_format(left, a, sizeof(a)));
	snprintf(text, sizeof(text),
		"the target's memory cgroup has %s left: using %s for the recording, which may "
		"lose samples",
		sp_size_format(left, a, sizeof(a)), sp_size_format(may, b, sizeof(b)));
	args->memory = may;
	if (say)
		say(say_ctx, text);
	return check_addresses(args, err);
}
