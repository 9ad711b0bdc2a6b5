/* Careful readers of /proc/PID. Everything found there was written by others: it is read
 * with limits and parsed as data. A process is held by a descriptor on its directory, so that a
 * pid that is used again is never mistaken for the one that was looked at.
 * Functions take the descriptor of a proc root: sp_proc_root(), or a made-up tree in tests. */
#ifndef SP_LAUNCHER_PROC_PROC_H
#define SP_LAUNCHER_PROC_PROC_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens /proc. Owner: the caller closes it. Returns a descriptor or -errno. */
int sp_proc_root(void);

struct sp_proc {
	int dir; /* /proc/PID, owned */
	pid_t pid;
};

/* Returns 0, -ESRCH where there is no such process (or hidepid hides it), or -errno. */
__attribute__((warn_unused_result)) int sp_proc_open(int procfd, pid_t pid, struct sp_proc *ret);
void sp_proc_done(struct sp_proc *p);

#define SP_AUTO_PROC __attribute__((cleanup(sp_proc_done)))

/* Fields of /proc/PID/status; what an old kernel does not say is 0. */
struct sp_proc_status {
	char state; /* R S D T t Z X */
	pid_t tgid; /* the process it is a thread of: itself, if it is none; 0: unknown */
	pid_t ppid;
	int threads;	 /* how many it has */
	pid_t tracer;	 /* 0: none */
	pid_t nspid;	 /* in its innermost pid namespace; the pid itself before Linux 4.1 */
	int ns_depth;	 /* pid namespaces it is in, as seen from here: 1 is ours */
	uid_t uid;	 /* effective */
	gid_t gid;	 /* effective */
	uint64_t sigcgt; /* bit N-1: signal N is caught */
	char name[64];	 /* comm; may hold any byte but NUL and newline */
};

/* Returns 0, -ESRCH once it has ended, -EINVAL where the text is not a status. */
int sp_proc_read_status(const struct sp_proc *p, struct sp_proc_status *ret);

/* Start time in clock ticks since boot: pid and this name one process. Returns as above. */
__attribute__((warn_unused_result)) int sp_proc_read_start(
	const struct sp_proc *p, uint64_t *ret_ticks);

/* Nanoseconds since a start time of sp_proc_read_start. */
uint64_t sp_proc_age_ns(uint64_t start_ticks);

/* Appends a whole file below the directory ("cmdline", "environ", "cgroup"), at most @max bytes;
 * what is longer is cut. Returns 0 or -errno (-EACCES: not ours to see). */
__attribute__((warn_unused_result)) int sp_proc_read(
	const struct sp_proc *p, const char *file, size_t max, struct sp_buf *ret);

/* A link below the directory ("exe", "cwd", "fd/3"). Returns 0, -errno, -ENAMETOOLONG. */
int sp_proc_readlink(const struct sp_proc *p, const char *file, char *ret, size_t len);

/* The next of the NUL-terminated strings in @b, or the first for @prev NULL; NULL at the end.
 * A last string without its NUL is left out unless the caller appended one. */
const char *sp_proc_next_string(const struct sp_buf *b, const char *prev);

/* The value of a variable in an environ text, or NULL. Borrowed from @env. */
const char *sp_proc_env(const struct sp_buf *env, const char *name);

/* One mapped file of /proc/PID/maps, borrowed for the call. */
struct sp_proc_map {
	uint64_t start, end, offset;
	uint64_t dev, inode; /* dev as makedev() has it */
	char perms[5];
	const char *path;
};

/* Calls @each for every mapping that has a path. A non-zero answer of @each ends it and is
 * returned; else 0 or -errno. */
int sp_proc_each_map(
	const struct sp_proc *p, int (*each)(const struct sp_proc_map *m, void *arg), void *arg);

/* Parses one line of maps (changed in place). Returns 0, or -EINVAL. */
int sp_proc_parse_map(char *line, struct sp_proc_map *ret);

/* Opens a regular file of a process for reading, as the process would see @path from its root, by
 * the rules of base/rootfs.h: nothing outside of that root is reached. The file must belong to
 * @uid, the user of the process.
 * Returns: a descriptor that the caller closes, or -errno (-EPERM for a wrong owner, -EINVAL for
 * what is not a regular file). */
int sp_proc_open_file(const struct sp_proc *p, const char *path, uid_t uid);

/* The same for a file that belongs to @uid or that everybody may read: a launcher of root's never
 * reads for a process what the process could not read itself. */
int sp_proc_open_readable(const struct sp_proc *p, const char *path, uid_t uid);

/* The same for a directory. */
int sp_proc_open_dir(const struct sp_proc *p, const char *path);

/* The name of @uid by the text of an opened /etc/passwd (no NSS: the launcher is static), else the
 * number; also for a negative @fd. Returns 0, or -ENOENT where it is the number. */
int sp_proc_user_name(int fd, uid_t uid, char *ret, size_t len);

#endif
