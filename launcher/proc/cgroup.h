/* The memory control group of a process: how much is left before the kernel kills in it, and
 * whether this launcher sits in the same one (kubectl exec). Versions 1, 2 and both at once. */
#ifndef SP_LAUNCHER_PROC_CGROUP_H
#define SP_LAUNCHER_PROC_CGROUP_H

#include "proc.h"

/* The path of its memory cgroup as /proc/PID/cgroup says it. Returns 0 or -errno; *ret is then "".
 */
int sp_cgroup_path(const struct sp_proc *p, char *ret, size_t len);

/* Bytes that the group of @pid may still take: the least over it and its parents of limit minus
 * use, where file pages that can be dropped at once (inactive_file) count as free. memory.high
 * counts as a limit: above it the kernel throttles.
 * @procfd: as in proc.h; @rootfd: the directory below which mount points are looked up ("/").
 * Returns: 0; -ENODATA where no limit is set or can be seen; -ESRCH; -errno. */
int sp_cgroup_memory_left_at(int procfd, int rootfd, pid_t pid, uint64_t *ret_bytes);
int sp_cgroup_memory_left(pid_t pid, uint64_t *ret_bytes); /* this machine's */

/* The group of those that has the least left: its limit, and what it uses of it, counted as above.
 * Returns as above. */
int sp_cgroup_memory_at(int procfd, int rootfd, pid_t pid, uint64_t *ret_used, uint64_t *ret_limit);
int sp_cgroup_memory(pid_t pid, uint64_t *ret_used, uint64_t *ret_limit);

/* Threads that may still be started in the group of @pid (pids.max); returns as above. */
int sp_cgroup_threads_left_at(int procfd, int rootfd, pid_t pid, uint64_t *ret_threads);
int sp_cgroup_threads_left(pid_t pid, uint64_t *ret_threads);

/* Whether the caller is a guest in the group of @pid: both are in the same one, and it is not the
 * root of all. What the caller allocates is then taken from the target. */
bool sp_cgroup_is_guest_at(int procfd, int rootfd, pid_t pid);
bool sp_cgroup_is_guest(pid_t pid);

/* Whether somebody set a limit on memory or CPU for the group of @pid or one above it, or the group
 * is a container's (the root of a cgroup namespace). Elsewhere there is room for a guest. */
bool sp_cgroup_is_limited_at(int procfd, int rootfd, pid_t pid);
bool sp_cgroup_is_limited(pid_t pid);

#endif
