/* Reads of /proc/self for the thread registry; see threads_proc.h. No stdio: the maps of a big JVM
 * are read in segments into a small buffer. */
#include "threads_proc.h"

#include "base/list_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0: not known. */
static uint64_t links(struct sp_threads_proc_tasks *p)
{
	struct stat st;

	/* Kept open: the way through /proc costs ten times what the answer does. */
	if (!p->open) {
		p->open = true;
		p->fd = open("/proc/self/task", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (p->fd < 0 ? stat("/proc/self/task", &st) < 0 : fstat(p->fd, &st) < 0)
		return 0;
	return (uint64_t)st.st_nlink;
}

uint32_t sp_threads_proc_tasks_count(struct sp_threads_proc_tasks *p)
{
	uint64_t n = p->counts ? links(p) : 0;

	return n > 2 ? (uint32_t)(n - 2) : 0;
}

void sp_threads_proc_tasks_done(struct sp_threads_proc_tasks *p)
{
	if (p->open && p->fd >= 0)
		close(p->fd);
	p->open = false;
}

struct tasks {
	void (*fn)(void *ctx, uint32_t tid);
	void *ctx;
	uint64_t count;
};

static void saw_entry(void *ctx, const char *name)
{
	struct tasks *t = ctx;

	if (name[0] < '1' || name[0] > '9')
		return;
	t->count++;
	t->fn(t->ctx, (uint32_t)strtoul(name, NULL, 10));
}

int sp_threads_proc_tasks(
	struct sp_threads_proc_tasks *p, void (*fn)(void *ctx, uint32_t tid), void *ctx)
{
	struct tasks t = {fn, ctx, 0};
	uint64_t before = links(p);
	int r = sp_list_dir("/proc/self/task", saw_entry, &t);

	/* Not every kernel that looks like Linux counts threads there. */
	if (r == 0 && before == links(p))
		p->counts = before == t.count + 2;
	return r;
}

const char *sp_threads_proc_comm(uint32_t tid, char *buf)
{
	char path[48];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%u/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, buf, 19);
	if (fd >= 0)
		close(fd);
	if (n > 0 && buf[n - 1] == '\n')
		n--;
	buf[n > 0 ? n : 0] = 0;
	return buf;
}

void sp_threads_proc_whole_name(char *comm, size_t size)
{
	static const char *const names[] = {"C1 CompilerThread", "C2 CompilerThread",
		"VM Periodic Task Thread", "Monitor Deflation Thread", "Notification Thread"};

	for (size_t i = 0; strlen(comm) == 15 && i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(comm, names[i], 15) == 0)
			snprintf(comm, size, "%s", names[i]);
}

/* "start-end rwxp …" */
static void maps_line(const char *line, sp_mapping_fn *fn, void *ctx)
{
	char *p;
	uint64_t start = strtoull(line, &p, 16), end;

	if (*p != '-')
		return;
	end = strtoull(p + 1, &p, 16);
	if (*p != ' ' || p[1] != 'r')
		return;
	fn(ctx, start, end,
		strstr(p, "[stack]") ? SP_MAPPING_STACK
		: p[2] == 'w'	     ? SP_MAPPING_WRITABLE
				     : SP_MAPPING_READABLE);
}

int sp_threads_proc_maps(sp_mapping_fn *fn, void *ctx)
{
	char buf[8192];
	size_t have = 0;
	ssize_t n;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	while ((n = read(fd, buf + have, sizeof(buf) - 1 - have)) > 0) {
		char *line = buf, *nl;

		have += (size_t)n;
		buf[have] = 0;
		while ((nl = strchr(line, '\n'))) {
			*nl = 0;
			maps_line(line, fn, ctx);
			line = nl + 1;
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
	}
	close(fd);
	return 0;
}

void sp_threads_proc_own_stack(uint64_t *ret_lo, uint64_t *ret_hi)
{
	pthread_attr_t attr;
	void *addr;
	size_t size;

	if (pthread_getattr_np(pthread_self(), &attr) != 0)
		return;
	if (pthread_attr_getstack(&attr, &addr, &size) == 0) {
		*ret_lo = (uint64_t)addr;
		*ret_hi = (uint64_t)addr + size;
	}
	pthread_attr_destroy(&attr);
}
