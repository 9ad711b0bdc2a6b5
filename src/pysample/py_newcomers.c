/* See py_newcomers.h. */
#include "pysample/py_newcomers.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

static const uint64_t all_ns = 10000000000;

/* Whether it is the kernel's: lxcfs puts another in its place, which has the numbers of the host,
 * or of a while ago. */
static bool is_kernels(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* Of this pid namespace; 0: the kernel does not say. "0.20 0.18 0.12 1/80 11206" is loadavg. */
static pid_t last_number(void)
{
	static const char *const files[] = {"/proc/sys/kernel/ns_last_pid", "/proc/loadavg"};
	char text[128];

	for (size_t i = 0; i < SP_COUNT(files); i++) {
		const char *p;

		if (!is_kernels(files[i]) ||
			sp_io_read_text(AT_FDCWD, files[i], text, sizeof(text)) <= 0)
			continue;
		p = strrchr(text, ' ');
		return (pid_t)strtol(p ? p : text, NULL, 10);
	}
	return 0;
}

static pid_t number_behind(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	return p ? (pid_t)strtol(p + strlen(key), NULL, 10) : 0;
}

/* Numbers are given to threads, too. */
static bool is_process(pid_t pid, pid_t *ret_parent)
{
	char path[32], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (sp_io_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	*ret_parent = number_behind(text, "\nPPid:");
	return number_behind(text, "\nTgid:") == pid;
}

int sp_pynewcomers_look(
	struct sp_pynewcomers *n, uint64_t now_ns, struct sp_pynewcomer ret[SP_PYNEWCOMERS_MAX])
{
	pid_t now = last_number(), from = n->before, parent;
	bool all = !now || !from || now < n->last || now - from > SP_PYNEWCOMERS_MAX ||
		   now_ns >= n->all_due_ns;
	int count = 0;

	n->before = n->last;
	n->last = now;
	if (all) {
		n->all_due_ns = now_ns + all_ns;
		return -EAGAIN;
	}
	for (pid_t pid = from + 1; pid <= now; pid++)
		if (is_process(pid, &parent))
			ret[count++] = (struct sp_pynewcomer){pid, parent};
	return count;
}
