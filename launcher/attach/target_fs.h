/* The target's file system, seen through /proc/PID/root by descriptors only, by the rules of
 * base/rootfs.h: nothing outside that root can be reached, and nothing that belongs to another user
 * is opened.
 * Context: the attach child; single-threaded. */
#ifndef SP_LAUNCHER_ATTACH_TARGET_FS_H
#define SP_LAUNCHER_ATTACH_TARGET_FS_H

#include "attach_target.h"
#include "base/err.h"

#include <stdbool.h>

/* Places where something may be put, in order of preference. The letter goes into the library's
 * name, so that a later attach knows under which path the loader knows it. */
#define SP_DOOR_PLACES 4
struct sp_target_fs_place {
	char letter;
	const char *path; /* as the JVM says it; "." is its working directory */
	int fd;		  /* O_PATH, -1: cannot be reached */
	bool writable, noexec;
	bool anybodys; /* anybody may replace what is put there: no place for a library */
	char why[160]; /* why not, where it is not usable */
};

struct sp_target_fs {
	pid_t pid;
	uid_t uid;
	int root, cwd, maps; /* O_PATH, O_PATH, O_RDONLY; -1 where not to be had */
	int root_errno;	     /* why root is -1 */
	uid_t roots[2];	     /* users that are root over the target: 0, and its namespace's */
	struct sp_target_fs_place places[SP_DOOR_PLACES];
};

/* Opens what root may open and the target's user perhaps not. Called before the uid is dropped, and
 * again after it: what is open stays. */
void sp_target_fs_open_early(struct sp_target_fs *fs, const struct sp_attach_target *t);

/* Opens and judges the places, with the target's uid. 0, or -errno with a sentence. */
__attribute__((warn_unused_result)) int sp_target_fs_open(
	struct sp_target_fs *fs, const struct sp_attach_target *t, struct sp_err *err);

#endif
