/* See driver_python.h. */
#include "pysample/driver_python.h"

#include "base/cleanup.h"
#include "pysample/py_proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHILDREN = 256, ANCESTORS = 4, COMMAND = 1 << 18, TAIL = 4096 };

/* Python names the application so when it starts the JVM for itself. */
static const char shell[] = "pyspark-shell";

static bool is_python(pid_t pid)
{
	char path[32], exe[512];
	const char *base;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	if (n <= 0)
		return false;
	exe[n] = 0;
	base = strrchr(exe, '/');
	return strncmp(base ? base + 1 : exe, "python", 6) == 0;
}

/* Is it a whole word of the command line? That may be long: a class path is in it. */
static bool has_word(pid_t pid, const char *word)
{
	SP_AUTO_FREE char *text = malloc(COMMAND);
	SP_AUTO_CLOSE int fd = -1;
	size_t len = 0, n = strlen(word) + 1;
	char path[32];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = text ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	while (fd >= 0 && len < COMMAND && (got = read(fd, text + len, COMMAND - len)) > 0)
		len += (size_t)got;
	for (const char *p = text, *end = text + len; p && (size_t)(end - p) >= n;) {
		if (memcmp(p, word, n) == 0)
			return true;
		p = memchr(p, 0, (size_t)(end - p));
		p = p ? p + 1 : NULL;
	}
	return false;
}

static pid_t parent_of(pid_t pid)
{
	char path[32], text[TAIL];
	SP_AUTO_CLOSE int fd = -1;
	const char *p;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = 0;
	p = strstr(text, "\nPPid:");
	return p ? (pid_t)strtol(p + 6, NULL, 10) : 0;
}

/* A shell may lie between them. */
static pid_t find_parent(pid_t jvm)
{
	pid_t pid = parent_of(jvm);

	for (int i = 0; i < ANCESTORS && pid > 1; i++, pid = parent_of(pid))
		if (is_python(pid))
			return pid;
	return 0;
}

static pid_t find_child(pid_t jvm)
{
	pid_t children[CHILDREN];
	size_t n = sp_pyproc_children(jvm, false, children, CHILDREN);
	char command[4096];

	for (size_t i = 0; i < n; i++) {
		sp_pyproc_command(children[i], command, sizeof(command));
		if (is_python(children[i]) && !sp_pyproc_is_worker(command) &&
			!sp_pyproc_is_daemon(children[i], command))
			return children[i];
	}
	return 0;
}

pid_t sp_driver_python(pid_t jvm)
{
	return has_word(jvm, shell) ? find_parent(jvm) : find_child(jvm);
}
