/* See agent_work.h. The agent's threads have its name, and the kernel counts their CPU time. */
#include "agent_work.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_text(int dir, const char *tid, const char *file, char *buf, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "%.20s/%s", tid, file);
	return sp_io_read_text(dir, path, buf, size) > 0;
}

uint64_t sp_agent_work(pid_t pid)
{
	char path[32], text[128];
	uint64_t ns = 0;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' &&
			read_text(dirfd(d), e->d_name, "comm", text, sizeof(text)) &&
			strncmp(text, "sparkprof", 9) == 0 &&
			read_text(dirfd(d), e->d_name, "schedstat", text, sizeof(text)))
			ns += strtoull(text, NULL, 10);
	if (d)
		closedir(d);
	return ns;
}
