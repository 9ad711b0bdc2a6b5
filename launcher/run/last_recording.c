/* The last finished recording of each target: see last_recording.h. A name holds pid and start time
 * of the process; directory and files are believed only where they are ours alone. */
#include "last_recording.h"

#include "base/cleanup.h"
#include "pysample/py_proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 4, LARGEST = 32 << 20, NAME = 64 };

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Nobody but us writes there. */
static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022);
}

/* Takes @parent; returns its directory @name, which is made where it is not there, or -errno. */
static int enter(int parent, const char *name)
{
	SP_AUTO_CLOSE int at = parent;
	SP_AUTO_CLOSE int dir = -1;

	if (at < 0 || !is_ours(at))
		return -ENOENT;
	mkdirat(at, name, 0700);
	dir = openat(at, name, DIRECTORY);
	return dir >= 0 && is_ours(dir) ? sp_steal_fd(&dir) : -ENOENT;
}

static int open_directory(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && cache[0] == '/')
		return enter(open(cache, DIRECTORY), "sparkprof");
	if (!home || home[0] != '/')
		return -ENOENT;
	return enter(enter(open(home, DIRECTORY), ".cache"), "sparkprof");
}

static void name_of(pid_t pid, uint64_t start_ticks, char ret[NAME])
{
	snprintf(ret, NAME, "last-%d-%llu.jfr", (int)pid, (unsigned long long)start_ticks);
}

/* Of a process that still runs? */
static bool lives(const char *name)
{
	unsigned long long start;
	int pid;

	return sscanf(name, "last-%d-%llu.jfr", &pid, &start) == 2 && sp_pyproc_start(pid) == start;
}

/* Removes those of processes that have ended, and the oldest where there are too many. */
static void make_room(int dir)
{
	int copy = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	char oldest[NAME] = "";
	struct timespec least = {0};
	unsigned n = 0;

	for (struct dirent *e; d && (e = readdir(d));) {
		struct stat st;

		if (strncmp(e->d_name, "last-", 5) != 0 || strlen(e->d_name) >= NAME ||
			fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (!lives(e->d_name)) {
			unlinkat(dir, e->d_name, 0);
			continue;
		}
		if (!n++ || st.st_mtim.tv_sec < least.tv_sec) {
			least = st.st_mtim;
			snprintf(oldest, sizeof(oldest), "%s", e->d_name);
		}
	}
	if (d)
		closedir(d);
	else if (copy >= 0)
		close(copy);
	if (n >= MOST)
		unlinkat(dir, oldest, 0);
}

static int copy_bytes(int from, int to, off_t size)
{
	char block[1 << 15];
	ssize_t n;

	for (off_t at = 0; at < size; at += n) {
		n = pread(from, block, sizeof(block), at);
		if (n <= 0 || pwrite(to, block, (size_t)n, at) != n)
			return -EIO;
	}
	return 0;
}

bool sp_last_recording_keep(const struct sp_jvm *target, int fd)
{
	SP_AUTO_CLOSE int dir = -1;
	SP_AUTO_CLOSE int to = -1;
	char name[NAME], part[NAME];
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > LARGEST ||
		sp_pyproc_start(target->pid) != target->start_ticks)
		return false;
	dir = open_directory();
	if (dir < 0)
		return false;
	name_of(target->pid, target->start_ticks, name);
	unlinkat(dir, name, 0);
	make_room(dir);
	snprintf(part, sizeof(part), "part-%d", (int)getpid());
	to = openat(dir, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return false;
	if (copy_bytes(fd, to, st.st_size) == 0 && renameat(dir, part, dir, name) == 0)
		return true;
	unlinkat(dir, part, 0);
	return false;
}

int sp_last_recording_open(const struct sp_jvm *target)
{
	SP_AUTO_CLOSE int dir = open_directory();
	SP_AUTO_CLOSE int fd = -1;
	char name[NAME];
	struct stat st;

	if (dir < 0)
		return -ENOENT;
	name_of(target->pid, target->start_ticks, name);
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return -ENOENT;
	return sp_steal_fd(&fd);
}
