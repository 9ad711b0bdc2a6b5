/* See py_orphans.h. */
#include "pysample/py_orphans.h"

#include "base/io.h"
#include "base/list_dir.h"
#include "pysample/py_proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 10 };

/* Whether the leader of its process group is gone: it led the group by its own number. */
static bool lost_its_leader(pid_t pid)
{
	char path[32], text[1024], *p;
	int group;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (sp_io_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	p = strrchr(text, ')');
	if (!p || sscanf(p + 1, " %*c %*d %d", &group) != 1 || group <= 1 || group == pid)
		return false;
	snprintf(path, sizeof(path), "/proc/%d", group);
	return access(path, F_OK) < 0;
}

static void look_at(void *ctx, const char *name)
{
	struct sp_pyorphans *o = ctx;
	pid_t pid = (pid_t)strtol(name, NULL, 10);
	char command[4096];

	if (pid <= 1 || o->count == SP_PYORPHANS_MAX || !lost_its_leader(pid))
		return;
	sp_pyproc_command(pid, command, sizeof(command));
	if (sp_pyproc_is_worker(command) || sp_pyproc_is_daemon(pid, command))
		o->list[o->count++] = pid;
}

void sp_pyorphans_look(struct sp_pyorphans *o)
{
	if (o->wanted) {
		o->wanted = false;
		o->count = 0;
		o->rounds = ROUNDS;
		sp_list_dir("/proc", look_at, o);
	}
	if (o->rounds == 0)
		o->count = 0;
	else
		o->rounds--;
}
