/* The control groups of a process: how much memory is left before the kernel kills in it, its
 * limits of CPU and threads, and whether the caller sits in the same one (kubectl exec). Versions
 * 1, 2 and both at once. The calls with _at are for tests: @procfd is a directory like /proc,
 * @rootfd the one below which mount points are looked up. @pid 0 is the caller. No global state;
 * any thread with 64 KB of stack. */
#ifndef SP_BASE_CGROUP_H
#define SP_BASE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The path of its memory cgroup as the file cgroup in @piddir (/proc/PID) says it. Returns 0 or
 * -errno; *ret is then "". */
__attribute__((nonnull)) int sp_cgroup_path(int piddir, char *ret, size_t len);

/* Bytes that the group of @pid may still take: the least over it and its parents of limit minus
 * use, where file pages that can be dropped at once (inactive_file) count as free. memory.high
 * counts as a limit: above it the kernel throttles.
 * Returns: 0; -ENODATA where no limit is set or can be seen; -ESRCH; -errno. */
__attribute__((nonnull, warn_unused_result)) int sp_cgroup_memory_left_at(
	int procfd, int rootfd, pid_t pid, uint64_t *ret_bytes);
__attribute__((nonnull, warn_unused_result)) int sp_cgroup_memory_left(
	pid_t pid, uint64_t *ret_bytes); /* this machine's */

/* The group of those that has the least left: its limit, and what it uses of it, counted as above.
 * Returns as above. */
__attribute__((nonnull, warn_unused_result)) int sp_cgroup_memory_at(
	int procfd, int rootfd, pid_t pid, uint64_t *ret_used, uint64_t *ret_limit);
__attribute__((nonnull, warn_unused_result)) int sp_cgroup_memory(
	pid_t pid, uint64_t *ret_used, uint64_t *ret_limit);

/* Threads that may still be started in the group of @pid (pids.max); returns as above. */
__attribute__((nonnull, warn_unused_result)) int sp_cgroup_threads_left_at(
	int procfd, int rootfd, pid_t pid, uint64_t *ret_threads);
__attribute__((nonnull, warn_unused_result)) int sp_cgroup_threads_left(
	pid_t pid, uint64_t *ret_threads);

/* The path of cpu.stat of the nearest group around @pid that has a limit of CPU. Returns as above;
 * -ENAMETOOLONG. */
__attribute__((nonnull, warn_unused_result)) int sp_cgroup_cpu_stat_at(
	int procfd, int rootfd, pid_t pid, char *ret, size_t len);
__attribute__((nonnull, warn_unused_result)) int sp_cgroup_cpu_stat(
	pid_t pid, char *ret, size_t len);

/* Whether the caller is a guest in the group of @pid: both are in the same one, and it is not the
 * root of all. What the caller allocates is then taken from the target. */
bool sp_cgroup_is_guest_at(int procfd, int rootfd, pid_t pid);
bool sp_cgroup_is_guest(pid_t pid);

/* Whether somebody set a limit on memory or CPU for the group of @pid or one above it, or the group
 * is a container's (the root of a cgroup namespace). Elsewhere there is room for a guest. */
bool sp_cgroup_is_limited_at(int procfd, int rootfd, pid_t pid);
bool sp_cgroup_is_limited(pid_t pid);

#endif
