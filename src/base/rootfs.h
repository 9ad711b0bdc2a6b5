/* Files of another process, opened through a descriptor of its root directory (/proc/PID/root) by a
 * launcher that may be root while the target's files may be hostile. Nothing outside of that root
 * is ever reached: absolute links and ".." are resolved inside of it, and links of /proc that lead
 * somewhere without a path are refused. What is opened is first held by O_PATH and checked, so a
 * FIFO, device or socket is never opened, and nothing can take its place in between.
 * Launcher side only; no global state; any thread. Every descriptor is owned by the caller. */
#ifndef SP_BASE_ROOTFS_H
#define SP_BASE_ROOTFS_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Opens a place for looking only (O_PATH | O_CLOEXEC), following links inside of @root_fd.
 * @path: absolute or relative, both seen from @root_fd.
 * How:     openat2(RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS); where the kernel has no openat2
 * (before 5.6, or a seccomp filter), component by component with O_NOFOLLOW, with the same answer.
 * Returns: a descriptor, or -errno (-ELOOP beyond 40 links and for a link of /proc without a path;
 *          the walk also -ENAMETOOLONG below 127 directories). */
__attribute__((nonnull, warn_unused_result)) int sp_rootfs_open_path(int root_fd, const char *path);

/* The same walk without openat2: public so that tests compare the two. */
__attribute__((nonnull, warn_unused_result)) int sp_rootfs_walk(int root_fd, const char *path);

/* Opens a regular file for reading.
 * Returns: a descriptor, then *ret_st is filled (may be NULL);
 *          -EINVAL if it is not a regular file; else -errno. */
__attribute__((nonnull(2), warn_unused_result)) int sp_rootfs_open_regular(
	int root_fd, const char *path, struct stat *ret_st);

/* The same for a file of @uid or, if @public, one that everybody may read: a launcher of root's
 * never reads for a process what the process could not read itself. -EPERM for any other. */
__attribute__((nonnull, warn_unused_result)) int sp_rootfs_open_of(
	int root_fd, const char *path, uid_t uid, bool public);

/* Opens a directory for listing. Returns: a descriptor or -errno (-ENOTDIR). */
__attribute__((nonnull, warn_unused_result)) int sp_rootfs_open_dir(int root_fd, const char *path);

/* Opens one @name in @dir_fd, which is no link, with @flags, if it is a @type (S_IFREG, S_IFSOCK)
 * of @uid with one link. With O_PATH in @flags it is only held.
 * Returns: a descriptor; -ENOENT; -EPERM if it is something else or another's; else -errno. */
__attribute__((nonnull, warn_unused_result)) int sp_rootfs_open_own(
	int dir_fd, const char *name, uid_t uid, unsigned type, int flags);

/* Opens with @flags what an O_PATH descriptor holds, whatever its name means by now. */
__attribute__((warn_unused_result)) int sp_rootfs_reopen(int path_fd, int flags);

#endif
