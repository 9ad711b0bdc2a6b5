/* Files of a process below its own root: see sp_proc_open_file in proc.h. */
#include "proc.h"

#include "base/cleanup.h"
#include "base/rootfs.h"

#include <errno.h>
#include <fcntl.h>

static int open_root(const struct sp_proc *p)
{
	int fd = openat(p->dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int sp_proc_open_file(const struct sp_proc *p, const char *path, uid_t uid)
{
	SP_AUTO_CLOSE int root = open_root(p);

	return root < 0 ? root : sp_rootfs_open_of(root, path, uid, false);
}

int sp_proc_open_readable(const struct sp_proc *p, const char *path, uid_t uid)
{
	SP_AUTO_CLOSE int root = open_root(p);

	return root < 0 ? root : sp_rootfs_open_of(root, path, uid, true);
}

int sp_proc_open_dir(const struct sp_proc *p, const char *path)
{
	SP_AUTO_CLOSE int root = open_root(p);

	return root < 0 ? root : sp_rootfs_open_dir(root, path);
}
