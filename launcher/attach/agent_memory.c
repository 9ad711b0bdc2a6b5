/* The library in memory: see agent_memory.h. */
#include "agent_memory.h"
#include "agent_image.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif
#define CAP_SYS_PTRACE_BIT 19

static bool shares_pids(pid_t pid)
{
	struct stat ours, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return stat("/proc/self/ns/pid", &ours) == 0 && stat(path, &its) == 0 &&
	       ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}

/* May it open descriptors of other users' processes? Then a process of another user that gets our
 * number after our end could give it a library of his. */
static bool opens_others(pid_t pid)
{
	char path[64], text[8192];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (sp_io_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return true;
	at = strstr(text, "\nCapEff:");
	return !at || strtoull(at + 8, NULL, 16) >> CAP_SYS_PTRACE_BIT & 1;
}

/* It is never executed as a program, so it need not be executable: a kernel may forbid that. */
static int make(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

static void name_it(int fd, struct sp_agent_install_file *ret)
{
	char id[SP_BUILD_ID_HEX + 1];

	sp_agent_image_short_id(id);
	snprintf(ret->name, sizeof(ret->name), ".sparkprof-%.12s-m%08x%08x.so", id,
		(unsigned)getpid(), (unsigned)fd);
}

/* A number of a descriptor under which the loader does not know a library of another build already,
 * of a process that had our number once: it would be taken for this one. */
static int free_number(const struct sp_target_fs *fs, struct sp_agent_install_file *ret)
{
	SP_AUTO_BUF struct sp_buf maps = {0};

	if (fs->maps < 0 || lseek(fs->maps, 0, SEEK_SET) < 0 ||
		sp_buf_read_fd(&maps, fs->maps, 64 << 20) < 0)
		return -EACCES;
	for (int fd = 10; fd < 1000; fd++) {
		name_it(fd, ret);
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
			!strstr(sp_buf_str(&maps), strrchr(ret->name, '-')))
			return fd;
	}
	return -EMFILE;
}

static int fill(const struct sp_target_fs *fs, struct sp_agent_install_file *ret)
{
	SP_AUTO_CLOSE int fd = -1;
	int number = free_number(fs, ret), r;

	if (number < 0)
		return number;
	fd = make(ret->name);
	if (fd < 0)
		return fd;
	r = sp_io_write_all(fd, sp_agent_blob, (size_t)(sp_agent_blob_end - sp_agent_blob));
	if (r == 0 && fcntl(fd, F_ADD_SEALS,
			      F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		r = -errno;
	if (r == 0 && fd != number && dup3(fd, number, O_CLOEXEC) < 0)
		r = -errno;
	if (r == 0 && fd == number)
		sp_steal_fd(&fd);
	if (r == 0)
		ret->memory = number;
	return r;
}

int sp_agent_memory_put(const struct sp_target_fs *fs, struct sp_agent_install_file *ret, char *why,
	size_t why_size)
{
	const char *reason = NULL;
	int r = -EACCES;

	if (!shares_pids(fs->pid))
		reason = "run sparkprof inside its container";
	else if (prctl(PR_GET_DUMPABLE) != 1) /* we have been somebody else */
		reason = "run sparkprof as its user";
	else if (opens_others(fs->pid))
		reason = "it has the capability SYS_PTRACE";
	else
		r = fill(fs, ret);
	if (r == 0 && !sp_agent_memory_path(ret->name, ret))
		r = -EINVAL;
	if (r < 0)
		snprintf(why, why_size, "%s", reason ? reason : strerror(-r));
	return r;
}

bool sp_agent_memory_path(const char *name, struct sp_agent_install_file *ret)
{
	const char *last = strrchr(name, '-');
	unsigned pid, fd;

	if (!last || sscanf(last, "-m%8x%8x.so", &pid, &fd) != 2)
		return false;
	snprintf(ret->path, sizeof(ret->path), "/proc/%u/fd/%u", pid, fd);
	return true;
}
