/* See wall_proc.h. */
#include "wall_proc.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

uint64_t sp_wall_cpu_ns(uint32_t tid)
{
	return sp_clock_read((clockid_t)(~tid << 3 | 6));
}

int sp_wall_open(uint32_t tid, enum sp_wall_file file)
{
	static const char *const names[SP_WALL_FILES] = {"syscall", "schedstat", "status"};
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%u/%s", tid, names[file]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Returns what was read, more than nothing and with a 0 behind it, or -errno. */
static ssize_t slurp(uint32_t tid, enum sp_wall_file file, int fd, char *buf, size_t size)
{
	int mine = fd < 0 ? sp_wall_open(tid, file) : -1;
	ssize_t n;

	if (fd < 0 && mine < 0)
		return mine;
	n = pread(fd < 0 ? mine : fd, buf, size - 1, 0);
	if (n < 0)
		n = -errno;
	if (mine >= 0)
		close(mine);
	if (n > 0)
		buf[n] = 0;
	return n ? n : -ESRCH;
}

bool sp_wall_delay(uint32_t tid, int fd, struct sp_wall_delay *ret)
{
	char text[80], *p;

	if (slurp(tid, SP_WALL_SCHEDSTAT, fd, text, sizeof(text)) < 0)
		return false;
	p = strchr(text, ' ');
	if (!p)
		return false;
	ret->ns = strtoull(p, &p, 10);
	ret->arrivals = strtoull(p, NULL, 10);
	return true;
}

uint64_t sp_wall_blocks(uint32_t tid, int fd)
{
	static const char key[] = "\nvoluntary_ctxt_switches:";
	char text[4096], *p;

	if (slurp(tid, SP_WALL_STATUS, fd, text, sizeof(text)) < 0)
		return 0;
	p = strstr(text, key);
	return p ? strtoull(p + sizeof(key) - 1, NULL, 10) : 0;
}

/* "running", "-1 sp pc", or "nr arg0 … arg5 sp pc" (proc(5)). */
static int parse_where(const char *text, struct sp_wall_where *ret)
{
	uint64_t v[9];
	char *p;
	int n = 0;

	memset(ret, 0, sizeof(*ret));
	ret->nr = -1;
	if (strncmp(text, "running", 7) == 0) {
		ret->running = true;
		return 0;
	}
	for (; n < 9; n++) {
		v[n] = strtoull(text, &p, 0);
		if (p == text)
			break;
		text = p;
	}
	if (n != 3 && n != 9)
		return -EBADMSG;
	ret->nr = (int32_t)v[0];
	if (n == 9)
		memcpy(ret->args, v + 1, sizeof(ret->args));
	ret->sp = v[n - 2];
	ret->pc = v[n - 1];
	return 0;
}

int sp_wall_where(uint32_t tid, int fd, struct sp_wall_where *ret)
{
	char text[256];
	ssize_t n = slurp(tid, SP_WALL_SYSCALL, fd, text, sizeof(text));

	return n < 0 ? (int)n : parse_where(text, ret);
}

static enum sp_state class_of_fd(uint64_t fd)
{
	struct stat st;

	if (fstat((int)fd, &st) < 0)
		return SP_STATE_BLOCKED;
	if (S_ISSOCK(st.st_mode))
		return SP_STATE_NET;
	return S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) || S_ISDIR(st.st_mode) ? SP_STATE_DISK
										 : SP_STATE_BLOCKED;
}

enum sp_state sp_wall_class(const struct sp_wall_where *w)
{
	switch (w->nr) {
	case SYS_futex:
		return SP_STATE_LOCK;
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
		return SP_STATE_SLEEP;
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
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
		return class_of_fd(w->args[0]);
	case SYS_sendfile:
		return class_of_fd(w->args[0]) == SP_STATE_NET ? SP_STATE_NET : SP_STATE_DISK;
	default:
		return SP_STATE_BLOCKED;
	}
}
