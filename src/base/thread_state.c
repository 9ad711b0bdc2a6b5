/* See thread_state.h. */
#include "base/thread_state.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

static enum sp_state state_of_fd(uint64_t fd, sp_fd_mode_fn *mode_of, void *ctx)
{
	mode_t mode;

	if (!mode_of(ctx, fd, &mode))
		return SP_STATE_BLOCKED;
	if (S_ISSOCK(mode))
		return SP_STATE_NET;
	return S_ISREG(mode) || S_ISBLK(mode) || S_ISDIR(mode) ? SP_STATE_DISK : SP_STATE_BLOCKED;
}

enum sp_state sp_thread_state(long nr, uint64_t first, sp_fd_mode_fn *mode_of, void *ctx)
{
	switch (nr) {
	case SYS_futex:
		return SP_STATE_LOCK;
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
		return SP_STATE_SLEEP;
	case SYS_select:
	case SYS_pselect6: /* of no descriptor: time.sleep() of Python to 3.10 */
		return first ? SP_STATE_POLL : SP_STATE_SLEEP;
	case SYS_poll:
	case SYS_ppoll:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
		return SP_STATE_POLL;
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
		return SP_STATE_NET;
	case SYS_fsync:
	case SYS_fdatasync:
	case SYS_sync:
	case SYS_syncfs:
	case SYS_sync_file_range:
	case SYS_msync:
	case SYS_open:
	case SYS_openat:
	case SYS_unlink:
	case SYS_unlinkat:
	case SYS_rename:
	case SYS_getdents64:
		return SP_STATE_DISK;
	case SYS_read:
	case SYS_write:
	case SYS_readv:
	case SYS_writev:
	case SYS_pread64:
	case SYS_pwrite64:
	case SYS_ftruncate:
	case SYS_fallocate:
	case SYS_copy_file_range:
		return state_of_fd(first, mode_of, ctx);
	case SYS_sendfile:
		return state_of_fd(first, mode_of, ctx) == SP_STATE_NET ? SP_STATE_NET
									: SP_STATE_DISK;
	default:
		return SP_STATE_BLOCKED;
	}
}
