/* See kernel_state.h. */
#include "kernel_state.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t sp_kernel_state_cpu_ns(uint32_t tid)
{
	return sp_clock_read((clockid_t)(~tid << 3 | 6));
}

int sp_kernel_state_open(uint32_t tid, enum sp_kernel_state_file file)
{
	static const char *const names[SP_WALL_FILES] = {"syscall", "schedstat", "status"};
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%u/%s", tid, names[file]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Returns what was read, more than nothing and with a 0 behind it, or -errno. */
static ssize_t slurp(uint32_t tid, enum sp_kernel_state_file file, int fd, char *buf, size_t size)
{
	int mine = fd < 0 ? sp_kernel_state_open(tid, file) : -1;
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

bool sp_kernel_state_delay(uint32_t tid, int fd, struct sp_kernel_state_delay *ret)
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

uint64_t sp_kernel_state_blocks(uint32_t tid, int fd)
{
	static const char key[] = "\nvoluntary_ctxt_switches:";
	char text[4096], *p;

	if (slurp(tid, SP_WALL_STATUS, fd, text, sizeof(text)) < 0)
		return 0;
	p = strstr(text, key);
	return p ? strtoull(p + sizeof(key) - 1, NULL, 10) : 0;
}

/* "running", "-1 sp pc", or "nr arg0 … arg5 sp pc" (proc(5)). */
static int parse_where(const char *text, struct sp_kernel_state_where *ret)
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

int sp_kernel_state_where(uint32_t tid, int fd, struct sp_kernel_state_where *ret)
{
	char text[256];
	ssize_t n = slurp(tid, SP_WALL_SYSCALL, fd, text, sizeof(text));

	return n < 0 ? (int)n : parse_where(text, ret);
}

static bool own_fd_mode(void *ctx, uint64_t fd, mode_t *ret)
{
	struct stat st;

	if (fstat((int)fd, &st) < 0)
		return false;
	*ret = st.st_mode;
	return true;
}

enum sp_state sp_kernel_state_class(const struct sp_kernel_state_where *w)
{
	return sp_thread_state(w->nr, w->args[0], own_fd_mode, NULL);
}
