/* Files of another process, opened through a descriptor of its root directory (/proc/PID/root) by a
 * launcher that may be root while the target's files may be hostile. Nothing outside of that root
 * is ever reached: absolute links and ".." are resolved inside of it.
 * Launcher side only; no global state. */
#ifndef SP_BASE_ROOTFS_H
#define SP_BASE_ROOTFS_H

#include <sys/stat.h>

/* Opens a place for looking only (O_PATH | O_CLOEXEC), following links inside of @root_fd.
 * @path: absolute or relative, both seen from @root_fd.
 * How:     openat2(RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS); where the kernel has no openat2
 * (before 5.6, or a seccomp filter), component by component with O_NOFOLLOW, with the same answer.
 * Returns: a descriptor owned by the caller, or -errno (-ELOOP beyond 40 links). */
int sp_rootfs_open_path(int root_fd, const char *path);

/* The same walk without openat2: public so that tests compare the two. */
int sp_rootfs_walk(int root_fd, const char *path);

/* Opens a regular file for reading; anything else (FIFO, device, socket, directory) is refused
 * before it is opened.
 * Returns: a descriptor owned by the caller, then *ret_st is filled (may be NULL);
 *          -EINVAL if it is not a regular file; else -errno. */
int sp_rootfs_open_regular(int root_fd, const char *path, struct stat *ret_st);

#endif
