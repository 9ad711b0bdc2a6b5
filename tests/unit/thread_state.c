/* base/thread_state.c: which system calls mean which state. */
#include "base/thread_state.h"

#include "base/cleanup.h"

#include <criterion/criterion.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Descriptors of a process that has one of each kind. */
static bool mode_of(void *ctx, uint64_t fd, mode_t *ret)
{
	static const mode_t modes[] = {S_IFREG, S_IFSOCK, S_IFIFO, S_IFCHR, S_IFBLK, S_IFDIR};

	if (fd >= SP_COUNT(modes))
		return false;
	*ret = modes[fd];
	return true;
}

Test(thread_state, of_system_calls)
{
	static const struct {
		long nr;
		uint64_t first;
		enum sp_state state;
	} cases[] = {
		{SYS_futex, 0, SP_STATE_LOCK},
		{SYS_clock_nanosleep, 0, SP_STATE_SLEEP},
		{SYS_select, 0, SP_STATE_SLEEP},
		{SYS_select, 5, SP_STATE_POLL},
		{SYS_pselect6, 0, SP_STATE_SLEEP},
		{SYS_epoll_pwait, 7, SP_STATE_POLL},
		{SYS_recvmmsg, 1, SP_STATE_NET},
		{SYS_connect, 0, SP_STATE_NET},
		{SYS_unlinkat, 0, SP_STATE_DISK},
		{SYS_read, 0, SP_STATE_DISK},
		{SYS_read, 1, SP_STATE_NET},
		{SYS_read, 2, SP_STATE_BLOCKED},
		{SYS_read, 3, SP_STATE_BLOCKED},
		{SYS_pwrite64, 4, SP_STATE_DISK},
		{SYS_read, 5, SP_STATE_DISK},
		{SYS_write, 99, SP_STATE_BLOCKED},
		{SYS_sendfile, 1, SP_STATE_NET},
		{SYS_sendfile, 0, SP_STATE_DISK},
		{SYS_wait4, 0, SP_STATE_BLOCKED},
		{-1, 0, SP_STATE_BLOCKED},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++)
		cr_expect_eq(sp_thread_state(cases[i].nr, cases[i].first, mode_of, NULL),
			cases[i].state, "system call %ld of %llu", cases[i].nr,
			(unsigned long long)cases[i].first);
}
