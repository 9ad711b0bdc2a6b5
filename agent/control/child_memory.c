/* See child_memory.h. Who is loaded into a JVM and asks has its rights already; no more than they
 * are meant for is given nonetheless: only descendants, only to read. */
#include "child_memory.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GENERATIONS = 32 };

/* 0: there is no such process. */
static pid_t parent_of(pid_t pid)
{
	char text[512], *p;
	SP_AUTO_CLOSE int fd = -1;
	ssize_t n;

	snprintf(text, sizeof(text), "/proc/%d/stat", (int)pid);
	fd = open(text, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	p = strrchr(text, ')'); /* "PID (NAME) STATE PARENT …", and a name may hold anything */
	return p && p[1] && p[2] ? (pid_t)strtol(p + 3, NULL, 10) : 0;
}

static bool is_below(pid_t pid)
{
	pid_t self = getpid();

	for (int i = 0; i < GENERATIONS && pid > 1; i++) {
		pid = parent_of(pid);
		if (pid == self)
			return true;
	}
	return false;
}

int sp_child_memory(pid_t pid)
{
	SP_AUTO_CLOSE int fd = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -EPERM;
	return is_below(pid) ? sp_steal_fd(&fd) : -EPERM;
}
